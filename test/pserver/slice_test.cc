#include "pserver/slice.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"
#include "pserver/small_job.h"

using namespace paddle;
using Catch::Contains;

namespace {

// All variables, as bytes.
std::string state_of(const Store& store) {
  std::string out;
  for (size_t i = 0; i < store.variables().size(); ++i)
    out.append(static_cast<const char*>(store.value(i).raw()), store.value(i).bytes());
  return out;
}

std::vector<float> gradient_of(const Slice& s, uint32_t trainer, uint64_t step) {
  return gradients(trainer, step, s.info().place, static_cast<int64_t>(s.bytes() / 4));
}

void run_rounds(Store& store, uint32_t trainers, uint64_t steps) {
  for (uint64_t step = 0; step < steps; ++step)
    for (Slice& s : store.slices()) {
      for (uint32_t t = 0; t < trainers; ++t)
        if (t == 0 && step % 2 == 1) {  // as one that lands in place
          const auto g = gradient_of(s, t, step);
          std::memcpy(s.take_spare().data(), g.data(), s.bytes());
          s.begin_sum();
        } else {
          s.add_to_sum(bytes_of(gradient_of(s, t, step)));
        }
      store.schedule().run(s.version());
      s.close_round();
    }
}

}  // namespace

TEST_CASE("a lowered update gives the bits of the whole block", "[pserver]") {
  for (const optim::Rule& rule : optim::rules())
    for (const uint32_t trainers : {1u, 2u, 3u}) {
      if (rule.type == "rmsprop" || rule.type == "adadelta") continue;  // see below
      CAPTURE(rule.type, trainers);
      const SmallJob job =
          small_job({.rule = rule.type, .sizes = {7, update_part * 2 + 13}, .trainers = trainers});
      const auto fast = store_of(job), whole = store_of(job, true, false);
      for (const Slice& s : fast->slices()) CHECK(s.lowered());
      for (const Slice& s : whole->slices()) CHECK(!s.lowered());
      run_rounds(*fast, trainers, 4);
      run_rounds(*whole, trainers, 4);
      CHECK((state_of(*fast) == state_of(*whole)));
    }
}

TEST_CASE("an adam op that advances its powers itself gives the same bits", "[pserver]") {
  const SmallJob older = small_job({.rule = "adam", .sizes = {40}});
  SmallJob newer = older;
  Block& block = newer.config.program.block(newer.config.slices[0].block);
  block.remove_ops(
      [](const Op& op) { return op.type == "scale" && op.in["X"][0].ends_with("Pow"); });
  for (const auto& op : block.ops())
    if (op->type == "adam")
      for (const char* slot : {"Beta1Pow", "Beta2Pow"})
        op->out.set(std::string(slot) + "Out", op->in[slot]);
  const auto a = store_of(older), b = store_of(newer);
  CHECK(!b->slices()[0].lowered());
  run_rounds(*a, 1, 4);
  run_rounds(*b, 1, 4);
  CHECK((state_of(*a) == state_of(*b)));
}

TEST_CASE("rules with other slots are lowered too", "[pserver]") {
  const std::string rule = GENERATE("rmsprop", "adadelta");
  const SmallJob job = small_job({.rule = rule, .sizes = {9001}, .trainers = 2});
  const auto fast = store_of(job), whole = store_of(job, true, false);
  CHECK(fast->slices()[0].lowered());
  run_rounds(*fast, 2, 3);
  run_rounds(*whole, 2, 3);
  CHECK((state_of(*fast) == state_of(*whole)));
}

TEST_CASE("gradients are summed as they come and then averaged", "[pserver]") {
  const int64_t n = 10007;
  const SmallJob job = small_job({.sizes = {n}, .trainers = 3});
  const auto a = store_of(job);
  run_rounds(*a, 3, 3);

  std::vector<float> plain(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) plain[static_cast<size_t>(i)] = first_value(0, i);
  for (uint64_t step = 0; step < 3; ++step)
    for (int64_t i = 0; i < n; ++i) {
      const float sum = gradient(0, step, 0, i) + gradient(1, step, 0, i) + gradient(2, step, 0, i);
      const float mean = (1.0f / 3) * sum;
      plain[static_cast<size_t>(i)] = std::fma(-0.125f, mean, plain[static_cast<size_t>(i)]);
    }
  const auto got = floats_of(a->slices()[0].values());
  double worst = 0;
  for (size_t i = 0; i < plain.size(); ++i)
    worst = std::max(worst, std::fabs(double(got[i]) - double(plain[i])));
  CHECK(worst < 1e-6);
}

TEST_CASE("slice", "[pserver]") {
  SECTION("keeps the version before") {
    const auto store = store_of(small_job({.rule = "momentum", .sizes = {20000}}));
    Slice& s = store->slices()[0];
    CHECK(s.previous().empty());
    for (uint64_t step = 0; step < 3; ++step) {
      const auto before = floats_of(s.values());
      run_rounds(*store, 1, 1);
      CHECK((floats_of(s.previous()) == before));
      CHECK(s.version() == step + 1);
    }
    s.restart(7);
    CHECK(s.version() == 7);
    CHECK(s.previous().empty());
  }
  SECTION("keeps it as well where the block runs as a whole") {
    const auto store = store_of(small_job({.sizes = {300}, .l2 = 0.5f}));
    Slice& s = store->slices()[0];
    CHECK(!s.lowered());
    const auto before = floats_of(s.values());
    run_rounds(*store, 1, 1);
    CHECK((floats_of(s.previous()) == before));
    const auto now = floats_of(s.values());
    for (size_t i = 0; i < now.size(); ++i)
      CHECK(now[i] ==
            Approx(before[i] - 0.125f * (gradient(0, 0, 0, int64_t(i)) + 0.5f * before[i]))
                .margin(1e-6));
  }
  SECTION("averages over those who contributed") {
    const auto store = store_of(small_job({.sizes = {4}, .trainers = 3}));
    Slice& s = store->slices()[0];
    for (const uint32_t t : {0u, 2u}) s.add_to_sum(bytes_of(gradient_of(s, t, 0)));
    CHECK(s.summed() == 2);
    CHECK(s.previous().empty());  // its memory holds the sum
    s.close_round();
    CHECK(s.summed() == 0);
    const auto now = floats_of(s.values());
    for (int64_t i = 0; i < 4; ++i)
      CHECK(now[size_t(i)] ==
            Approx(first_value(0, i) -
                   0.125f * 0.5f * (gradient(0, 0, 0, i) + gradient(2, 0, 0, i))));
  }
  SECTION("knows NaN and Inf wherever they stand") {
    const int64_t n = 40001;
    const auto store = store_of(small_job({.sizes = {n}}));
    Slice& s = store->slices()[0];
    std::vector<float> g(n, -3e38f);
    const auto finite = [&] { return std::isfinite(s.largest(bytes_of(g), s.bytes())); };
    CHECK(finite());
    for (const int64_t at : {int64_t{0}, int64_t{16384}, n - 1})
      for (const float bad : {NAN, INFINITY, -INFINITY}) {
        g[size_t(at)] = bad;
        CHECK(!finite());
        g[size_t(at)] = 1;
      }
  }
  SECTION("adds differences") {
    const auto store = store_of(small_job({.sizes = {100}}), false);
    Slice& s = store->slices()[0];
    s.add(bytes_of(gradient_of(s, 0, 0)), 1e3);
    CHECK(floats_of(s.values())[7] == first_value(0, 7) + gradient(0, 0, 0, 7));
    CHECK(s.version() == 1);
  }
}

TEST_CASE("the learning rate is a function of the number of the update", "[pserver]") {
  const SmallJob job = small_job({.sizes = {3, 3}, .decays = true});
  const auto store = store_of(job);
  const auto rate = [&](uint64_t version) {
    store->schedule().run(version);
    Slice& s = store->slices()[0];
    const float before = floats_of(s.values())[0];
    s.add_to_sum(bytes_of({1, 1, 1}));
    s.close_round();
    return before - floats_of(s.values())[0];
  };
  CHECK(rate(0) == Approx(1.0f));
  CHECK(rate(1) == Approx(0.5f));
  CHECK(rate(1) == Approx(0.5f));  // another slice of the same step
  CHECK(rate(3) == Approx(0.25f));
  CHECK(rate(0) == Approx(1.0f));
  CHECK(store->schedule().counter_at("@LR_DECAY_COUNTER@", 5) == 4.0);
  CHECK(!store->schedule().counter_at("w_0", 5));
}

TEST_CASE("a configuration is checked before memory is taken", "[pserver]") {
  SmallJob job = small_job({.rule = "momentum", .sizes = {6}});
  const auto refused = [&](const std::string& words) {
    CHECK_THROWS_WITH(Store(job.config, true), Contains(words));
  };
  SECTION("a slice without a variable") {
    job.config.slices[0].name = "w_9";
    refused("the slice 'w_9' is not among the variables");
  }
  SECTION("a variable of another shape") {
    job.config.variables[1].shape = {7};
    refused("'w_0' came as float32 [7]; the program says float32 [6]");
  }
  SECTION("a variable that the program does not have") {
    job.config.variables.push_back({"x", DType::f32, {1}});
    refused("'x' is not in the program");
  }
  SECTION("a variable that is missing") {
    job.config.variables.pop_back();
    refused("'w_0.Velocity' is read before anything writes it");
  }
  SECTION("a block that is not there") {
    job.config.slices[0].block = 4;
    refused("block 4, and the program has 2 blocks");
  }
  SECTION("the same slice twice") {
    job.config.slices.push_back(job.config.slices[0]);
    refused("came twice");
  }
  SECTION("more than the machine has") {
    const Shape huge{int64_t{1} << 44};
    for (const char* name : {"w_0", "w_0.Velocity"}) {
      job.config.program.global().var(name).shape = huge;
      for (KeptVariable& v : job.config.variables)
        if (v.name == name) v.shape = huge;
    }
    refused("use more pservers");
  }
}
