#include "paddle/status_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "base/machine_memory.h"
#include "base/wrap.h"
#include "obs/progress.h"
#include "obs/totals.h"
#include "paddle/text_table.h"

namespace paddle {
namespace {

constexpr size_t most_slices = 40;
using Row = TextRow;

std::string number(double v, const char* format = "%.4g") {
  char out[48];
  std::snprintf(out, sizeof out, format, v);
  return out;
}

std::string size_text(double bytes) { return memory_text(static_cast<uint64_t>(bytes)); }

// What the pserver holds in all its shards, of what it may hold.
std::string held_text(const ShardStatus& s) {
  return memory_text(s.memory_held) +
         (s.memory_limit > 0 ? " of " + memory_text(s.memory_limit) : "");
}

std::string shard_name(const ShardStatus& shard, size_t index) {
  return text(shard.sparse ? "sparse " : "dense ", index);
}

// Names of shards count dense and sparse ones apart, as trainers do.
std::vector<std::string> names_of(std::span<const ShardStatus> shards) {
  std::vector<std::string> names;
  size_t dense = 0, sparse = 0;
  for (const ShardStatus& s : shards) names.push_back(shard_name(s, s.sparse ? sparse++ : dense++));
  return names;
}

std::string shard_table(std::span<const ShardStatus> shards, const std::vector<std::string>& names,
                        std::span<const ShardStatus> before, double seconds) {
  std::vector<Row> rows;
  for (size_t i = 0; i < shards.size(); ++i) {
    const ShardStatus& s = shards[i];
    if (!s.answered()) {
      rows.push_back({names[i], s.endpoint, "unreachable: " + s.problem});
      continue;
    }
    double in = static_cast<double>(s.bytes_in), out = static_cast<double>(s.bytes_out),
           time = s.uptime;
    if (i < before.size() && before[i].instance == s.instance && seconds > 0) {
      in -= static_cast<double>(before[i].bytes_in);
      out -= static_cast<double>(before[i].bytes_out);
      time = seconds;
    }
    time = std::max(time, 1e-3);
    uint64_t bytes = 0;
    for (const SliceStatus& slice : s.slices) bytes += slice.bytes;
    for (const wire::TableStatus& t : s.tables) bytes += t.bytes;
    // There may be more shards than slices.
    const bool counts = !s.slices.empty() || !s.tables.empty();
    rows.push_back({names[i], s.endpoint, name_of(s.state), counts ? std::to_string(s.step) : "",
                    counts ? rate_text(s.steps_per_second) : "", std::to_string(s.slices.size()),
                    size_text(static_cast<double>(bytes)), held_text(s),
                    size_text(in / time) + "/s", size_text(out / time) + "/s",
                    number(s.cpu_seconds, "%.1f s"), duration_text(s.uptime)});
  }
  return text_table({"SHARD", "ENDPOINT", "STATE", "STEP", "STEPS/S", "SLICES", "BYTES",
                     "PSERVER HOLDS", "IN", "OUT", "CPU", "UP"},
                    rows);
}

std::string of(uint64_t n, uint64_t all) { return all > 0 ? text(n, "/", all) : std::to_string(n); }

// "2 + 2 messages, 40.0 KiB + 39.9 KiB": what a step moved to and from the shards since `before`;
// "" where there was no step.
std::string traffic_text(const MemberStatus& t, std::span<const MemberStatus> before) {
  for (const MemberStatus& b : before) {
    if (b.trainer != t.trainer || t.step <= b.step || t.messages_in <= b.messages_in) continue;
    const auto steps = static_cast<double>(t.step - b.step);
    const auto each = [&](uint64_t now, uint64_t then) {
      return static_cast<double>(now - then) / steps;
    };
    return number(each(t.messages_in, b.messages_in), "%.3g") + " + " +
           number(each(t.messages_out, b.messages_out), "%.3g") + " messages, " +
           size_text(each(t.bytes_in, b.bytes_in)) + " + " +
           size_text(each(t.bytes_out, b.bytes_out));
  }
  return "";
}

std::string trainer_table(std::span<const MemberStatus> trainers,
                          std::span<const MemberStatus> before, bool async) {
  std::vector<Row> rows;
  for (const MemberStatus& t : trainers) {
    const wire::Progress& p = t.progress;
    const bool progress = p.passes > 0;
    Row row{std::to_string(t.trainer),
            t.state + " " + duration_text(t.seconds),
            std::to_string(t.step),
            progress ? of(std::min(p.pass + 1, p.passes), p.passes) : "",
            progress ? of(p.batch, p.batches) : "",
            progress && p.samples > 0 ? number(p.cost) : "",
            progress && p.samples > 0 ? rate_text(p.rate) : ""};
    if (async) row.push_back(text(t.staleness_max, " (", number(t.staleness_mean, "%.1f"), ")"));
    row.push_back(traffic_text(t, before));
    row.push_back(t.dropped + t.not_finite == 0 ? "0" : text(t.dropped, "+", t.not_finite));
    row.push_back(t.process);
    row.push_back(p.error.empty() ? p.state : "FAILS: " + p.error);
    rows.push_back(std::move(row));
  }
  Row head{"TRAINER", "STATE", "STEP", "PASS", "BATCH", "COST", "SAMPLES/S"};
  if (async) head.push_back("LAG MAX (MEAN)");
  head.insert(head.end(), {"TO + FROM SHARDS, A STEP", "REFUSED", "PROCESS", "DOING"});
  return text_table(head, rows);
}

std::string slice_table(std::span<const ShardStatus> shards,
                        const std::vector<std::string>& names) {
  std::vector<Row> rows;
  size_t all = 0;
  for (size_t i = 0; i < shards.size(); ++i)
    for (const SliceStatus& s : shards[i].slices)
      if (all++ < most_slices)
        rows.push_back({s.name, names[i], size_text(static_cast<double>(s.bytes)),
                        std::to_string(s.version), s.waiting});
  std::string out = text_table({"SLICE", "SHARD", "BYTES", "VERSION", "LACKS TRAINER"}, rows);
  if (all > most_slices)
    out.replace(out.size() - 1, 1, text("… and ", all - most_slices, " more; --json has all\n\n"));
  return out;
}

std::string rows_table(std::span<const ShardStatus> shards, const std::vector<std::string>& names) {
  std::vector<Row> rows;
  for (size_t i = 0; i < shards.size(); ++i)
    for (const wire::TableStatus& t : shards[i].tables)
      rows.push_back({t.name, text(t.part + 1, "/", t.parts), names[i], std::to_string(t.rows),
                      size_text(static_cast<double>(t.bytes)), std::to_string(t.version),
                      std::to_string(t.created), std::to_string(t.not_admitted),
                      std::to_string(t.expired), std::to_string(t.evicted), t.waiting});
  return rows.empty() ? ""
                      : text_table({"TABLE", "PART", "SHARD", "ROWS", "BYTES", "VERSION", "CREATED",
                                    "NOT ADMITTED", "EXPIRED", "EVICTED", "LACKS TRAINER"},
                                   rows);
}

// Of the first shard, which adds the trainers' counts up.
std::string totals_line(std::span<const ShardStatus> shards) {
  for (const ShardStatus& s : shards)
    if (s.answered() && s.totals.trainers > 0)
      return one_line(totals_text(totals_event(s.totals))) + "\n\n";
  return "";
}

// "trainer 0 found 83 % of the rows of its batches in its cache, which has 10234 rows (at most …)"
std::string cache_notes(std::span<const MemberStatus> trainers) {
  std::string out;
  for (const MemberStatus& t : trainers) {
    const wire::Progress& p = t.progress;
    if (p.cache_bytes == 0) continue;
    const auto all = static_cast<double>(std::max<uint64_t>(p.cache_hits + p.cache_misses, 1));
    out += text("trainer ", t.trainer, ": ",
                number(100 * static_cast<double>(p.cache_hits) / all, "%.1f"),
                " % of the rows of its batches were in its cache, which has ", p.cache_rows,
                " rows and may use ", memory_text(p.cache_bytes), "\n");
  }
  return out;
}

std::string notes(std::span<const ShardStatus> shards, const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < shards.size(); ++i) {
    const ShardStatus& s = shards[i];
    if (!s.waiting.empty()) out += names[i] + ": " + one_line(s.waiting) + "\n";
    if (!s.snapshots.empty())
      out += text(names[i], ": snapshots of ", s.snapshots.size(), " steps, the newest ",
                  s.snapshots.back(), "\n");
    for (const std::string& e : s.last_errors) out += names[i] + ": error: " + one_line(e) + "\n";
  }
  return out;
}

}  // namespace

std::string status_tables(std::span<const ShardStatus> shards, std::span<const ShardStatus> before,
                          double seconds) {
  const std::vector<std::string> names = names_of(shards);
  std::string head;
  bool async = false;
  size_t answered = 0;
  for (const ShardStatus& s : shards) {
    if (!s.answered()) continue;
    ++answered;
    async = async || s.mode != wire::Mode::sync;
    if (head.empty() && !s.job.empty())
      head = text("job ", one_line(s.job), ", ", name_of(s.mode), ", epoch ", s.epoch, ", ");
  }
  head += text(answered, " of ", shards.size(), " shards answer\n\n");
  std::string out = head + shard_table(shards, names, before, seconds) +
                    trainer_table(trainers_of(shards), trainers_of(before), async) +
                    totals_line(shards) + slice_table(shards, names) + rows_table(shards, names) +
                    cache_notes(trainers_of(shards)) + notes(shards, names);
  while (out.size() > 1 && out[out.size() - 1] == '\n' && out[out.size() - 2] == '\n')
    out.pop_back();
  return out;
}

}  // namespace paddle
