// A variable of a program: what is known of it before it has a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/table_spec.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace paddle {

// Values as in saved models (VarType.Type).
enum class VarKind : int32_t {
  lod_tensor = 7,
  selected_rows = 8,
  feed_minibatch = 9,
  fetch_list = 10,
  step_scopes = 11,
  lod_rank_table = 12,
  lod_tensor_array = 13,
  place_list = 14,
  reader = 15,
  raw = 17,
};

struct Regularizer {
  enum class Kind { none, l1, l2 };
  Kind kind = Kind::none;
  float coeff = 0;
  bool operator==(const Regularizer&) const = default;
};

struct GradientClip {
  enum class Kind { none, value, norm, global_norm };
  Kind kind = Kind::none;
  float max = 0, min = 0;               // value; norm and global_norm use max as the norm
  std::string group = "default_group";  // global_norm: parameters clipped together
  bool operator==(const GradientClip&) const = default;
};

// What makes a variable a parameter.
struct ParamInfo {
  bool trainable = true;
  float learning_rate = 1;  // factor on the optimizer's
  Regularizer regularizer;  // overrides the optimizer's
  GradientClip clip;
  bool model_average = true;
  // It is a sparse table, and this is how its rows are kept; what the ops of the program say (the
  // update, first values) is not filled in.
  std::optional<TableSpec> table = {};
  bool operator==(const ParamInfo&) const = default;
};

struct Var {
  std::string name;
  VarKind kind = VarKind::lod_tensor;
  DType dtype = DType::f32;
  Shape shape;
  int32_t lod_level = 0;
  bool persistable = false;
  bool stop_gradient = false;
  bool need_check_feed = false;
  std::optional<ParamInfo> param;
  // Not "": the sparse table (the name of its parameter) that keeps the values of this parameter or
  // state, so the variable never has memory of its own. Not saved.
  std::string table = {};
  std::string foreign;  // the saved record, where it says more than the fields above (a reader's
                        // parts, a type that we do not know): carried along

  bool operator==(const Var&) const = default;
};

}  // namespace paddle
