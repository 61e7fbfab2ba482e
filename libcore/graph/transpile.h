// The cut: a program that trains is divided into a trainer half, which computes gradients, and one
// half per dense shard of the pservers, which updates slices of the parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/backward.h"
#include "graph/program.h"

namespace paddle {

enum class SplitMethod {
  by_bytes,     // the slice goes to the shard that holds the fewest bytes
  round_robin,  // Fluid's: one after the other
  hash_name,    // by a hash of the slice's name, the same in every process
};
// "bytes", "round_robin", "hash"; throws Error(config) for another word.
SplitMethod split_method_of(std::string_view word);

struct TranspileOptions {
  uint32_t trainer_id = 0;
  uint32_t trainers = 1;
  Names endpoints = {"127.0.0.1:6174"};  // "host:port", one per dense shard
  Names sparse_endpoints = {};    // one per sparse shard; without any, dense shards keep tables too
  bool sync = true;               // gradients of a step meet in a round
  bool geo = false;               // trainers run the whole program, and shards add differences
  bool slice_var_up = true;       // false: a parameter stays in one piece
  int64_t min_block_size = 8192;  // elements of the smallest slice
  SplitMethod split = SplitMethod::by_bytes;
  // Sparse parameters become tables (find_tables.h); false: dense slices like the others.
  bool tables = false;
};

// Dense ones first: what shard numbers count.
Names all_endpoints(const TranspileOptions& options);

// A run of whole rows of one parameter. Its id is its place in Cut::slices.
struct SliceSpec {
  std::string param, grad;  // as the program that was cut names them
  std::string name;         // "fc_0.w_0", or "fc_0.w_0.block1" where there are several
  std::string merged_grad;  // the variable of the pserver half that the update reads
  Names states;             // of the pserver half: what the update keeps, accumulators
  int32_t param_index = 0;  // place of the parameter in Cut::params
  int32_t index = 0;        // place among the slices of this parameter
  DType dtype = DType::f32;
  int64_t first_row = 0;
  Shape shape;        // of the slice: [rows, …]
  size_t shard = 0;   // index into the endpoints
  int32_t block = 0;  // of the shard's program: the ops that update it

  int64_t elements() const { return shape.numel(); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(size_of(dtype)); }
  // Where the slice begins in the parameter, in elements.
  int64_t first_element() const { return first_row * shape.product(1, shape.rank()); }
};

struct Cut {
  std::vector<ParamGrad> params;  // in order of placement; send and recv name them by index
  std::vector<SliceSpec> slices;  // parameter after parameter
  // Fluid's form: send, send_barrier, recv, fetch_barrier; geo: the program that was cut, its
  // tables taken.
  Program trainer;
  Program trainer_startup;        // the startup program, but for geo with Fluid's receives
  std::vector<Program> pservers;  // one per endpoint, dense ones first; block 0: listen_and_serv
  std::vector<Program> startups;  // of the pservers: first values of what their programs keep
  // Which shards keep the tables of `trainer`: indices into the endpoints, dense ones first. The
  // row of an id is in part shard_of(id, table_shards.size()), which the shard of that place keeps.
  std::vector<size_t> table_shards;
  // Of each of these tables: the variables of the program that was cut which its update took.
  std::vector<std::map<std::string, std::string>> table_inputs;
  Names shared;  // what every pserver half keeps a copy of: learning rates, the step counter
  std::vector<std::string> notes;  // sentences: where the cut is not what one might expect
};

// Cuts what minimize() made; the halves of the pservers are the same whatever the trainer's id.
// A parameter whose update needs the whole gradient (a clip by norm) stays in one piece; sparse
// gradients of parameters that are no tables become dense ones; Cut::notes names both. Throws
// Error(config) for what cannot be cut: no optimizer, a program that is half of a cut already, a
// clip by the global norm of several parameters, an update rule that is defined on sparse gradients
// only.
Cut transpile(const Program& main, const Program& startup, const TranspileOptions& options);

// The placement for people: one row per shard with slices, bytes and share of the mean, then the
// imbalance, and a line for shards that hold nothing.
std::string placement_table(const Cut& cut, const Names& endpoints);

}  // namespace paddle
