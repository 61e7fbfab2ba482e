// After the first steps a step of training allocates nothing. This file replaces the global
// operator new to count.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "exec/networks.h"
#include "graph/transpile.h"

namespace {
std::atomic<int64_t> allocations{0};

void* counted(size_t n, size_t alignment) {
  ++allocations;
  void* p = alignment > alignof(std::max_align_t)
                ? std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment)
                : std::malloc(n ? n : 1);
  return p;
}
void* or_throw(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(size_t n) { return or_throw(counted(n, 1)); }
void* operator new(size_t n, std::align_val_t a) {
  return or_throw(counted(n, static_cast<size_t>(a)));
}
void* operator new(size_t n, const std::nothrow_t&) noexcept { return counted(n, 1); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return counted(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

using namespace paddle;
using namespace paddle::test;

TEST_CASE("a step allocates nothing after warm-up", "[exec]") {
  const int threads = GENERATE(1, 2);
  const int kind = GENERATE(0, 1, 2, 3, 4);
  Trained t;
  if (kind >= 3)
    bag_of_words(t, "average", kind == 4);
  else
    mlp(t, "tanh", 16);
  const Builder b(t.net);
  if (kind == 0) minimize(b, t.loss, Optimizer("sgd", 0.1));
  if (kind == 1) minimize(b, t.loss, Optimizer("adam", 0.1));
  if (kind == 2) minimize(b, t.loss, Optimizer("momentum", 0.1, l2_decay(0.1f)));
  if (kind >= 3) minimize(b, t.loss, Optimizer("adagrad", 0.1));
  Executor executor({.threads = threads});
  Scope scope;
  executor.run(t.net.startup, scope);
  Plan& plan = executor.plan(t.net.main, scope, {t.feeds[0].first, t.feeds[1].first}, {t.loss});
  const auto step = [&](uint64_t i) {
    for (size_t f = 0; f < 2; ++f) plan.feed(f, t.feeds[f].second);
    plan.run(i);
  };
  for (uint64_t i = 0; i < 3; ++i) step(i);
  const int64_t before = allocations;
  for (uint64_t i = 0; i < 100; ++i) step(i);
  const int64_t after = allocations;
  CHECK(after == before);
}

namespace {
class Nowhere : public Remote {
 public:
  void push(int32_t, const View&, uint64_t) override { ++pushes; }
  void pull(int32_t, const View&, uint64_t) override {}
  int pushes = 0;
};
}  // namespace

TEST_CASE("nor does a step of the trainer's half of a cut", "[exec]") {
  Trained t;
  mlp(t, "tanh", 16);
  minimize(Builder(t.net), t.loss, Optimizer("adam", 0.1));
  const Cut cut = transpile(t.net.main, t.net.startup,
                            {.trainers = 2, .endpoints = {"a:1", "b:1"}, .min_block_size = 5});
  Nowhere remote;
  Executor executor({.plan = {.remote = &remote}});
  Scope scope;
  executor.run(t.net.startup, scope);
  Plan& plan = executor.plan(cut.trainer, scope, {t.feeds[0].first, t.feeds[1].first}, {t.loss});
  const auto step = [&](uint64_t i) {
    for (size_t f = 0; f < 2; ++f) plan.feed(f, t.feeds[f].second);
    plan.run(i);
  };
  for (uint64_t i = 0; i < 3; ++i) step(i);
  const int64_t before = allocations;
  for (uint64_t i = 0; i < 100; ++i) step(i);
  const int64_t after = allocations;
  CHECK(after == before);
  CHECK(remote.pushes == 103 * 6);
}
