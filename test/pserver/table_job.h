// A shard with a part of a sparse table, two trainers, and what the rows must be: a table that is
// driven by plain calls.
#pragma once

#include <random>

#include "exec/table_store.h"
#include "pserver/plain_shard.h"
#include "table/row_sum.h"

namespace paddle::table_test {

constexpr uint32_t table_id = 20;
using Ids = std::vector<uint64_t>;
using Floats = std::vector<float>;

inline TableSpec spec_of(const std::string& rule = "adagrad", int64_t width = 3) {
  TableSpec s{.param = "emb", .grad = "emb@GRAD", .width = width};
  s.rule = rule;
  s.learning_rate = "rate";
  s.init = "uniform";
  s.init_a = -0.5f;
  s.init_b = 0.5f;
  s.seed = 7;
  return s;
}

inline SmallJob table_job(const TableSpec& spec, const SmallJobOptions& options = {},
                          uint32_t part = 0, uint32_t parts = 1) {
  SmallJob job = small_job(options);
  job.config.tables.push_back({.id = table_id, .part = part, .parts = parts, .spec = spec});
  return job;
}

// Distinct ids of a trainer in a step; some are everybody's, some its own, and sometimes none.
inline Ids ids_of(uint32_t trainer, uint64_t step) {
  Ids out;
  if ((trainer + step) % 4 == 3) return out;
  for (uint64_t i = 0; i < 6; ++i)
    out.push_back(i % 2 == 0 ? i * 1000003 + step % 3 : 77 + trainer * 100 + i + step);
  std::shuffle(out.begin(), out.end(), std::mt19937_64(trainer * 31 + step));
  return out;
}

inline Floats grads_of(uint32_t trainer, uint64_t step, const Ids& ids, int64_t width = 3) {
  Floats out;
  for (const uint64_t id : ids)
    for (int64_t j = 0; j < width; ++j)
      out.push_back(gradient(trainer, step, static_cast<size_t>(id % 97), j));
  return out;
}

// What `trainers` make of a table in so many steps of sync training, by plain calls.
class Reference {
 public:
  explicit Reference(const TableSpec& spec, float rate = 0.125f)
      : table_(table_options(spec)), sum_(spec.width), rate_(rate), width_(spec.width) {}
  const Table& table() const { return table_; }
  void step(uint64_t step, const std::vector<uint32_t>& trainers) {
    Ids ids;
    Floats grads;
    if (trainers.size() == 1) {
      ids = ids_of(trainers[0], step);
      grads = grads_of(trainers[0], step, ids, width_);
    } else {
      for (const uint32_t t : trainers) {
        const Ids of = ids_of(t, step);
        sum_.add(of, grads_of(t, step, of, width_).data());
      }
      sum_.take(1.0f / static_cast<float>(trainers.size()), ids, grads);
    }
    table_.push(ids, grads.data(), rate_, step);
  }
  Floats pull(const Ids& ids) const {
    Floats out(ids.size() * static_cast<size_t>(width_));
    table_.pull(ids, out.data());
    return out;
  }

 private:
  Table table_;
  RowSum sum_;
  float rate_;
  int64_t width_;
};

inline const Ids looked_at = {0, 1, 2, 2000006, 2000007, 4000012, 78, 79, 80, 178, 180, 181, 9999};

// A shard with two trainers that have joined.
struct Two {
  explicit Two(const SmallJob& job, wire::Mode mode = wire::Mode::sync, ShardOptions options = {},
               MemoryDisk* disk = nullptr)
      : shard(std::move(options), disk) {
    for (uint32_t t = 0; t < 2; ++t) peers[t] = shard.greet(t, 2, mode);
    shard.configure(peers[0], job);
    REQUIRE(shard.last_reply().is<wire::Ack>());
    for (const PeerId p : peers) shard.say(p, wire::Join{0, 0});
  }
  uint64_t push(uint32_t trainer, uint64_t step, uint64_t epoch = 0) {
    const Ids ids = ids_of(trainer, step);
    return shard.push_rows(peers[trainer], table_id, step, ids, grads_of(trainer, step, ids),
                           epoch);
  }
  // The dense slice has to go on as well, or a snapshot is never complete.
  uint64_t push_slice(uint32_t trainer, uint64_t step) {
    return shard.push(peers[trainer], step, {{10, gradients(trainer, step, 0, 5)}});
  }
  Floats pull(uint32_t trainer, uint64_t version, const Ids& ids) {
    shard.pull_rows(peers[trainer], table_id, version, ids);
    return shard.last_reply().values();
  }
  PlainShard shard;
  PeerId peers[2];
};

}  // namespace paddle::table_test
