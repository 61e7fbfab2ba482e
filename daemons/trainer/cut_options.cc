#include "trainer/cut_options.h"

namespace paddle {

TranspileOptions cut_options(const Options& options, const Cluster& cluster) {
  return {.trainer_id = cluster.trainer_id,
          .trainers = cluster.trainers,
          .endpoints = cluster.dense,
          .sync = cluster.mode == TrainMode::sync,
          .geo = cluster.mode == TrainMode::geo,
          .slice_var_up = options.flag("slice_var_up"),
          .min_block_size = options.integer("min_block_size"),
          .split = split_method_of(options.text("split_method")),
          .tables = true};
}

JobCut cut_program(const Program& main, const Program& startup, const Options& options,
                   const Cluster& cluster) {
  TranspileOptions how = cut_options(options, cluster);
  Cut cut = transpile(main, startup, how);
  if (!cut.trainer.tables.empty() && !cluster.sparse.empty()) {
    how.sparse_endpoints = cluster.sparse;
    cut = transpile(main, startup, how);
  }
  return {std::move(cut), all_endpoints(how)};
}

}  // namespace paddle
