// What a peer may make a shard do: memory within a budget, epochs without leaps, finite values.
#include <cmath>

#include "pserver/plain_shard.h"
#include "support/quiet_log.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;

namespace limits_test {

constexpr uint32_t the_slice = 10;

ShardOptions within(uint64_t bytes) {
  ShardOptions o;
  o.memory = std::make_shared<PserverMemory>(bytes);
  return o;
}

struct Alone {  // one trainer
  PlainShard shard;
  SmallJob job;
  PeerId peer;

  explicit Alone(const SmallJobOptions& o, const ShardOptions& options = {},
                 wire::Mode mode = wire::Mode::sync, MemoryDisk* disk = nullptr)
      : shard(options, disk), job(small_job(o)), peer(shard.greet(0, 1, mode)) {
    shard.configure(peer, job);
    shard.say(peer, wire::Join{0, 0});
  }
  uint64_t push(uint64_t step, std::vector<float> grad, uint64_t based_on = 0) {
    return shard.push(peer, step, {{the_slice, std::move(grad), based_on}});
  }
};

}  // namespace limits_test

TEST_CASE("a shard takes memory from its pserver's budget", "[pserver]") {
  using namespace limits_test;
  const QuietLog quiet;
  SECTION("and gives it back with the job") {
    const ShardOptions options = within(1u << 20);
    {
      Alone t({.sizes = {1000}, .trainers = 1}, options);
      const wire::Status s = t.shard.shard.status(t.shard.now);
      CHECK(s.memory >= 8000);
      CHECK(s.memory_held == s.memory);
      CHECK(s.memory_limit == 1u << 20);
    }
    CHECK(options.memory->whole.held() == 0);
  }
  SECTION("a model that is too large is refused with figures and a remedy, and nothing is taken") {
    const ShardOptions options = within(1u << 20);
    Alone t({.sizes = {300000}, .trainers = 1}, options);
    bool told = false;
    for (const auto& [id, reply] : t.shard.replies)
      if (reply.failed(Code::refused)) {
        const std::string why = std::get<wire::Failure>(reply.body).message;
        CHECK_THAT(why, Contains("1.1 MiB of parameters and state") &&
                            Contains("its pserver may hold 1.0 MiB (--memory_limit), of which 0 B "
                                     "are taken: use more pservers, or raise --memory_limit"));
        told = true;
      }
    CHECK(told);
    CHECK(options.memory->whole.held() == 0);
  }
  SECTION("another configuration takes the place of the first") {
    const ShardOptions options = within(1u << 20);
    Alone t({.sizes = {60000}, .trainers = 1}, options);
    const uint64_t held = options.memory->whole.held();
    CHECK(held > 600000);  // a second one would not fit beside it
    wire::Configure c{.epoch = 1,
                      .reset = true,
                      .values_digest = "init",
                      .program = to_flatbuffer(t.job.config.program)};
    for (const SliceInfo& s : t.job.config.slices)
      c.slices.push_back({s.id, s.name, s.grad, s.block});
    for (const KeptVariable& v : t.job.config.variables)
      c.variables.push_back(
          {v.name, static_cast<uint8_t>(v.dtype), {v.shape.begin(), v.shape.end()}});
    t.shard.say(t.peer, c);
    CHECK_FALSE(t.shard.last_reply().failed(Code::refused));
    CHECK(options.memory->whole.held() == held);
  }
  SECTION("what an update makes for itself counts as well") {
    SmallJob job = small_job({.sizes = {100}});
    job.config.program.global().create({.name = "huge", .shape = {1 << 20}});
    Block& block = job.config.program.block(job.config.slices[0].block);
    const OpRoleGuard guard(job.config.program, role::optimize);
    block.append({.type = "fill_constant",
                  .out = {{"Out", {"huge"}}},
                  .attrs = {{"shape", std::vector<int64_t>{1 << 20}}, {"value", 1.0f}}});
    block.append({.type = "mean", .in = {{"X", {"huge"}}}, .out = {{"Out", {"rate"}}}});
    const ShardOptions options = within(1u << 20);
    PlainShard shard(options);
    const PeerId peer = shard.greet(0, 1);
    shard.configure(peer, job);
    shard.say(peer, wire::Join{0, 0});
    const uint64_t id = shard.push(peer, 0, {{the_slice, std::vector<float>(100, 1.0f)}});
    CHECK_THAT(shard.shard.failure(),
               Contains("would need 4.0 MiB more") && Contains("--memory_limit"));
    CHECK(shard.reply(id).failed(Code::job_failed));
  }
}

TEST_CASE("an epoch does not leap", "[pserver]") {
  using namespace limits_test;
  const QuietLog quiet;
  MemoryDisk disk;
  Alone t({.sizes = {5}, .trainers = 1},
          {.snapshots = {.directory = "memory", .period = 1, .keep = 3}}, wire::Mode::sync, &disk);
  CHECK_THROWS_WITH(t.shard.say(t.peer, wire::Rollback{~uint64_t{0}, 0}),
                    Contains("a leap from epoch 0"));
  CHECK_THROWS_WITH(t.shard.say(t.peer, wire::Configure{.epoch = uint64_t{1} << 60, .reset = true}),
                    Contains("a leap from epoch 0"));
}

TEST_CASE("parameters stay finite", "[pserver]") {
  using namespace limits_test;
  const QuietLog quiet;
  const int64_t n = GENERATE(5, 20000);  // the larger one is updated while it comes in
  const auto grad = [&](float value) { return std::vector<float>(static_cast<size_t>(n), value); };
  SECTION("sync, one trainer: its gradient is refused, and the values are as before") {
    Alone t({.sizes = {n}, .trainers = 1, .rate = 1});
    const std::vector<float> after = t.shard.reply(t.push(0, grad(3e38f))).values();
    CHECK(std::isfinite(after[0]));
    const uint64_t id = t.push(1, grad(3e38f));
    if (n > 8192) {
      CHECK(t.shard.reply(id).failed(Code::not_finite));
      CHECK_THAT(t.shard.last_failure(), Contains("the parameter would become infinite"));
      CHECK((t.shard.reply(t.push(1, grad(0))).values() == after));
    } else {
      CHECK(t.shard.reply(id).failed(Code::job_failed));
      CHECK_THAT(t.shard.shard.failure(),
                 Contains("the update of 'w_0' to version 2 makes NaN or Inf, "
                          "from a gradient that is finite"));
    }
  }
  SECTION("sync, two trainers: finite gradients whose sum is not end the job with a sentence") {
    PlainShard shard;
    const SmallJob job = small_job({.sizes = {n}, .trainers = 2, .rate = 1});
    const PeerId a = shard.greet(0, 2), b = shard.greet(1, 2);
    shard.configure(a, job);
    for (const PeerId p : {a, b}) shard.say(p, wire::Join{0, 0});
    const uint64_t first = shard.push(a, 0, {{the_slice, grad(3e38f)}});
    const uint64_t second = shard.push(b, 0, {{the_slice, grad(3e38f)}});
    CHECK(shard.reply(first).failed(Code::job_failed));
    CHECK(shard.reply(second).failed(Code::job_failed));
    CHECK_THAT(shard.shard.failure(),
               Contains("from 2 gradients that are finite: lower the learning rate"));
  }
  SECTION("async: refused and counted, and others go on") {
    Alone t({.sizes = {n}, .trainers = 1, .rate = 1}, {}, wire::Mode::async);
    const std::vector<float> after = t.shard.reply(t.push(0, grad(3e38f))).values();
    CHECK(std::isfinite(after[0]));
    CHECK(t.shard.reply(t.push(1, grad(3e38f), 1)).failed(Code::not_finite));
    CHECK(t.shard.shard.status(t.shard.now).members[0].not_finite == 1);
    CHECK((t.shard.reply(t.push(1, grad(0), 1)).values() == after));
    CHECK((t.shard.reply(t.push(2, grad(-3e38f), 2)).values()[0] == after[0] + 3e38f));
  }
  SECTION("geo: the same for differences") {
    Alone t({.sizes = {n}, .trainers = 1}, {}, wire::Mode::geo);
    const std::vector<float> after = t.shard.reply(t.push(0, grad(1e38f))).values();
    CHECK(t.shard.reply(t.push(1, grad(3e38f), 1)).failed(Code::not_finite));
    CHECK((t.shard.reply(t.push(1, grad(0), 1)).values() == after));
  }
  SECTION("async with state: the job ends with a sentence") {
    Alone t({.rule = "momentum", .sizes = {n}, .trainers = 1, .rate = 1}, {}, wire::Mode::async);
    t.push(0, grad(3e38f));
    const uint64_t id = t.push(1, grad(3e38f), 1);
    CHECK(t.shard.reply(id).failed(Code::job_failed));
  }
}

TEST_CASE("first values are whole and finite", "[pserver]") {
  using namespace limits_test;
  const QuietLog quiet;
  PlainShard shard;
  SmallJob job = small_job({.sizes = {5}, .trainers = 1});
  const PeerId peer = shard.greet(0, 1);
  SECTION("NaN in double precision") {
    job.config.variables[1].dtype = DType::f64;
    job.values[1] = Tensor(DType::f64, {5});
    for (int k = 0; k < 5; ++k) job.values[1].data<double>()[k] = NAN;
    job.config.program.global().var("w_0").dtype = DType::f64;
    shard.configure(peer, job);
    CHECK(shard.last_reply().failed(Code::not_finite));
  }
  SECTION("a part that begins within a number") {
    SmallJob none = job;
    none.values.clear();
    shard.configure(peer, none);
    shard.say(peer, wire::SetValue{0, 1, 2, false}, std::vector<std::byte>(4));
    CHECK_THAT(shard.last_failure(),
               Contains("4 bytes from offset 2 on do not fit 'w_0', which has 20 bytes, 4 each"));
  }
}

TEST_CASE("async: what a lost pserver lacks", "[pserver]") {
  using namespace limits_test;
  const QuietLog quiet;
  MemoryDisk disk;
  ShardOptions options;
  options.snapshots.period = 3;
  Alone t({.sizes = {5}, .trainers = 1, .rate = 1}, options, wire::Mode::async, &disk);
  const auto newest = [&] { return disk.kept.empty() ? uint64_t{0} : disk.kept.rbegin()->first; };
  const auto push = [&](uint64_t n) { t.push(n, std::vector<float>(5, 1), n); };
  SECTION("is less than a period where the disk is fast") {
    for (uint64_t n = 0; n < 20; ++n) {
      push(n);
      CHECK(n + 1 - newest() < 3);
    }
  }
  SECTION("is what came while snapshots were written, where it is slow") {
    t.shard.disk_reports = false;
    for (uint64_t n = 0; n < 20; ++n) push(n);
    CHECK(newest() == 6);  // one is being written, one waits
    t.shard.disk_reports = true;
    t.shard.tick();
    CHECK(newest() == 20);  // nobody has to push for it
  }
}

TEST_CASE("a shard answers while it loads the snapshot of a rollback", "[pserver]") {
  using namespace limits_test;
  const QuietLog quiet;
  MemoryDisk disk;
  Alone t({.sizes = {5}, .trainers = 1},
          {.snapshots = {.directory = "memory", .period = 1, .keep = 5}}, wire::Mode::sync, &disk);
  const auto grad = std::vector<float>(5, 1.0f);
  std::vector<std::vector<float>> versions;
  for (uint64_t step = 0; step < 3; ++step)
    versions.push_back(t.shard.reply(t.push(step, grad)).values());
  std::vector<std::function<void()>> works;
  t.shard.shard.set_background(
      [&](std::function<void()> work) { works.push_back(std::move(work)); });
  const auto loaded = [&] {
    REQUIRE(works.size() == 1);
    works[0]();
    t.shard.shard.proceed(t.shard.now);
    t.shard.tick(0);
  };
  const auto status = [&] { return t.shard.shard.status(t.shard.now); };

  SECTION("with the values of now until those of the snapshot are here") {
    const uint64_t back = t.shard.say(t.peer, wire::Rollback{1, 1});
    const uint64_t again = t.shard.say(t.peer, wire::Rollback{1, 1});
    const uint64_t other = t.shard.say(t.peer, wire::Rollback{1, 2});
    CHECK_FALSE(t.shard.answered(back));
    CHECK(status().epoch == 0);
    CHECK(t.shard.answered(t.push(3, grad)));
    CHECK(status().step == 4);
    loaded();
    CHECK(t.shard.reply(back).is<wire::Ack>());
    CHECK(t.shard.reply(again).is<wire::Ack>());
    CHECK(t.shard.reply(other).failed(Code::stale_epoch));
    CHECK(status().epoch == 1);
    CHECK(status().step == 1);
    t.shard.say(t.peer, wire::Join{1, 1});
    const uint64_t id = t.shard.push(t.peer, 1, {{the_slice, grad}}, true, 1);
    CHECK((t.shard.reply(id).values() == versions[1]));
  }
  SECTION("and keeps its values where the snapshot cannot be used") {
    const uint64_t back = t.shard.say(t.peer, wire::Rollback{1, 1});
    disk.kept.erase(1);
    loaded();
    CHECK(t.shard.reply(back).failed(Code::unknown_version));
    CHECK(status().epoch == 0);
    CHECK(t.shard.answered(t.push(3, grad)));
  }
  SECTION("whether or not those who asked are still there") {
    t.shard.say(t.peer, wire::Rollback{1, 2});
    t.shard.close(t.peer);
    loaded();
    CHECK(status().epoch == 1);
  }
}

TEST_CASE("what a trainer says of itself cannot forge lines of a log", "[pserver]") {
  using namespace limits_test;
  const QuietLog quiet;
  PlainShard shard;
  PeerId number = 0;
  for (auto name : {&wire::Hello::job, &wire::Hello::build, &wire::Hello::process}) {
    wire::Hello h = PlainShard::hello(0, 1);
    h.*name = "a\nI1119 04:00:00.000000     1 shard.cc:1] trainer 1 was lost";
    const PeerId peer = number++;
    shard.shard.opened(peer, "address", shard.now);
    wire::Message greeting{1, h};
    CHECK_THROWS_WITH(shard.shard.handle(peer, greeting, 0, shard.now),
                      Contains("control characters") && !Contains("\n"));
  }
  Alone t({.sizes = {10}, .trainers = 1});
  wire::Hello beat = PlainShard::hello(0, 1);
  beat.role = wire::Role::beat;
  const PeerId beats = t.shard.greet(beat);
  t.shard.say(beats, wire::Progress{.state = "reads\x1b[2J", .error = "no file\n  while reading"});
  const wire::Status s = t.shard.shard.status(t.shard.now);
  CHECK(s.members.at(0).progress.state == "reads [2J");
  CHECK(s.members.at(0).progress.error == "no file while reading");
}
