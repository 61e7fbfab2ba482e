#include "obs/metrics.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "obs/exchange_times.h"

using namespace paddle;
using Catch::Contains;

namespace metrics_test {

ShardStatus example() {
  ShardStatus s;
  s.endpoint = "127.0.0.1:7164";
  s.job = "ctr";
  s.state = wire::ShardState::ready;
  s.step = 120;
  s.epoch = 2;
  s.bytes_in = 5'000'000'000;
  s.waiting = "waiting for trainer 1";
  wire::MemberStatus m;
  m.trainer = 1;
  m.state = "lost";
  m.applied = 240;
  m.not_finite = 3;
  m.joins = 4;
  m.lacking = 5;
  m.staleness = {10, 4, 1};
  m.staleness_mean = 0.4;
  s.members = {m};
  s.slices = {{"w.block0", 4096, 120, "1"}, {"b", 64, 120, ""}};
  wire::TableStatus t;
  t.name = "emb";
  t.rows = 7;
  t.expired = 4;
  t.pulled = 90;
  t.missed = 8;
  s.tables = {t};
  s.snapshots = {50, 100};
  s.snapshots_written = 2;
  s.snapshot_last = 0.25;
  return s;
}

TEST_CASE("metrics of a shard are its report", "[obs]") {
  const std::string text = shard_metrics({example()});
  CHECK_THAT(text, Contains("\npaddle_pserver_step{shard=\"127.0.0.1:7164\"} 120\n"));
  CHECK_THAT(text, Contains("# TYPE paddle_pserver_step gauge\n"));
  CHECK_THAT(text, Contains("received_bytes_total{shard=\"127.0.0.1:7164\"} 5000000000\n"));
  CHECK_THAT(text, Contains("rollbacks_total{shard=\"127.0.0.1:7164\"} 2\n"));
  CHECK_THAT(text, Contains("open_rounds{shard=\"127.0.0.1:7164\"} 1\n"));
  CHECK_THAT(text, Contains("slice_bytes{shard=\"127.0.0.1:7164\"} 4160\n"));
  CHECK_THAT(text, Contains("trainer_lost{shard=\"127.0.0.1:7164\",trainer=\"1\"} 1\n"));
  CHECK_THAT(text, Contains("applied_total{shard=\"127.0.0.1:7164\",trainer=\"1\"} 240\n"));
  CHECK_THAT(text, Contains("refused_total{shard=\"127.0.0.1:7164\",trainer=\"1\"} 3\n"));
  CHECK_THAT(text, Contains("table_rows{shard=\"127.0.0.1:7164\",table=\"emb\"} 7\n"));
  CHECK_THAT(text, Contains("snapshot_step{shard=\"127.0.0.1:7164\"} 100\n"));
  CHECK_THAT(text, Contains("trainer_joins_total{shard=\"127.0.0.1:7164\",trainer=\"1\"} 4\n"));
  CHECK_THAT(text, Contains("lacking_rounds{shard=\"127.0.0.1:7164\",trainer=\"1\"} 5\n"));
  CHECK_THAT(text, Contains("rows_pulled_total{shard=\"127.0.0.1:7164\",table=\"emb\"} 90\n"));
  CHECK_THAT(text, Contains("rows_missed_total{shard=\"127.0.0.1:7164\",table=\"emb\"} 8\n"));
  CHECK_THAT(text, Contains("snapshots_written_total{shard=\"127.0.0.1:7164\"} 2\n"));
  CHECK_THAT(text, Contains("snapshot_last_seconds{shard=\"127.0.0.1:7164\"} 0.25\n"));
  const std::string of = "{shard=\"127.0.0.1:7164\",trainer=\"1\"";
  CHECK_THAT(text, Contains("paddle_pserver_staleness_bucket" + of + ",le=\"0\"} 10\n"));
  CHECK_THAT(text, Contains("paddle_pserver_staleness_bucket" + of + ",le=\"1\"} 14\n"));
  CHECK_THAT(text, Contains("paddle_pserver_staleness_bucket" + of + ",le=\"+Inf\"} 15\n"));
  CHECK_THAT(text, Contains("paddle_pserver_staleness_sum" + of + "} 6\n"));
  CHECK_THAT(text, !Contains("snapshot_age_seconds"));  // none was written by this process
  CHECK(text.back() == '\n');
}

TEST_CASE("a shard that has not reported has no numbers", "[obs]") {
  ShardStatus s;
  s.problem = "not yet";
  CHECK_THAT(shard_metrics({s}), !Contains("paddle_pserver_step"));
}

TEST_CASE("every metric stands in one group, whatever the number of shards", "[obs]") {
  ShardStatus other = example();
  other.endpoint = "127.0.0.1:7165";
  const std::string text = shard_metrics({example(), other});
  std::set<std::string> seen;
  for (size_t at = 0; (at = text.find("# TYPE ", at)) != std::string::npos; ++at)
    CHECK(seen.insert(text.substr(at, text.find('\n', at) - at)).second);
  CHECK(seen.size() > 20);
}

TEST_CASE("labels are escaped", "[obs]") {
  Samples out("m");
  out.put({{"a", "x\"y\\z\nq"}}, 1.0);
  CHECK(out.lines() == "m{a=\"x\\\"y\\\\z\\nq\"} 1\n");
}

TEST_CASE("numbers that are not finite have their names", "[obs]") {
  Samples out("m");
  out.put(std::nan(""));
  out.put(std::numeric_limits<double>::infinity());
  out.put(-std::numeric_limits<double>::infinity());
  out.put(0.1);
  CHECK(out.lines() == "m NaN\nm +Inf\nm -Inf\nm 0.1\n");
}

TEST_CASE("a histogram counts up to each bound, and everything", "[obs]") {
  TimeHistogram h;
  for (const uint64_t ns : {0ull, 8'000ull, 8'001ull, 16'000ull, 1'000'000ull, 60'000'000'000ull})
    h.observe(ns);
  Samples out("t");
  out.put(h.values());
  CHECK_THAT(out.lines(), Contains("t_bucket{le=\"8e-06\"} 2\n"));
  CHECK_THAT(out.lines(), Contains("t_bucket{le=\"1.6e-05\"} 4\n"));
  CHECK_THAT(out.lines(), Contains("t_bucket{le=\"0.001024\"} 5\n"));
  CHECK_THAT(out.lines(), Contains("t_bucket{le=\"16.777216\"} 5\n"));
  CHECK_THAT(out.lines(), Contains("t_bucket{le=\"+Inf\"} 6\n"));
  CHECK_THAT(out.lines(), Contains("t_count 6\n"));
  CHECK_THAT(out.lines(), Contains("t_sum 60.001032001\n"));
}

TEST_CASE("of a Python script steps are known, and what it feeds and fetches", "[obs]") {
  TrainerReport r;
  take_event(r, event::Started{"0.1.0", "j", ""});
  take_event(r, event::Progress{.step = 7, .cost = std::nan("")});
  CHECK_THAT(trainer_metrics(r), Contains("paddle_trainer_step 7\n"));
  CHECK_THAT(trainer_metrics(r), !Contains("paddle_trainer_cost"));
  CHECK_THAT(trainer_metrics(r), !Contains("paddle_trainer_samples"));
  take_event(r, event::Progress{.step = 8, .samples = 64, .samples_per_second = 5, .cost = 0.5});
  CHECK_THAT(trainer_metrics(r), Contains("paddle_trainer_cost 0.5\n"));
  CHECK_THAT(trainer_metrics(r), Contains("paddle_trainer_samples 64\n"));
  CHECK_THAT(trainer_metrics(r), Contains("paddle_trainer_samples_per_second 5\n"));
  CHECK_THAT(trainer_metrics(r), !Contains("paddle_trainer_passes"));
  take_event(r, event::Progress{.step = 9, .cost = std::nan("")});  // it diverges
  CHECK_THAT(trainer_metrics(r), Contains("paddle_trainer_cost NaN\n"));
}

TEST_CASE("metrics of a trainer follow its events", "[obs]") {
  TrainerReport r;
  take_event(r, event::Started{"0.1.0", "j\"b", "job.json"});
  take_event(r, event::Joined{1, 2, 30});
  take_event(r, event::Waiting{"waiting for trainer 0"});
  CHECK_THAT(trainer_metrics(r), Contains("paddle_trainer_waiting 1\n"));
  take_event(
      r,
      event::Progress{
          .trainer = 1, .step = 40, .samples = 400, .cost = 0.5, .evaluators = {{"error", 0.25}}});
  take_event(r, event::RolledBack{1, 40, 35});
  take_event(r, event::Warning{"w"});
  const std::string text = trainer_metrics(r);
  CHECK_THAT(text, Contains("paddle_trainer_waiting 0\n"));
  CHECK_THAT(text, Contains("paddle_trainer_step 35\n"));
  CHECK_THAT(text, Contains("paddle_trainer_cost 0.5\n"));
  CHECK_THAT(text, Contains("paddle_trainer_evaluator{evaluator=\"error\"} 0.25\n"));
  CHECK_THAT(text, Contains("paddle_trainer_rollbacks_total 1\n"));
  CHECK_THAT(text, Contains("paddle_trainer_warnings_total 1\n"));
  CHECK_THAT(text, Contains("job_name=\"j\\\"b\""));
  CHECK_THAT(text, !Contains("test_cost"));  // nothing was tested
  CHECK_THAT(trainer_json(r),
             Contains("\"step\": 35") && Contains("\"evaluators\": {\"error\": 0.25}"));
}

TEST_CASE("a shard whose thread is stuck is named", "[obs]") {
  ShardBoard board(2);
  const Time start{std::chrono::seconds(1000)};
  const auto after = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  board.set_endpoint(0, "h:1");
  board.set_endpoint(1, "h:2");
  CHECK_THAT(board.silent(10, start), Contains("h:1 has not begun"));
  board.put(0, {}, start);
  CHECK_THAT(board.silent(10, start), Contains("h:2 has not begun"));
  CHECK(board.all()[0].answered());
  CHECK_FALSE(board.all()[1].answered());
  board.put(1, {}, start);
  CHECK(board.silent(10, after(9)).empty());
  board.put(1, {}, after(9));
  CHECK_THAT(board.silent(10, after(11)), Contains("h:1 has not reported for 11 s"));
  board.put(0, {}, after(11));
  CHECK(board.silent(10, after(12)).empty());
}

TEST_CASE("the kernel's numbers of this process", "[obs]") {
  const ProcessReport r = process_report();
  CHECK(r.resident_bytes > 1 << 20);
  CHECK(r.open_descriptors >= 3);
  CHECK(r.max_descriptors >= r.open_descriptors);
  CHECK(r.threads >= 1);
  CHECK(r.start_time > 1.6e9);
}

TEST_CASE("names of metrics keep to the conventions", "[obs]") {
  const auto check = [](const std::string& name, MetricType type) {
    INFO(name);
    CHECK(name.ends_with("_total") == (type == MetricType::counter));
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos);
  };
  for (const auto& row : shard_rows()) check(row.name, row.type);
  for (const auto& row : trainer_rows()) check(row.name, row.type);
  for (const auto& row : process_rows()) check(row.name, row.type);
}

}  // namespace metrics_test
