#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "pserver/client.h"
#include "pserver/snapshots.h"
#include "support/child.h"
#include "support/quiet_log.h"
#include "support/small_disk.h"

using namespace paddle;
using Catch::Contains;
using Code = wire::FailureCode;
using Body = AnswerType;

namespace {

Snapshot sample(uint64_t step = 100) {
  Snapshot s;
  s.identity = {.job = "job",
                .program = "abc",
                .set_by = "the snapshot of step " + std::to_string(step),
                .mode = wire::Mode::async,
                .trainers = 2,
                .shard = 1,
                .shards = 3};
  s.init = "init";
  s.configured_by = "trainer 0 (host:1)";
  s.epoch = 4;
  s.step = step;
  s.origins = {{11, 2}, {12, step}};
  s.program = std::make_shared<const std::string>("bytes");
  s.slices = {{{.id = 7, .name = "w", .grad = "w@GRAD", .block = 2}, step + 1, {3, 4}}};
  s.members = {{true, {}}, {false, wire::LastPush{step - 1, {1, 2, 3, 4}, {5, 6, 7, 8}}}};
  s.variables = {{"w", DType::f32, {2, 3}}, {"n", DType::i64, {1}}, {"none", DType::f32, {0}}};
  s.values = {Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::of<int64_t>({1}, {9}),
              Tensor(DType::f32, {0})};
  return s;
}

std::string all_of(const Snapshot& s) {
  std::vector<ValueRecord> none(s.values.size());
  std::string out = write_manifest(s, none) + s.identity.set_by;
  for (const Tensor& t : s.values) out.append(static_cast<const char*>(t.raw()), t.bytes());
  return out;
}

void flip_byte(const std::string& path, std::streamoff at) {
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  f.seekg(at);
  const char c = static_cast<char>(f.get() ^ 0x40);
  f.seekp(at);
  f.put(c);
}

struct Waiter {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, std::string>> written;
  Snapshots::Written report() {
    return [this](uint64_t step, const std::string& problem) {
      const std::lock_guard lock(mutex);
      written.emplace_back(step, problem);
    };
  }
};

}  // namespace

TEST_CASE("a snapshot comes back as it was", "[pserver]") {
  const TemporaryDirectory dir;
  const std::string path = dir.path() + "/step-000000000100";
  Snapshot made = sample();
  write_snapshot(path, made);
  CHECK((all_of(read_snapshot(path)) == all_of(sample())));
  CHECK(read_file(path + "/values", 1000).size() == 128);  // each on 64 bytes
  const std::string manifest = read_file(path + "/manifest", 10000);
  CHECK(manifest.substr(0, 8) == "PDSNAP01");
  CHECK(manifest.substr(20, 4) == "PDSS");

  SECTION("damage is found in every byte") {
    for (const char* file : {"/values", "/manifest"}) {
      const auto size = std::filesystem::file_size(path + file);
      const bool values = std::string(file) == "/values";
      for (std::streamoff at = 0; at < static_cast<std::streamoff>(size); ++at) {
        if (values && at >= 24 && at < 64) continue;  // padding
        if (values && at >= 72) continue;
        flip_byte(path + file, at);
        CHECK_THROWS_AS(read_snapshot(path), Error);
        flip_byte(path + file, at);
      }
    }
  }
  SECTION("missing parts are found") {
    const std::string name = GENERATE("values", "manifest", "done");
    std::filesystem::remove(path + "/" + name);
    CHECK_THROWS_AS(read_snapshot(path), Error);
  }
  SECTION("files that are cut short are found") {
    const std::string name = GENERATE("values", "manifest");
    std::filesystem::resize_file(path + "/" + name, 70);
    CHECK_THROWS_AS(read_snapshot(path), Error);
  }
}

TEST_CASE("the snapshots of a shard", "[pserver]") {
  QuietLog quiet(1);
  const TemporaryDirectory dir;
  Waiter waiter;
  const auto write = [&](Snapshots& s, uint64_t step) {
    s.write(sample(step));
    s.drain();
  };
  {
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    CHECK(!s.newest());
    for (const uint64_t step : {100, 200, 300, 400}) write(s, step);
    CHECK(s.steps() == std::vector<uint64_t>{200, 300, 400});
    CHECK(waiter.written.size() == 4);
  }
  const std::string root = dir.path() + "/shard-0";

  SECTION("the newest is taken up") {
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    CHECK(s.newest()->step == 400);
    CHECK(s.load(200).step == 200);
    CHECK_THROWS_WITH(s.load(250), Contains("there is no snapshot of step 250"));
  }
  SECTION("a damaged one is named and the one before taken") {
    flip_byte(root + "/step-000000000400/values", 3);
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    CHECK(s.newest()->step == 300);
    CHECK_THAT(quiet.pipe.read(), Contains("the snapshot of step 400 cannot be used"));
    CHECK(s.steps() == std::vector<uint64_t>{200, 300});  // it is not offered any more
    for (const char* step : {"200", "300"})
      flip_byte(root + "/step-000000000" + step + "/values", 3);
    CHECK_THROWS_WITH(s.newest(), Contains("none of the snapshots in"));
  }
  SECTION("one whose use finds damage counts as damaged") {
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    std::vector<uint64_t> tried;
    const auto use = [&](uint64_t good, Error::Kind kind) {
      tried.clear();
      return s.restore([&](Snapshot found) {
        tried.push_back(found.step);
        require(found.step == good, kind, "no rows");
      });
    };
    CHECK_THROWS_WITH(use(0, Error::Kind::data), Contains("none of the snapshots in"));
    CHECK(s.steps() == std::vector<uint64_t>{200, 300, 400});  // all stay for whoever looks at them
    CHECK_THROWS_WITH(use(300, Error::Kind::config), Contains("no rows"));  // no damage
    CHECK(tried == std::vector<uint64_t>{400});
    CHECK(use(300, Error::Kind::data));
    CHECK(tried == std::vector<uint64_t>{400, 300});
    CHECK(s.steps() == std::vector<uint64_t>{200, 300});
    CHECK_THAT(quiet.pipe.read(), Contains("the snapshot of step 400 cannot be used: no rows"));
  }
  SECTION("a copy of another one is set aside, whoever asks for it") {
    std::filesystem::remove_all(root + "/step-000000000400");
    std::filesystem::copy(root + "/step-000000000200", root + "/step-000000000400",
                          std::filesystem::copy_options::recursive);
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    CHECK_THROWS_WITH(s.load(400), Contains("step-000000000400' is that of step 200"));
    CHECK(s.newest()->step == 300);
    CHECK(is_directory(root + "/step-000000000400.damaged"));
    CHECK(s.steps() == std::vector<uint64_t>{200, 300});
    CHECK_THAT(quiet.pipe.read(), Contains("somebody copied or renamed it"));
  }
  SECTION("what was not finished does not count") {
    std::filesystem::create_directory(root + "/step-000000000500");
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    CHECK(s.newest()->step == 400);
  }
  SECTION("those of a past that was given up go") {
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    s.remove_after(300);
    s.drain();
    CHECK(s.steps() == std::vector<uint64_t>{200, 300});
  }
  SECTION("a job that has ended is not taken up, and the next one removes it") {
    {
      Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
      CHECK(!s.ended());
      s.mark_ended({.job = "night", .program = "abc", .trainers = 3});
    }  // what was asked for is done first
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    CHECK(!s.newest());
    const auto ended = s.ended();
    REQUIRE(ended);
    CHECK(ended->job == "night");
    CHECK(ended->program == "abc");
    CHECK(ended->trainers == 3);
    CHECK(ended->seconds_ago < 60);
    CHECK(is_directory(root + "/step-000000000400"));
    s.begin_job();
    s.drain();
    CHECK(!is_directory(root + "/step-000000000400"));
    CHECK(!s.ended());
    write(s, 0);
    CHECK(s.newest()->step == 0);
  }
  SECTION("two processes may not share a directory") {
    Snapshots s({dir.path(), 100, 3}, "shard-0", waiter.report());
    CHECK(in_child([&] {
            try {
              Snapshots second({dir.path(), 100, 3}, "shard-0", waiter.report());
            } catch (const Error& e) {
              const bool told =
                  std::string(e.what()).find("is in use by another pserver") != std::string::npos;
              return told && e.kind() == Error::Kind::config ? 0 : 51;
            }
            return 50;
          }) == 0);
    Snapshots other({dir.path(), 100, 3}, "shard-1", waiter.report());
  }
}

TEST_CASE("a full disk leaves the old snapshot and training alone", "[pserver]") {
  QuietLog quiet;
  const SmallDisk disk("300k");
  if (!disk.mounted()) return;
  std::optional<RunningShard> shard(std::in_place, ShardOptions{.snapshots = {disk.path(), 1, 3}});
  Client a(shard->port());
  a.greet({.trainers = 1});
  REQUIRE(a.provide(small_job({.sizes = {50000}})).type == Body::Ack);  // 200 kB each
  a.join();
  const auto g = gradients(0, 0, 0, 50000);
  for (uint64_t step = 0; step < 3; ++step) CHECK(a.await(a.push(10, step, g)).version == step + 1);
  Answer s;
  CHECK(a.until([&] {
    s = a.status();
    return !s.errors.empty();
  }));
  CHECK_THAT(s.errors[0], Contains("there is no snapshot of step") && Contains("space") &&
                              Contains("training goes on"));
  CHECK(s.snapshots == std::vector<uint64_t>{0});
  CHECK(a.await(a.push(10, 3, g)).version == 4);
  shard.reset();
  Snapshots left({disk.path(), 1, 3}, "shard-0", [](uint64_t, const std::string&) {});
  CHECK(left.newest()->step == 0);
}

TEST_CASE("a shard returns from its snapshot", "[pserver]") {
  const QuietLog quiet;
  const TemporaryDirectory dir;
  const SmallJob job =
      small_job({.rule = "adam", .sizes = {5, 700}, .trainers = 2, .decays = true});
  const ShardOptions options{.snapshots = {dir.path(), 2, 3}};
  const auto step = [](Client& a, Client& b, uint64_t n, uint64_t epoch) {
    std::vector<float> out;
    for (uint32_t s = 0; s < 2; ++s) {
      const int64_t size = s == 0 ? 5 : 700;
      a.push(10 + s, n, gradients(0, n, s, size), {.epoch = epoch});
      const Answer r = b.await(b.push(10 + s, n, gradients(1, n, s, size), {.epoch = epoch}));
      REQUIRE(r.type == Body::Values);
      for (const float v : r.values()) out.push_back(v);
    }
    return out;
  };
  std::vector<std::vector<float>> undisturbed;
  {
    RunningShard shard;
    Client a(shard.port()), b(shard.port());
    a.greet({.trainer = 0});
    b.greet({.trainer = 1});
    a.provide(job);
    a.join();
    b.join();
    for (uint64_t n = 0; n < 7; ++n) undisturbed.push_back(step(a, b, n, 0));
  }
  auto shard = std::make_unique<RunningShard>(options);
  auto a = std::make_unique<Client>(shard->port()), b = std::make_unique<Client>(shard->port());
  a->greet({.trainer = 0});
  b->greet({.trainer = 1});
  a->provide(job);
  a->join();
  b->join();
  for (uint64_t n = 0; n < 5; ++n) CHECK((step(*a, *b, n, 0) == undisturbed[n]));

  SECTION("after it was stopped, at the step where it stood") {
    shard = std::make_unique<RunningShard>();  // ends the other one
    shard = std::make_unique<RunningShard>(options);
    a = std::make_unique<Client>(shard->port());
    b = std::make_unique<Client>(shard->port());
    const Answer w = a->greet({.trainer = 0});
    CHECK(w.state == wire::ShardState::ready);
    CHECK(w.versions == std::vector<uint64_t>{5, 5});
    CHECK(w.snapshots == std::vector<uint64_t>{2, 4, 5});
    CHECK(w.has_place);
    CHECK(w.place_step == 4);
    CHECK(w.record == 50);
    Client other(shard->port());
    CHECK(other.greet({.trainer = 1, .program = "x"}).failed(Code::refused));
    b->greet({.trainer = 1});
    CHECK(a->join(5).type == Body::Ack);
    CHECK(b->join(5).type == Body::Ack);
    for (uint64_t n = 5; n < 7; ++n) CHECK((step(*a, *b, n, 0) == undisturbed[n]));
  }
  SECTION("and goes back when it is asked to") {
    CHECK(a->until([&] { return a->status().snapshots == std::vector<uint64_t>{0, 2, 4}; }));
    CHECK(a->await(a->rollback(1, 3)).failed(Code::unknown_version));
    const uint64_t open = b->push(10, 5, gradients(1, 5, 0, 5));
    CHECK(a->await(a->rollback(1, 2)).type == Body::Ack);
    CHECK(b->await(open).failed(Code::stale_epoch));
    CHECK(b->await(b->rollback(1, 2)).type == Body::Ack);  // the same again
    CHECK(b->await(b->rollback(1, 0)).failed(Code::stale_epoch));
    CHECK(a->status().snapshots == std::vector<uint64_t>{0, 2});
    CHECK(a->join(2, 1).type == Body::Ack);
    CHECK(b->join(2, 1).type == Body::Ack);
    for (uint64_t n = 2; n < 7; ++n) CHECK((step(*a, *b, n, 1) == undisturbed[n]));
  }
}

TEST_CASE("a shard that stops between two steps ends the step first", "[pserver]") {
  const QuietLog quiet;
  const TemporaryDirectory dir;
  const ShardOptions options{.snapshots = {dir.path(), 100, 3}};
  std::vector<float> last;
  {
    RunningShard shard(options);
    Client a(shard.port());
    a.greet({.trainers = 1});
    a.provide(small_job({.sizes = {5, 6}}));
    a.join();
    CHECK(a.await(a.push(10, 0, gradients(0, 0, 0, 5))).version == 1);
    std::thread stopping([&] { shard.stop(); });
    CHECK(a.until([&] { return a.join().failed(Code::stopping); }));
    // The faster slice takes nothing more, the slower one what it lacks.
    CHECK(a.await(a.push(10, 1, gradients(0, 1, 0, 5))).failed(Code::stopping));
    last = a.await(a.push(11, 0, gradients(0, 0, 1, 6))).values();
    stopping.join();
  }
  RunningShard shard(options);
  Client a(shard.port());
  const Answer w = a.greet({.trainers = 1});
  CHECK(w.versions == std::vector<uint64_t>{1, 1});
  CHECK((a.await(a.pull(11, 1)).values() == last));
}

TEST_CASE("async snapshots remember which steps are in them", "[pserver]") {
  const QuietLog quiet;
  const TemporaryDirectory dir;
  const ShardOptions options{.snapshots = {dir.path(), 3, 2}};
  const std::vector<float> ones(5, 1.0f);
  {
    RunningShard shard(options);
    Client a(shard.port());
    a.greet({.trainer = 0, .mode = wire::Mode::async});
    a.provide(small_job({.sizes = {5}, .trainers = 2, .rate = 1}));
    a.join();
    for (uint64_t n = 0; n < 4; ++n) a.await(a.push(10, n, ones, {.based_on = n}));
    CHECK(a.until([&] { return a.status().snapshots == std::vector<uint64_t>{0, 3}; }));
  }
  RunningShard shard(options);
  Client a(shard.port());
  const Answer w = a.greet({.trainer = 0, .mode = wire::Mode::async});
  CHECK(w.versions == std::vector<uint64_t>{4});
  CHECK(w.last_steps == std::vector<uint64_t>{4});
  a.join();
  CHECK(a.await(a.push(10, 3, ones)).version == 4);  // is in it already
  CHECK(a.await(a.push(10, 4, ones, {.based_on = 4})).version == 5);
}
