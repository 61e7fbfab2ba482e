#include <catch2/catch.hpp>

#include "base/error.h"
#include "paddle/feed.h"
#include "paddle/status_watch.h"

using namespace paddle;
using Catch::Contains;

namespace live_page_test {

const Time start{std::chrono::seconds(100)};
std::string point(int step) { return text("{\"event\": \"progress\", \"step\": ", step, "}"); }

TEST_CASE("a browser gets every line once, and one that comes later all of them", "[paddle]") {
  Feed feed;
  Feed::Cursor first, second;
  feed.put("{\"event\": \"joined\"}");
  CHECK(feed.since(first, start) == "data: {\"event\": \"joined\"}\n\n");
  CHECK(feed.since(first, start).empty());
  feed.put(point(1));
  feed.set_status("{}\n");
  CHECK(feed.since(first, start) == "data: " + point(1) + "\n\nevent: status\ndata: {}\n\n");
  feed.set_status("{}\n");
  CHECK_THAT(feed.since(second, start), Contains("joined") && Contains("progress"));
}

TEST_CASE("a line break cannot make a second event", "[paddle]") {
  Feed feed;
  Feed::Cursor cursor;
  feed.put("{\"a\": 1}\n\nevent: status");
  CHECK(feed.since(cursor, start).empty());
}

TEST_CASE("a job of weeks keeps a bounded number of lines", "[paddle]") {
  Feed feed({.progress = 100, .others = 50});
  feed.put("{\"event\": \"first\"}");
  for (int i = 0; i < 10'000; ++i) feed.put(point(i));
  std::string lines = feed.lines();
  CHECK(std::count(lines.begin(), lines.end(), '\n') <= 102);
  CHECK_THAT(lines, Contains("first") && Contains(point(9'999)));
  for (int i = 0; i < 1'000; ++i) feed.put(text("{\"event\": \"warning\", \"n\": ", i, "}"));
  lines = feed.lines();
  CHECK(std::count(lines.begin(), lines.end(), '\n') <= 152);
  CHECK_THAT(lines, Contains("\"n\": 999}") && !Contains("first"));
}

TEST_CASE("what tells of the model does not push out the rest", "[paddle]") {
  Feed feed({.progress = 100, .others = 50, .ops = 20, .parameters = 10});
  feed.put("{\"event\": \"joined\"}");
  for (int i = 0; i < 1'000; ++i) {
    feed.put(text("{\"event\": \"parameter\", \"n\": ", i, "}"));
    feed.put(text("{\"event\": \"op\", \"n\": ", i, "}"));
  }
  const std::string lines = feed.lines();
  CHECK_THAT(lines, Contains("joined") && Contains("\"op\", \"n\": 999}"));
  CHECK_THAT(lines, Contains("\"parameter\", \"n\": 999}"));
  CHECK(std::count(lines.begin(), lines.end(), '\n') <= 1 + 20 + 10);
}

TEST_CASE("a long history comes in parts", "[paddle]") {
  Feed feed;
  Feed::Cursor cursor;
  for (int i = 0; i < 100; ++i) feed.put(point(i));
  std::string all;
  int calls = 0;
  for (std::string part; !(part = feed.since(cursor, start, 500)).empty(); ++calls) {
    CHECK(part.size() < 600);
    all += part;
  }
  CHECK(calls > 5);
  CHECK_THAT(all, Contains(point(0)) && Contains(point(99)));
}

TEST_CASE("whether somebody looks", "[paddle]") {
  Feed feed;
  Feed::Cursor cursor;
  CHECK_FALSE(feed.watched(start));
  feed.since(cursor, start);
  CHECK(feed.watched(start + std::chrono::seconds(2)));
  CHECK_FALSE(feed.watched(start + std::chrono::seconds(4)));
}

std::vector<ShardStatus> two_shards() {
  std::vector<ShardStatus> out(2);
  for (size_t i = 0; i < 2; ++i) {
    out[i].endpoint = text("h:", i);
    out[i].instance = 10 + i;
    MemberStatus m;
    m.state = "joined";
    m.process = "h:77";
    m.progress.step = 5;
    out[i].members = {m};
  }
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST_CASE("two looks at the shards show what has happened between them", "[paddle]") {
  StatusWatch watch({.progress = true});
  std::vector<ShardStatus> shards = two_shards();
  const std::string first = joined(watch.take(shards, 1));
  CHECK_THAT(first, Contains("trainer 0 (h:77) has joined") && Contains("\"event\": \"progress\""));
  CHECK(watch.take(shards, 2).empty());

  shards[1] = {};
  shards[1].endpoint = "h:1";
  shards[1].problem = "connection refused";
  CHECK_THAT(joined(watch.take(shards, 3)),
             Contains("pserver_lost") && Contains("h:1 does not answer: connection refused"));
  CHECK(watch.take(shards, 4).empty());

  shards = two_shards();
  shards[1].instance = 99;
  for (ShardStatus& s : shards) {
    s.epoch = 1;
    s.step = 3;
    s.snapshots = {3};
    s.members[0].state = "lost";
  }
  const std::string back = joined(watch.take(shards, 5));
  CHECK_THAT(back, Contains("pserver h:1 was started again"));
  CHECK_THAT(back, !Contains("h:0"));
  CHECK_THAT(back, Contains("went back to a snapshot, and is at step 3") &&
                       Contains("snapshot of step 3"));
  CHECK_THAT(back, Contains("trainer 0 (h:77) is lost"));
}

TEST_CASE("whose progress is taken from the shards", "[paddle]") {
  std::vector<ShardStatus> shards = two_shards();
  for (ShardStatus& s : shards)
    for (uint32_t trainer = 1; trainer < 4; ++trainer) {
      s.members.push_back(s.members[0]);
      s.members.back().trainer = trainer;
    }
  StatusWatch watch({.progress = true, .first_own = 1, .after_own = 3});
  const std::string lines = joined(watch.take(shards, 1));
  for (const auto& [trainer, taken] : {std::pair(0, true), {1, false}, {2, false}, {3, true}}) {
    const std::string words = text("\"trainer\": ", trainer, ", \"step\"");
    CHECK((lines.find(words) != std::string::npos) == taken);
  }
}

TEST_CASE("shards that are perhaps out of reach", "[paddle]") {
  std::vector<ShardStatus> away(2);
  for (size_t i = 0; i < 2; ++i) {
    away[i].endpoint = text("h:", i);
    away[i].problem = "no route to host";
  }
  StatusWatch watch({.perhaps_out_of_reach = true});
  CHECK(watch.take(away, 1).empty());
  CHECK_FALSE(watch.reached());
  CHECK_THAT(joined(watch.take(two_shards(), 2)), Contains("trainer 0 (h:77) has joined"));
  CHECK(watch.reached());
  CHECK_THAT(joined(watch.take(away, 3)), Contains("h:0 does not answer"));
  CHECK(StatusWatch(Watching{}).reached());
}

TEST_CASE("a snapshot counts when all shards have it", "[paddle]") {
  StatusWatch watch(Watching{});
  std::vector<ShardStatus> shards = two_shards();
  shards[0].snapshots = {100};
  CHECK_THAT(joined(watch.take(shards, 1)), !Contains("snapshot"));
  shards[1].snapshots = {50, 100};
  CHECK_THAT(joined(watch.take(shards, 2)), Contains("snapshot of step 100"));
}

}  // namespace live_page_test
