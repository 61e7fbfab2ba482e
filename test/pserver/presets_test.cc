// A shard whose process knows its job itself: its own first values, and what it will not serve.
#include <catch2/catch.hpp>

#include "pserver/client.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;
using Body = AnswerType;

TEST_CASE("first values of the shard itself count", "[pserver]") {
  const QuietLog quiet;
  const SmallJob job = small_job({.sizes = {5}});
  SECTION("in place of those that a trainer brings") {
    const Tensor own = Tensor::of<float>({5}, {1, 2, 3, 4, 5});
    RunningShard shard({.own = {.presets = {{"w_0", own}}}});
    Client a(shard.port());
    a.greet({.trainers = 1});
    CHECK(a.provide(job).type == Body::Ack);
    CHECK(a.join().type == Body::Ack);
    CHECK((a.await(a.pull(10, 0)).values() == std::vector<float>{1, 2, 3, 4, 5}));
  }
  SECTION("those of another model are refused") {
    const auto [name, shape, words] = GENERATE(table<std::string, int64_t, std::string>(
        {{"w_0", 6, "loaded 'w_0' as float32[6], and the trainer's network has float32[5]"},
         {"v_0", 5, "loaded 'v_0', which the trainer's network does not have"}}));
    Tensor other(DType::f32, {shape});
    other.zero();
    RunningShard shard({.own = {.presets = {{name, other}}}});
    Client a(shard.port());
    a.greet({.trainers = 1});
    const Answer r = a.await(a.configure(job));
    CHECK(r.failed(Code::refused));
    CHECK_THAT(r.text, Contains(words));
  }
}

TEST_CASE("a shard that knows its program refuses another", "[pserver]") {
  const QuietLog quiet;
  RunningShard shard({.own = {.check = [](const StoreConfig& c) {
                        return c.variables.size() == 2 ? "" : "there must be two";
                      }}});
  Client a(shard.port());
  a.greet({.trainers = 1});
  const Answer r = a.await(a.configure(small_job({.rule = "momentum", .sizes = {5}})));
  CHECK(r.failed(Code::refused));
  CHECK_THAT(r.text, Contains("there must be two"));
  CHECK(a.provide(small_job({.sizes = {5}})).type == Body::Ack);
}
