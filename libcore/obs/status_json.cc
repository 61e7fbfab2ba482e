#include <algorithm>
#include <map>

#include "base/error.h"
#include "obs/json.h"
#include "obs/shard_status.h"

namespace paddle {
namespace {

std::string json_of(const MemberStatus& t) {
  const wire::Progress& p = t.progress;
  return JsonObject()
      .add("id", t.trainer)
      .add("state", t.state)
      .add("seconds", t.seconds)
      .add("process", t.process)
      .add("step", t.step)
      .add("pass", p.pass)
      .add("passes", p.passes)
      .add("batch", p.batch)
      .add("batches", p.batches)
      .add("samples", p.samples)
      .add("samples_per_second", p.rate)
      .add("cost", p.cost)
      .add("doing", p.state)
      .add("error", p.error)
      .add("cache_hits", p.cache_hits)
      .add("cache_misses", p.cache_misses)
      .add("cache_rows", p.cache_rows)
      .add("cache_bytes", p.cache_bytes)
      .add("staleness_max", t.staleness_max)
      .add("staleness_mean", t.staleness_mean)
      .add("dropped", t.dropped)
      .add("not_finite", t.not_finite)
      .add("applied", t.applied)
      .add("joins", t.joins)
      .add("lacking", t.lacking)
      .raw("staleness", json_list(t.staleness, [](uint64_t n) { return json_value(n); }))
      .add("bytes_in", t.bytes_in)
      .add("bytes_out", t.bytes_out)
      .add("messages_in", t.messages_in)
      .add("messages_out", t.messages_out)
      .done();
}

std::string json_of(const SliceStatus& s) {
  return JsonObject()
      .add("name", s.name)
      .add("bytes", s.bytes)
      .add("version", s.version)
      .add("waiting", s.waiting)
      .done();
}

std::string json_of(const wire::TableStatus& t) {
  return JsonObject()
      .add("name", t.name)
      .add("part", t.part)
      .add("parts", t.parts)
      .add("version", t.version)
      .add("rows", t.rows)
      .add("bytes", t.bytes)
      .add("created", t.created)
      .add("not_admitted", t.not_admitted)
      .add("expired", t.expired)
      .add("evicted", t.evicted)
      .add("waiting", t.waiting)
      .add("pulled", t.pulled)
      .add("missed", t.missed)
      .done();
}

std::string json_of(const wire::Sums& s) {
  JsonObject evaluators;
  for (const wire::Number& n : s.evaluators) {
    const std::string key = json_value(n.name);
    evaluators.raw(std::string_view(key).substr(1, key.size() - 2), json_value(n.value));
  }
  return JsonObject()
      .add("samples", s.samples)
      .add("cost", s.cost)
      .raw("evaluators", evaluators.done())
      .done();
}

std::string json_of(const wire::Totals& t) {
  if (t.trainers == 0) return "null";
  return JsonObject()
      .add("trainers", t.trainers)
      .add("pass", t.pass)
      .add("batch", t.batch)
      .add("pass_ended", t.pass_ended)
      .raw("whole", json_of(t.whole))
      .add("first_batch", t.first_batch)
      .raw("period", t.period ? json_of(*t.period) : "null")
      .done();
}

std::string json_of(const ShardStatus& s) {
  JsonObject out;
  out.add("endpoint", s.endpoint).add("sparse", s.sparse).add("answered", s.answered());
  if (!s.answered()) return out.add("problem", s.problem).done();
  return out
      .add("instance", std::to_string(s.instance))  // 64 bits, which JSON readers may round
      .add("build", s.build)
      .add("job", s.job)
      .add("mode", name_of(s.mode))
      .add("state", name_of(s.state))
      .add("epoch", s.epoch)
      .add("step", s.step)
      .add("steps_per_second", s.steps_per_second)
      .add("uptime", s.uptime)
      .add("cpu_seconds", s.cpu_seconds)
      .add("bytes_in", s.bytes_in)
      .add("bytes_out", s.bytes_out)
      .add("messages_in", s.messages_in)
      .add("messages_out", s.messages_out)
      .add("memory", s.memory)
      .add("memory_held", s.memory_held)
      .add("memory_limit", s.memory_limit)
      .add("waiting", s.waiting)
      .add("snapshot_age", s.snapshot_age)
      .add("snapshots_written", s.snapshots_written)
      .add("snapshots_failed", s.snapshots_failed)
      .add("snapshot_seconds", s.snapshot_seconds)
      .add("snapshot_last", s.snapshot_last)
      .add("waiting_requests", s.waiting_requests)
      .add("queued_bytes", s.queued_bytes)
      .raw("totals", json_of(s.totals))
      .raw("trainers", json_list(s.members, [](const MemberStatus& t) { return json_of(t); }))
      .raw("slices", json_list(s.slices, [](const SliceStatus& slice) { return json_of(slice); }))
      .raw("tables", json_list(s.tables, [](const wire::TableStatus& t) { return json_of(t); }))
      .raw("snapshots", json_list(s.snapshots, [](uint64_t step) { return json_value(step); }))
      .raw("last_errors",
           json_list(s.last_errors, [](const std::string& e) { return json_value(e); }))
      .done();
}

}  // namespace

std::vector<MemberStatus> trainers_of(std::span<const ShardStatus> shards) {
  std::map<uint32_t, MemberStatus> by_id;
  std::map<uint32_t, double> shards_of;
  for (const ShardStatus& shard : shards)
    for (const MemberStatus& t : shard.members) {
      const auto [found, fresh] = by_id.emplace(t.trainer, t);
      shards_of[t.trainer] += 1;
      if (fresh) continue;
      MemberStatus& sum = found->second;
      if (("/" + sum.state + "/").find("/" + t.state + "/") == std::string::npos)
        sum.state += "/" + t.state;
      // The progress that the shard with the latest heartbeat has.
      const std::string error = sum.progress.error.empty() ? t.progress.error : sum.progress.error;
      if (t.progress.samples > sum.progress.samples) sum.progress = t.progress;
      sum.progress.error = error;  // the first one of any shard
      if (sum.process.empty()) sum.process = t.process;
      sum.seconds = std::min(sum.seconds, t.seconds);
      sum.step = std::max(sum.step, t.step);
      sum.staleness_max = std::max(sum.staleness_max, t.staleness_max);
      sum.staleness_mean += t.staleness_mean;
      sum.dropped += t.dropped;
      sum.not_finite += t.not_finite;
      sum.applied += t.applied;
      sum.joins = std::max(sum.joins, t.joins);
      sum.lacking += t.lacking;
      sum.staleness.resize(std::max(sum.staleness.size(), t.staleness.size()));
      for (size_t i = 0; i < t.staleness.size(); ++i) sum.staleness[i] += t.staleness[i];
      sum.bytes_in += t.bytes_in;
      sum.bytes_out += t.bytes_out;
      sum.messages_in += t.messages_in;
      sum.messages_out += t.messages_out;
    }
  std::vector<MemberStatus> out;
  for (auto& [id, t] : by_id) {
    t.staleness_mean /= shards_of[id];
    out.push_back(std::move(t));
  }
  return out;
}

std::string status_json(std::span<const ShardStatus> shards) {
  const std::vector<ShardStatus> all(shards.begin(), shards.end());
  return JsonObject()
             .raw("shards", json_list(all, [](const ShardStatus& s) { return json_of(s); }))
             .raw("trainers",
                  json_list(trainers_of(shards), [](const MemberStatus& t) { return json_of(t); }))
             .done() +
         "\n";
}

ShardBoard::ShardBoard(size_t shards) : shards_(shards), heard_(shards) {
  for (ShardStatus& s : shards_) s.problem = "it has not begun to serve yet";
}

void ShardBoard::set_endpoint(size_t shard, const std::string& endpoint) {
  const std::scoped_lock lock(mutex_);
  shards_[shard].endpoint = endpoint;
}

void ShardBoard::put(size_t shard, wire::Status status, Time now) {
  const std::scoped_lock lock(mutex_);
  std::swap(static_cast<wire::Status&>(shards_[shard]), status);  // the old one goes unlocked
  shards_[shard].problem.clear();
  heard_[shard] = now;
}

std::vector<ShardStatus> ShardBoard::all() const {
  const std::scoped_lock lock(mutex_);
  return shards_;
}

std::string ShardBoard::silent(double seconds, Time now) const {
  const std::scoped_lock lock(mutex_);
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (heard_[i] == Time{}) return text("shard ", shards_[i].endpoint, " has not begun to serve");
    if (const double silence = paddle::seconds(heard_[i], now); silence > seconds)
      return text("shard ", shards_[i].endpoint, " has not reported for ",
                  static_cast<int64_t>(silence), " s: its thread is busy or stuck");
  }
  return "";
}

}  // namespace paddle
