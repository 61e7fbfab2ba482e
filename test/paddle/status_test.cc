#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "paddle/shard_status.h"
#include "paddle/status_view.h"
#include "wire/connection.h"
#include "wire/listener.h"

using namespace paddle;
using Catch::Contains;

namespace {

ShardStatus shard(const std::string& endpoint) {
  ShardStatus s;
  s.endpoint = endpoint;
  s.instance = 1;
  s.job = "ctr";
  s.mode = wire::Mode::sync;
  s.state = wire::ShardState::ready;
  s.step = 120;
  s.uptime = 61;
  s.bytes_in = 61 << 20;
  MemberStatus t;
  t.state = "joined";
  t.process = "host:7";
  t.step = 120;
  t.progress.pass = 2;
  t.progress.passes = 10;
  t.progress.samples = 5;
  t.progress.cost = 0.25;
  t.not_finite = 1;
  s.members = {t};
  s.slices = {{"fc.w_0.block0", 4096, 120, "1"}};
  return s;
}

// Answers as a shard does.
class FakeShard : public wire::Handler {
 public:
  explicit FakeShard(bool refuses) : refuses_(refuses), listener_(io_, "127.0.0.1", 0) {
    listener_.accept([this](std::unique_ptr<wire::Stream> stream) {
      connections_.push_back(wire::Connection::start(std::move(stream), *this, true));
    });
    thread_ = std::thread([this] { io_.run(); });
  }
  ~FakeShard() override {
    asio::post(io_, [this] {
      listener_.stop();
      for (auto& connection : connections_) connection->close("the test is over");
    });
    thread_.join();
  }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(listener_.port()); }

  wire::Landing land(wire::Connection&, const wire::Message&, uint64_t) override {
    return wire::Landing::discard();
  }
  void handle(wire::Connection& from, wire::Message& message, uint64_t) override {
    const bool greets = std::holds_alternative<wire::Hello>(message.body);
    if (greets && refuses_)
      from.send(message.id, wire::Failure{wire::FailureCode::refused, "not today"});
    else if (greets)
      from.send(message.id, wire::Welcome{});
    else
      from.send(message.id, status());
    from.flush();
  }
  void closed(wire::Connection&, const std::string&) override {}

 private:
  static wire::Status status() {
    return {.instance = 5,
            .build = "0.1",
            .job = "ctr",
            .mode = wire::Mode::geo,
            .state = wire::ShardState::ready,
            .epoch = 2,
            .uptime = 30,
            .step = 9,
            .steps_per_second = 0.3,
            .bytes_in = 100,
            .bytes_out = 200,
            .cpu_seconds = 1.5,
            .members = {{.trainer = 1,
                         .state = "joined",
                         .process = "host:8",
                         .seconds = 4,
                         .step = 9,
                         .progress = {.step = 9,
                                      .pass = 2,
                                      .passes = 10,
                                      .batch = 3,
                                      .batches = 50,
                                      .samples = 600,
                                      .rate = 12.5,
                                      .cost = 0.75,
                                      .state = "training"},
                         .staleness_max = 3,
                         .staleness_mean = 1.5}},
            .slices = {{"w", 64, 9, "trainer 0"}},
            .snapshots = {4, 8},
            .last_errors = {"trainer 0 sent NaN"},
            .waiting = "trainer 0"};
  }

  const bool refuses_;
  asio::io_context io_{1};
  wire::Listener listener_;
  std::vector<std::shared_ptr<wire::Connection>> connections_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("shards are asked", "[paddle]") {
  const FakeShard good(false), refusing(true);
  const std::vector<ShardStatus> shards =
      ask_shards({{good.endpoint(), "127.0.0.1:1"}, {refusing.endpoint()}}, 5);
  REQUIRE(shards.size() == 3);
  CHECK(shards[0].answered());
  CHECK(shards[0].mode == wire::Mode::geo);
  CHECK(shards[0].state == wire::ShardState::ready);
  CHECK(shards[0].waiting == "trainer 0");
  CHECK(shards[0].snapshots == std::vector<uint64_t>{4, 8});
  CHECK(shards[0].last_errors == std::vector<std::string>{"trainer 0 sent NaN"});
  REQUIRE(shards[0].members.size() == 1);
  CHECK(shards[0].members[0].progress.cost == 0.75);
  CHECK(shards[0].members[0].staleness_mean == 1.5);
  REQUIRE(shards[0].slices.size() == 1);
  CHECK(shards[0].slices[0].version == 9);
  CHECK_THAT(shards[1].problem, Contains("127.0.0.1:1"));
  CHECK(shards[2].problem == "not today");
  CHECK(shards[2].sparse);
}

TEST_CASE("a shard that says nothing does not hold up the others", "[paddle]") {
  asio::io_context io(1);
  const wire::Listener silent(io, "127.0.0.1", 0);  // the kernel accepts, nothing answers
  const std::vector<ShardStatus> shards =
      ask_shards({{"127.0.0.1:" + std::to_string(silent.port())}, {}}, 0.2);
  CHECK(shards[0].problem == "no answer in time");
}

TEST_CASE("tables of the status", "[paddle]") {
  std::vector<ShardStatus> shards{shard("a:1"), shard("b:1")};
  shards[1].members[0].state = "lost";
  shards[1].waiting = "waiting for trainer 1";
  shards[1].last_errors = {"something"};

  SECTION("show shards, trainers, slices and waits") {
    const std::string look = status_tables(shards, {}, 0);
    CHECK_THAT(look, Contains("job ctr, sync, epoch 0, 2 of 2 shards answer"));
    CHECK_THAT(look, Contains("dense 1  b:1       ready  120"));
    CHECK_THAT(look, Contains("1.0 MiB/s") && Contains("1:01"));
    CHECK_THAT(look, Contains("joined/lost") && Contains("3/10") && Contains("0+2"));
    CHECK_THAT(look, Contains("fc.w_0.block0  dense 0  4.0 KiB  120      1"));
    CHECK_THAT(look, Contains("dense 1: waiting for trainer 1\ndense 1: error: something\n"));
  }
  SECTION("rates are those since the last look") {
    std::vector<ShardStatus> before = shards;
    before[0].bytes_in -= 4 << 20;
    CHECK_THAT(status_tables(shards, before, 2), Contains("2.0 MiB/s") && Contains("0 B/s"));
  }
  SECTION("what a step moves is that since the last look") {
    std::vector<ShardStatus> before = shards;
    CHECK_THAT(status_tables(shards, before, 2), !Contains("messages,"));
    for (ShardStatus& s : shards) {
      s.members[0].step += 10;
      s.members[0].messages_in += 10;
      s.members[0].messages_out += 10;
      s.members[0].bytes_in += 10 * 1536;
      s.members[0].bytes_out += 10 * 1024;
    }
    CHECK_THAT(status_tables(shards, before, 2), Contains("2 + 2 messages, 3.0 KiB + 2.0 KiB"));
  }
  SECTION("of shards that do not answer") {
    shards[0] = {};
    shards[0].endpoint = "a:1";
    shards[0].problem = "cannot connect to a:1: refused";
    CHECK_THAT(status_tables(shards, {}, 0),
               Contains("1 of 2 shards answer") &&
                   Contains("dense 0  a:1       unreachable: cannot connect"));
  }
  SECTION("a shard without slices has no step") {
    shards[1].slices.clear();
    shards[1].step = 0;
    CHECK_THAT(status_tables(shards, {}, 0),
               Contains("dense 1  b:1       ready                 0"));
  }
  SECTION("hold no control characters of others") {
    shards[0].job = "ctr\x1b[2J";
    shards[0].members[0].process = "a:1\x1b]0;title\a";
    shards[0].members[0].progress.state = "one\ntwo";
    shards[0].slices[0].name = "w\x1b[31m";
    shards[1].waiting = "waiting\rfor";
    shards[1].last_errors = {"some\x1bthing"};
    std::string look = status_tables(shards, {}, 0);
    std::erase(look, '\n');
    CHECK(std::none_of(look.begin(), look.end(), [](unsigned char c) { return c < ' '; }));
    CHECK_THAT(look, Contains("one two") && Contains("waiting for"));
  }
  SECTION("of many slices show the first") {
    shards[0].slices.assign(100, {"w", 1, 1, ""});
    CHECK_THAT(status_tables(shards, {}, 0), Contains("… and 61 more; --json has all"));
  }
}

TEST_CASE("JSON of the status", "[paddle]") {
  std::vector<ShardStatus> shards{shard("a:1"), {}};
  shards[1].problem = "gone";
  shards[0].last_errors = {"a \"quote\"\n\x01 \xff é"};
  shards[0].members[0].progress.cost = 0.0 / 0.0;
  const std::string json = status_json(shards);
  CHECK(json.back() == '\n');
  CHECK(std::count(json.begin(), json.end(), '\n') == 1);
  CHECK_THAT(json, Contains(R"("endpoint": "a:1", "sparse": false, "answered": true)"));
  CHECK_THAT(json, Contains(R"(["a \"quote\"\u000a\u0001 )"
                            "\xEF\xBF\xBD é\"]"));
  CHECK_THAT(json, Contains(R"("cost": null)"));
  CHECK_THAT(json, Contains(R"("answered": false, "problem": "gone")"));
}

TEST_CASE("parts of sparse tables are shown with their rows and counters", "[status]") {
  ShardStatus s = shard("h:1");
  s.tables = {{.name = "emb",
               .part = 0,
               .parts = 2,
               .version = 9,
               .rows = 1234,
               .bytes = 1 << 20,
               .created = 1300,
               .not_admitted = 7,
               .expired = 66,
               .evicted = 0,
               .waiting = "1"}};
  const std::vector<ShardStatus> all{s};
  CHECK_THAT(status_tables(all, {}, 0),
             Contains("TABLE") && Contains("emb") && Contains("1/2") && Contains("1234"));
  CHECK_THAT(status_json(all), Contains("\"not_admitted\": 7") && Contains("\"expired\": 66"));
}
