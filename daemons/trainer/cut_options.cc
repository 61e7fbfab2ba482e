#include "trainer/cut_options.h"

namespace paddle {

TranspileOptions cut_options(const Options& options, const Cluster& cluster) {
  return {.trainer_id = cluster.trainer_id,
          .trainers = cluster.trainers,
          .endpoints = cluster.dense,
          .sync = cluster.mode == TrainMode::sync,
          .slice_var_up = options.flag("slice_var_up"),
          .min_block_size = options.integer("min_block_size"),
          .split = split_method_of(options.text("split_method"))};
}

}  // namespace paddle
