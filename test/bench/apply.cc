#include "bench/apply.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/generator.h"
#include "bench/report.h"
#include "bench/shard_client.h"
#include "kernels/cpu.h"
#include "pserver/store.h"

namespace paddle::bench {
namespace {

constexpr int64_t elements = 16 << 20;  // 64 MiB per array: far more than the caches hold

#if defined(__x86_64__) && !defined(PS_ONE_ISA)
#define BENCH_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), noinline))
#else
#define BENCH_CLONES __attribute__((noinline))
#endif

// What anybody would write by hand, one pass over memory.
BENCH_CLONES void plain_sgd(float* __restrict p, const float* __restrict g, float lr, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] -= lr * g[i];
}
BENCH_CLONES void plain_adagrad(float* __restrict p, float* __restrict a, const float* __restrict g,
                                float lr, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float m = a[i] + g[i] * g[i];
    a[i] = m;
    p[i] -= lr * g[i] / (std::sqrt(m) + 1e-6f);
  }
}
BENCH_CLONES void plain_adam(float* __restrict p, float* __restrict a, float* __restrict b,
                             const float* __restrict g, float lr, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    a[i] = 0.9f * a[i] + 0.1f * g[i];
    b[i] = 0.999f * b[i] + 0.001f * g[i] * g[i];
    p[i] -= lr * a[i] / (std::sqrt(b[i]) + 1e-8f);
  }
}

class Plain {
 public:
  explicit Plain(const std::string& rule) : rule_(rule) {
    std::fill_n(p_, elements, 1.0f);
    std::fill_n(g_, elements, 0.01f);
    std::fill_n(a_, elements, 0.1f);
    std::fill_n(b_, elements, 0.1f);
  }
  void step() {
    if (rule_ == "sgd") plain_sgd(p_, g_, 0.01f, elements);
    if (rule_ == "adagrad") plain_adagrad(p_, a_, g_, 0.01f, elements);
    if (rule_ == "adam") plain_adam(p_, a_, b_, g_, 0.01f, elements);
  }

 private:
  std::string rule_;
  Tensor memory_{DType::f32, {4, elements}};  // of the same kind as a shard's
  float *p_ = memory_.data<float>(), *g_ = p_ + elements, *a_ = g_ + elements, *b_ = a_ + elements;
};

// A slice in its store, as a shard has it.
class Stored {
 public:
  Stored(const std::string& rule, bool sync)
      : sync_(sync), made_(make_parameters({elements}, 1, rule)) {
    const SliceSpec& s = made_->cut.slices[0];
    StoreConfig config{
        .program = made_->cut.pservers[0],
        .slices = {{.id = 0, .name = s.name, .grad = s.merged_grad, .block = s.block}}};
    std::vector<const Tensor*> first;
    for (const auto& v : config.program.global().vars()) {
      const Variable* found = made_->scope.find(v->name);
      if (!v->persistable || found == nullptr || found->tensor.empty()) continue;
      config.variables.push_back({v->name, v->dtype, v->shape});
      first.push_back(&found->tensor);
    }
    store_ = std::make_unique<Store>(std::move(config), sync);
    for (size_t i = 0; i < first.size(); ++i)
      std::copy_n(static_cast<const char*>(first[i]->raw()), first[i]->bytes(),
                  static_cast<char*>(store_->value(i).raw()));
    store_->build(1);
    store_->start(0);
    std::fill_n(gradient_.data<float>(), elements, 0.01f);
  }

  Slice& slice() { return store_->slices()[0]; }
  // What the shard does with a gradient that has landed, and was looked at while it did. In sync it
  // has landed where the new values go; what stands there, the values before, will do.
  void step() {
    store_->schedule().run(slice().version());
    if (!sync_)
      return static_cast<void>(slice().apply(static_cast<std::byte*>(gradient_.raw()), 0.01));
    slice().take_spare();
    slice().begin_sum();
    slice().close_round();
  }

 private:
  bool sync_;
  std::unique_ptr<Parameters> made_;
  std::unique_ptr<Store> store_;
  Tensor gradient_{DType::f32, {elements}};
};

template <class Body>
double giga_per_second(Body& body, double secs) {
  const double start = seconds();
  int64_t steps = 0;
  do {
    body.step();
    ++steps;
  } while (seconds() - start < secs);
  return 1e-9 * static_cast<double>(steps * elements) / (seconds() - start);
}

}  // namespace

void measure_apply(double secs) {
  flush_denormals();
  for (const std::string rule : {"sgd", "adagrad", "adam"}) {
    Plain plain(rule);
    Stored in_place(rule, false), two_versions(rule, true);
    plain.step();
    in_place.step();
    two_versions.step();
    std::vector<double> limit, ours, sync;
    for (int turn = 0; turn < 5; ++turn) {
      limit.push_back(giga_per_second(plain, secs / 45));
      ours.push_back(giga_per_second(in_place, secs / 45));
      sync.push_back(giga_per_second(two_versions, secs / 45));
    }
    print_row("apply " + rule, "G params/s",
              {{"ours", median(ours)},
               {"raw", median(limit)},
               {"percent", 100 * median(ours) / median(limit)},
               {"goal_percent", 85}});
    print_row("apply " + rule + ", two versions kept (sync)", "G params/s",
              {{"ours", median(sync)},
               {"raw", median(limit)},
               {"percent", 100 * median(sync) / median(limit)},
               {"goal_percent", 85}});
  }
}

}  // namespace paddle::bench
