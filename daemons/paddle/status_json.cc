#include "obs/json.h"
#include "paddle/status_view.h"

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
      .add("staleness_max", t.staleness_max)
      .add("staleness_mean", t.staleness_mean)
      .add("dropped", t.dropped)
      .add("not_finite", t.not_finite)
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
      .raw("trainers", json_list(s.members, [](const MemberStatus& t) { return json_of(t); }))
      .raw("slices", json_list(s.slices, [](const SliceStatus& slice) { return json_of(slice); }))
      .raw("tables", json_list(s.tables, [](const wire::TableStatus& t) { return json_of(t); }))
      .raw("snapshots", json_list(s.snapshots, [](uint64_t step) { return json_value(step); }))
      .raw("last_errors",
           json_list(s.last_errors, [](const std::string& e) { return json_value(e); }))
      .done();
}

}  // namespace

std::string status_json(std::span<const ShardStatus> shards) {
  const std::vector<ShardStatus> all(shards.begin(), shards.end());
  return JsonObject()
             .raw("shards", json_list(all, [](const ShardStatus& s) { return json_of(s); }))
             .raw("trainers",
                  json_list(trainers_of(shards), [](const MemberStatus& t) { return json_of(t); }))
             .done() +
         "\n";
}

}  // namespace paddle
