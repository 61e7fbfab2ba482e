#include "trainer/dataset_pass.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <numeric>

#include "base/error.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace dataset_pass_test {
namespace {

// total += x
Program adding_program() {
  Program p;
  p.global().create({.name = "x", .shape = {1}});
  p.global().create({.name = "total", .shape = {1}, .persistable = true});
  p.global().append({.type = "elementwise_add",
                     .in = {{"X", {"total"}}, {"Y", {"x"}}},
                     .out = {{"Out", {"total"}}}});
  return p;
}

Batch batch_of(float value) { return {.fields = {Tensor::of<float>({1}, {value})}, .samples = 1}; }

// Gives 1, 2, … count, each from memory of its own.
NextBatch counting(int count) {
  return [count, at = std::make_shared<int>(0)](Batch& batch) {
    if (*at == count) return false;
    batch = batch_of(static_cast<float>(++*at));
    return true;
  };
}

NextBatch failing_after(int count) {
  return [next = counting(count)](Batch& batch) {
    if (!next(batch)) throw Error(Error::Kind::data, "line 4 is damaged");
    return true;
  };
}

// Gives one batch, and then waits until somebody calls stop_reading.
struct Waiting {
  std::shared_ptr<std::atomic<bool>> stopped = std::make_shared<std::atomic<bool>>(false);
  NextBatch source() const {
    return [s = stopped, next = counting(1)](Batch& batch) {
      if (next(batch)) return true;
      s->wait(false);
      return false;
    };
  }
  std::function<void()> stop() const {
    return [s = stopped] {
      *s = true;
      s->notify_all();
    };
  }
};

struct Run {
  Program program = adding_program();
  Scope scope;
  Executor executor;
  PassOptions options{.feeds = {"x"}, .fetches = {"total"}, .fetch_period = 2};
  std::vector<float> fetched;

  Run() {
    scope.var("total").tensor = Tensor::of<float>({1}, {0});
    options.on_fetch = [this](std::vector<Tensor> v) { fetched.push_back(v[0].data<float>()[0]); };
  }
  float total() const { return scope.tensor("total").data<float>()[0]; }
  Plan& step(const Batch& batch) {
    Plan& plan = executor.plan(program, scope, options.feeds, options.fetches);
    plan.feed(0, batch.fields[0]);
    plan.run(0);
    return plan;
  }
  // Whoever was seen as the batch that follows is the next one.
  void note(const Batch& batch, const Batch* next) {
    const auto value = [](const Batch& b) { return b.fields[0].data<float>()[0]; };
    if (following != 0) CHECK(value(batch) == following);
    following = next == nullptr ? 0 : value(*next);
    seen += following != 0;
  }
  float following = 0;
  int seen = 0;
  int64_t ordered(std::vector<NextBatch> sources) {
    return ordered_pass(
        std::move(sources),
        [this](const Batch& b, const Batch* following) -> Plan& {
          note(b, following);
          return step(b);
        },
        options);
  }
};

}  // namespace

TEST_CASE("a Hogwild pass", "[trainer]") {
  Run run;
  SECTION("trains on every batch and fetches by period") {
    CHECK(hogwild_pass(run.program, run.scope, {counting(5)}, run.options) == 5);
    CHECK(run.total() == 15);
    CHECK(run.fetched == std::vector<float>{3, 10});
  }
  SECTION("counts the batches of all threads; the first one fetches") {
    run.options.fetch_period = 1;
    const std::vector<NextBatch> sources = {counting(3), counting(40), counting(0)};
    CHECK(hogwild_pass(run.program, run.scope, sources, run.options) == 43);
    CHECK(run.fetched.size() == 3);
  }
  SECTION("ends all threads with the first error, also those that wait for data") {
    const Waiting waiting;
    run.options.stop_reading = waiting.stop();
    CHECK_THROWS_WITH(
        hogwild_pass(run.program, run.scope, {waiting.source(), failing_after(3)}, run.options),
        Contains("line 4 is damaged"));
    CHECK(*waiting.stopped);
  }
  SECTION("does not stop sources that end by themselves") {
    bool stopped = false;
    run.options.stop_reading = [&] { stopped = true; };
    hogwild_pass(run.program, run.scope, {counting(2)}, run.options);
    CHECK_FALSE(stopped);
  }
}

TEST_CASE("an ordered pass", "[trainer]") {
  Run run;
  SECTION("one step at a time over the batches of all sources") {
    run.options.fetch_period = 10;
    CHECK(run.ordered({counting(20), counting(10), counting(0)}) == 30);
    CHECK(run.total() == 210 + 55);
    CHECK(run.fetched.size() == 3);
  }
  SECTION("one source keeps its order") {
    run.options.fetch_period = 1;
    run.ordered({counting(6)});
    CHECK(run.fetched == std::vector<float>{1, 3, 6, 10, 15, 21});
    CHECK(run.following == 0);  // nothing follows the last one
  }
  SECTION("a step is shown the batch that follows, where it was read") {
    std::atomic<int> given = 0;
    const NextBatch all = counting(4);
    run.fetched.clear();
    run.options.on_fetch = [&](std::vector<Tensor>) {
      for (int before = given; before < 4; before = given) given.wait(before);  // all were read
    };
    run.options.fetch_period = 1;
    run.ordered({[&](Batch& batch) {
      const bool more = all(batch);
      ++given;
      given.notify_all();
      return more;
    }});
    CHECK(run.seen >= 1);
  }
  SECTION("an error while reading ends it, and the sources that wait") {
    const Waiting waiting;
    run.options.stop_reading = waiting.stop();
    CHECK_THROWS_WITH(run.ordered({waiting.source(), failing_after(3)}), Contains("damaged"));
  }
  SECTION("an error of a step ends the readers, though their queue is full") {
    int steps = 0;
    CHECK_THROWS_WITH(ordered_pass(
                          {counting(1000), counting(1000)},
                          [&](const Batch& b, const Batch*) -> Plan& {
                            if (++steps == 2) throw Error(Error::Kind::peer, "the pserver is gone");
                            return run.step(b);
                          },
                          run.options),
                      Contains("the pserver is gone"));
    CHECK(steps == 2);
  }
}

}  // namespace dataset_pass_test
