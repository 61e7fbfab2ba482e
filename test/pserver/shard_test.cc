#include "pserver/shard.h"

#include <catch2/catch.hpp>
#include <limits>

#include "base/log.h"
#include "pserver/client.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;
using Body = AnswerType;

TEST_CASE("a shard runs rounds of two trainers", "[pserver]") {
  const QuietLog quiet;
  const std::string rule = GENERATE("sgd", "adam");
  const SmallJob job =
      small_job({.rule = rule, .sizes = {5, 100003}, .trainers = 2, .decays = rule == "sgd"});
  RunningShard shard;
  Client a(shard.port()), b(shard.port());
  CHECK(a.greet({.trainer = 0}).state == wire::ShardState::empty);
  CHECK(b.greet({.trainer = 1}).state == wire::ShardState::empty);
  CHECK(a.provide(job).type == Body::Ack);
  CHECK(b.await(b.configure(job)).failed(Code::stale_epoch));
  CHECK(a.join().type == Body::Ack);
  CHECK(b.join().type == Body::Ack);
  for (uint64_t step = 0; step < 4; ++step) {
    std::vector<uint64_t> ids;
    for (uint32_t s = 0; s < 2; ++s) {
      const auto n = job.values.back().numel();
      const int64_t size = s == 0 ? 5 : 100003;
      static_cast<void>(n);
      const auto gb = gradients(1, step, s, size), ga = gradients(0, step, s, size);
      const uint64_t first = b.push(10 + s, step, gb);
      b.until([] { return false; }, 0.02);
      CHECK(!b.answered(first));
      const uint64_t second = a.push(10 + s, step, ga);
      const Answer at_a = a.await(second), at_b = b.await(first);
      REQUIRE(at_a.type == Body::Values);
      REQUIRE(at_b.type == Body::Values);
      CHECK(at_a.version == step + 1);
      CHECK((at_a.values() == expected(job, 2, step + 1, s)));
      CHECK((at_b.values() == at_a.values()));
    }
  }
  // The version before, the one at hand, and those that are gone.
  CHECK((a.await(a.pull(10, 3)).values() == expected(job, 2, 3, 0)));
  CHECK((a.await(a.pull(10, 4)).values() == expected(job, 2, 4, 0)));
  CHECK(a.await(a.pull(10, 2)).failed(Code::unknown_version));
  CHECK(a.await(a.pull(99, 4)).failed(Code::unknown_version));
  const Answer whole = a.await(a.fetch("w_0", 0, 20)), part = a.await(a.fetch("w_0", 4, 8));
  CHECK((whole.values() == expected(job, 2, 4, 0)));
  CHECK(part.values()[1] == whole.values()[2]);
  CHECK(a.await(a.fetch("w_0", 4, 20)).failed(Code::protocol));
  CHECK(a.await(a.fetch("w_9", 0, 4)).failed(Code::unknown_version));
}

TEST_CASE("a repeated push is answered and not applied", "[pserver]") {
  const QuietLog quiet;
  const SmallJob job = small_job({.sizes = {5}, .trainers = 2});
  RunningShard shard;
  Client a(shard.port()), b(shard.port());
  a.greet({.trainer = 0});
  b.greet({.trainer = 1});
  a.provide(job);
  a.join();
  b.join();
  const auto g = [&](uint32_t t, uint64_t step) { return gradients(t, step, 0, 5); };
  const uint64_t once = a.push(10, 0, g(0, 0)), twice = a.push(10, 0, g(0, 3));
  const uint64_t other = b.push(10, 0, g(1, 0));
  CHECK((a.await(once).values() == expected(job, 2, 1, 0)));
  CHECK((a.await(twice).values() == expected(job, 2, 1, 0)));
  CHECK((b.await(other).values() == expected(job, 2, 1, 0)));
  const Answer late = b.await(b.push(10, 0, g(1, 0)));  // the round has closed since
  CHECK(late.version == 1);
  CHECK(b.await(b.push(10, 0, g(1, 0), {.pull = false})).type == Body::Ack);

  SECTION("also after its connection was cut in the middle of a round") {
    const uint64_t first = a.push(10, 1, g(0, 1));
    const Answer none = b.greet({.trainer = 1});  // a second greeting ends the connection
    CHECK(none.type == Body::NONE);
    Client again(shard.port());
    const Answer w = again.greet({.trainer = 1});
    CHECK(w.versions == std::vector<uint64_t>{1});
    CHECK(w.contributed == std::vector<bool>{false});
    CHECK(w.has_place);
    CHECK(w.record == 10);
    again.join(1);
    CHECK((again.await(again.push(10, 1, g(1, 1))).values() == expected(job, 2, 2, 0)));
    CHECK((a.await(first).values() == expected(job, 2, 2, 0)));
  }
  SECTION("and a restarted trainer learns what it contributed") {
    const uint64_t first = a.push(10, 1, g(0, 1), {.pull = false});
    CHECK(a.await(first).type == Body::Ack);
    a.connection().close("killed");
    Client again(shard.port());
    Answer w;
    for (uint64_t i = 0; i < 100 && w.type != Body::Welcome; ++i) {
      Client next(shard.port());
      w = next.greet({.trainer = 0, .incarnation = 5000 + i});
    }
    CHECK(w.contributed == std::vector<bool>{true});
    CHECK(w.place_step == 1);
  }
}

TEST_CASE("wrong pushes are refused and change nothing", "[pserver]") {
  const QuietLog quiet;
  const SmallJob job = small_job({.sizes = {5}, .trainers = 1});
  RunningShard shard;
  Client a(shard.port());
  a.greet({.trainers = 1});
  const auto g = gradients(0, 0, 0, 5), long_g = gradients(0, 0, 0, 6);
  CHECK(a.await(a.push(10, 0, g)).failed(Code::stale_epoch));  // not configured
  a.provide(job);
  const Answer early = a.await(a.push(10, 0, g));
  CHECK(early.failed(Code::protocol));
  CHECK_THAT(early.text, Contains("without having joined"));
  a.join();
  const Answer size = a.await(a.push(10, 0, long_g));
  CHECK(size.failed(Code::protocol));
  CHECK_THAT(size.text, Contains("trainer 0 (host:1000): its gradient for 'w_0', step 0, has 24 "
                                 "bytes, expected 20"));
  CHECK(a.await(a.push(10, 0, {})).failed(Code::protocol));
  CHECK(a.await(a.push(10, 3, g)).failed(Code::protocol));
  CHECK(a.await(a.push(77, 0, g)).failed(Code::unknown_version));
  CHECK(a.await(a.push(10, 0, g, {.epoch = 4})).failed(Code::stale_epoch));
  CHECK(a.await(a.pull(10, 0, 4)).failed(Code::stale_epoch));
  CHECK(a.join(0, 7).failed(Code::stale_epoch));
  auto bad = g;
  bad[3] = NAN;
  const Answer nan = a.await(a.push(10, 0, bad));
  CHECK(nan.failed(Code::not_finite));
  CHECK_THAT(nan.text, Contains("'w_0', step 0, holds NaN or Inf"));
  CHECK((a.await(a.pull(10, 0)).values() == expected(job, 1, 0, 0)));
  CHECK((a.await(a.push(10, 0, g)).values() == expected(job, 1, 1, 0)));
  const Answer s = a.status();
  CHECK(s.not_finite_by == std::vector<uint64_t>{1});
  CHECK(s.versions == std::vector<uint64_t>{1});
  CHECK(!s.errors.empty());
}

TEST_CASE("a number that is none is found anywhere in a large gradient", "[pserver]") {
  const QuietLog quiet;
  constexpr size_t n = 400'001;  // arrives in several parts
  SmallJob job = small_job({.rule = "sgd", .sizes = {n}});
  RunningShard shard;
  Client a(shard.port());
  a.greet({.trainers = 1});
  a.provide(job);
  a.join();
  std::vector<float> g(n, 0.5f);
  for (const size_t at : {size_t{0}, n / 3, n / 2, n - 1}) {
    g[at] = at == 0 ? INFINITY : NAN;
    CHECK(a.await(a.push(10, 0, g)).failed(Code::not_finite));
    g[at] = 0.5f;
  }
  CHECK(a.await(a.push(10, 0, g)).values().size() == n);
}

TEST_CASE("configurations that make no sense are refused", "[pserver]") {
  const QuietLog quiet;
  SmallJob job = small_job({.rule = "momentum", .sizes = {5}});
  RunningShard shard;
  Client a(shard.port());
  a.greet({.trainers = 1});
  SECTION("another shape than the program's") {
    job.config.variables[1].shape = {6};
    const Answer r = a.await(a.configure(job));
    CHECK(r.failed(Code::refused));
    CHECK_THAT(r.text, Contains("'w_0' came as float32 [6]"));
  }
  SECTION("values that do not fit") {
    a.configure(job);
    const std::vector<float> six(6);
    const auto say = [&](uint32_t index, uint64_t offset) {
      return a.await(a.say(wire::SetValue{0, index, offset, false}, std::as_bytes(std::span(six))));
    };
    const auto [index, offset, words] = GENERATE(table<uint32_t, uint64_t, std::string>(
        {{1, 0, "24 bytes from offset 0 on do not fit 'w_0', which has 20"},
         {1, UINT64_MAX - 4, "do not fit"},
         {9, 0, "variable 9, and there are 3"}}));
    CHECK_THAT(say(index, offset).text, Contains(words));
  }
  SECTION("values that are incomplete") {
    a.configure(job);
    const Answer r = a.await(a.set_value(job, 0, true));
    CHECK(r.failed(Code::protocol));
    CHECK_THAT(r.text, Contains("4 of 44 bytes"));
  }
  SECTION("first values that are not finite") {
    a.configure(job);
    const std::vector<float> values = {1, 2, std::numeric_limits<float>::infinity(), 4, 5};
    const Answer r =
        a.await(a.say(wire::SetValue{0, 1, 0, false}, std::as_bytes(std::span(values))));
    CHECK(r.failed(Code::not_finite));
    CHECK_THAT(r.text, Contains("the first values of 'w_0' hold NaN or Inf"));
  }
  SECTION("someone who leaves in the middle") {
    a.configure(job);
    a.set_value(job, 0, false);
    Client b(shard.port());
    CHECK(b.greet({.trainer = 0, .trainers = 1, .incarnation = 9}).failed(Code::wait));
    a.connection().close("killed");
    Answer w;
    for (int i = 0; i < 100 && w.type != Body::Welcome; ++i) {
      Client next(shard.port());
      w = next.greet({.trainer = 0, .trainers = 1, .incarnation = 9});
    }
    CHECK(w.state == wire::ShardState::empty);
    CHECK(w.configured_by.empty());
    return;
  }
  CHECK(a.provide(small_job({.sizes = {5}})).type == Body::Ack);
}
