// A sparse table of a program: all that whoever keeps its rows, a shard or the process itself, has
// to know. Plain values, found in the program's ops by the cut or, without pservers, by the plan.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace paddle {

struct TableSpec {
  std::string param, grad;  // W of the lookups, and its gradient
  int64_t width = 0;        // values per row
  int64_t height = -1;      // ids are below this; -1: any 64-bit number is an id

  // The update: the type of an optimizer op, its attributes by name, first values of its states by
  // the names of the states, and the decay of the rows that an update touches.
  std::string rule = "sgd";
  std::vector<std::pair<std::string, float>> settings;
  float l2 = 0;
  // The variable with the learning rate of a step, among those that all shards share; "" where the
  // rule takes none. The rate of the table is this times rate_factor.
  std::string learning_rate;
  float rate_factor = 1;

  // First values: a function of the id. "constant" (a), "uniform" (a to b), "normal" and
  // "truncated_normal" (mean a, deviation b).
  std::string init = "constant";
  float init_a = 0, init_b = 0;
  uint64_t seed = 0;
  // The first values are those of the startup program instead, and are sent to the shards once.
  bool first_values_sent = false;

  bool bf16 = false;       // rows in 16 bits; state stays in 32
  bool bf16_wire = false;  // rows and gradients travel in 16 bits

  // Which ids get a row, and which rows go: docs/tables.md.
  uint32_t admit_count = 0;
  float admit_probability = 1;
  uint32_t expire_unseen_steps = 0, expire_half_life = 0;
  float expire_min_score = 0;
  uint64_t expire_floor = 0;
  uint64_t memory_limit = 0;  // bytes of one shard's part; 0 = none
  bool evict = false;

  bool operator==(const TableSpec&) const = default;
};

}  // namespace paddle
