// Layers: functions that append ops to a program. Each takes names of variables and returns the
// name(s) of its result; names of parameters and temporaries, defaults and emitted ops are Fluid's,
// so that saved models fit. A layer's `name` (where it has one) replaces "fc_0" in the names that
// it makes. Errors are Error(config) with the op, its variables and their shapes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "layers/activations.h"
#include "layers/builder.h"

namespace paddle {

// One name, or several.
struct Inputs {
  Names names;
  Inputs() = default;
  Inputs(const char* one) : names{one} {}
  Inputs(std::string one) : names{std::move(one)} {}
  Inputs(Names many) : names(std::move(many)) {}
  Inputs(std::initializer_list<std::string> many) : names(many) {}
};

// ---- Input ------------------------------------------------------------------------------------

struct DataOptions {
  bool append_batch_size = true;  // puts -1 in front, unless some length is negative already
  DType dtype = DType::f32;
  int32_t lod_level = 0;
  bool stop_gradient = true;
};
// A variable that is fed. Keeps its name.
std::string data(const Builder& b, const std::string& name, const Shape& shape,
                 const DataOptions& options = {});

// ---- Layers with parameters -------------------------------------------------------------------

struct FcOptions {
  int num_flatten_dims = 1;
  ParamAttr param_attr = {}, bias_attr = {};
  std::vector<ParamAttr> param_attrs = {};  // one per input, instead of param_attr for all
  std::string act = {}, name = {};
};
// act(sum of input_i * w_i + b): mul per input, sum of several, elementwise_add, act.
std::string fc(const Builder& b, const Inputs& input, int64_t size, const FcOptions& options = {});

struct EmbeddingOptions {
  bool is_sparse = false;       // the gradient holds only the rows that were used
  bool is_distributed = false;  // the parameter is a sparse table: rows by id, of any number
  TableSpec table = {};         // of a sparse table: how its rows are kept
  std::optional<int64_t> padding_idx = {};  // this id gives zeros; negative counts from the end
  ParamAttr param_attr = {};
  DType dtype = DType::f32;
};
// Rows of a table [height, width] by ids [..., 1].
std::string embedding(const Builder& b, const std::string& input, const Shape& size,
                      const EmbeddingOptions& options = {});

using Pair = std::array<int32_t, 2>;  // height and width

struct Conv2dOptions {
  Pair stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int32_t groups = 1;
  ParamAttr param_attr = {}, bias_attr = {};
  std::string act = {}, name = {};
};
// input [N, C, H, W]
std::string conv2d(const Builder& b, const std::string& input, int32_t num_filters,
                   Pair filter_size, const Conv2dOptions& options = {});

struct BatchNormOptions {
  std::string act = {};
  bool is_test = false;
  float momentum = 0.9f, epsilon = 1e-5f;
  ParamAttr param_attr = {}, bias_attr = {};
  std::string data_layout = "NCHW";
  std::string name = {}, moving_mean_name = {}, moving_variance_name = {};
  bool use_global_stats = false;
};
std::string batch_norm(const Builder& b, const std::string& input,
                       const BatchNormOptions& options = {});

struct LayerNormOptions {
  bool scale = true, shift = true;
  int begin_norm_axis = 1;
  float epsilon = 1e-5f;
  ParamAttr param_attr = {}, bias_attr = {};
  std::string act = {}, name = {};
};
std::string layer_norm(const Builder& b, const std::string& input,
                       const LayerNormOptions& options = {});

struct CreateParameterOptions {
  DType dtype = DType::f32;
  std::string name = {};
  ParamAttr attr = {};
  bool is_bias = false;
  bool is_distributed = false;  // a sparse table, which only lookups may read
};
// x where x > 0, else alpha * x. mode: "all" (one alpha), "channel" or "element". By default alpha
// starts with 0.25.
std::string prelu(const Builder& b, const std::string& x, const std::string& mode,
                  const ParamAttr& param_attr = {}, const std::string& name = {});

std::string create_parameter(const Builder& b, const Shape& shape,
                             const CreateParameterOptions& options = {});

struct NceOptions {
  ParamAttr param_attr = {}, bias_attr = {};
  std::string sample_weight = {};  // a variable; "" = every row counts alike
  int32_t num_neg_samples = 10;
  std::string name = {};
  std::string sampler = "uniform";  // or "log_uniform"
  int32_t seed = 0;                 // 0 = that of the program
  bool is_sparse = false;
};
// Noise-contrastive estimation: the cost of each row, divided by num_neg_samples + 1.
std::string nce(const Builder& b, const std::string& input, const std::string& label,
                int64_t num_total_classes, const NceOptions& options = {});

struct SampledSoftmaxOptions {
  int32_t num_true = 1;  // classes of a row
  bool remove_accidental_hits = true;
  int32_t seed = 0;  // 0 = that of the program
};
// softmax_with_cross_entropy over each row's own classes and num_samples that are drawn.
std::string sampled_softmax_with_cross_entropy(const Builder& b, const std::string& logits,
                                               const std::string& label, int32_t num_samples,
                                               const SampledSoftmaxOptions& options = {});

struct HsigmoidOptions {
  ParamAttr param_attr = {}, bias_attr = {};
  std::string name = {};
  bool is_sparse = false;
};
// The cost of each row's class in a binary tree of classes.
std::string hsigmoid(const Builder& b, const std::string& input, const std::string& label,
                     int64_t num_classes, const HsigmoidOptions& options = {});

struct SequenceConvOptions {
  int32_t filter_size = 3, filter_stride = 1;
  std::optional<int32_t> padding_start = {};
  ParamAttr param_attr = {}, bias_attr = {};
  std::string act = {}, name = {};
};
std::string sequence_conv(const Builder& b, const std::string& input, int64_t num_filters,
                          const SequenceConvOptions& options = {});

struct DataNormOptions {
  std::string act = {};
  float epsilon = 1e-5f;
  float batch_size = 1e4f, batch_sum = 0, batch_square_sum = 1e4f;  // at the start
  std::string name = {};
};
std::string data_norm(const Builder& b, const std::string& input,
                      const DataNormOptions& options = {});

// ---- Layers without parameters ----------------------------------------------------------------

struct Pool2dOptions {
  Pair pool_size = {-1, -1};
  std::string pool_type = "max";  // or "avg"
  Pair pool_stride = {1, 1}, pool_padding = {0, 0};
  bool global_pooling = false, ceil_mode = false, exclusive = true;
  std::string name = {};
};
std::string pool2d(const Builder& b, const std::string& input, const Pool2dOptions& options);

struct DropoutOptions {
  bool is_test = false;
  std::optional<int32_t> seed = {};
  std::string name = {};
  std::string dropout_implementation = "downgrade_in_infer";  // or "upscale_in_train"
};
std::string dropout(const Builder& b, const std::string& x, float dropout_prob,
                    const DropoutOptions& options = {});

struct SequencePoolOptions {
  bool is_test = false;
  float pad_value = 0;
};
// pool_type: average, sum, sqrt, max, last or first.
std::string sequence_pool(const Builder& b, const std::string& input, const std::string& pool_type,
                          const SequencePoolOptions& options = {});
std::string sequence_first_step(const Builder& b, const std::string& input);
std::string sequence_last_step(const Builder& b, const std::string& input);
// Softmax over each sequence; input [rows, 1].
std::string sequence_softmax(const Builder& b, const std::string& input,
                             const std::string& name = {});
// Repeats each sequence (or row) of x as often as y says at its level ref_level (-1 = the last).
std::string sequence_expand(const Builder& b, const std::string& x, const std::string& y,
                            int32_t ref_level = -1, const std::string& name = {});

// ---- Losses and metrics -----------------------------------------------------------------------

std::string mean(const Builder& b, const std::string& x, const std::string& name = {});
std::string square_error_cost(const Builder& b, const std::string& input, const std::string& label);

struct CrossEntropyOptions {
  bool soft_label = false;
  int32_t ignore_index = -100;
};
// Of probabilities.
std::string cross_entropy(const Builder& b, const std::string& input, const std::string& label,
                          const CrossEntropyOptions& options = {});

struct SoftmaxWithCrossEntropyOptions {
  bool soft_label = false;
  int32_t ignore_index = -100;
  bool numeric_stable_mode = true;
  int32_t axis = -1;
};
struct LossAndSoftmax {
  std::string loss, softmax;
};
LossAndSoftmax softmax_with_cross_entropy(const Builder& b, const std::string& logits,
                                          const std::string& label,
                                          const SoftmaxWithCrossEntropyOptions& options = {});

struct SigmoidCrossEntropyOptions {
  int32_t ignore_index = -100;
  std::string name = {};
  bool normalize = false;
};
std::string sigmoid_cross_entropy_with_logits(const Builder& b, const std::string& x,
                                              const std::string& label,
                                              const SigmoidCrossEntropyOptions& options = {});
std::string log_loss(const Builder& b, const std::string& input, const std::string& label,
                     float epsilon = 1e-4f, const std::string& name = {});
std::string huber_loss(const Builder& b, const std::string& input, const std::string& label,
                       float delta);

// Share of rows whose label is among the k largest.
std::string accuracy(const Builder& b, const std::string& input, const std::string& label,
                     int32_t k = 1, const std::string& correct = {}, const std::string& total = {});

struct AucOptions {
  std::string curve = "ROC";
  int32_t num_thresholds = 4095;
  int32_t slide_steps = 1;
};
struct Auc {
  std::string auc, batch_auc;  // since the start, and over the last slide_steps batches
  Names states;                // batch_stat_pos, batch_stat_neg, stat_pos, stat_neg
};
Auc auc(const Builder& b, const std::string& input, const std::string& label,
        const AucOptions& options = {});

// ---- Arithmetic -------------------------------------------------------------------------------

// op: add, sub, mul, div, max, min, pow, mod, floordiv. y is laid along x from dimension `axis`
// (-1 = at the end).
struct ElementwiseOptions {
  int32_t axis = -1;
  std::string act = {}, name = {};
};
std::string elementwise(const Builder& b, const std::string& op, const std::string& x,
                        const std::string& y, const ElementwiseOptions& options = {});
std::string elementwise_add(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_sub(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_mul(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_div(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_max(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_min(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_pow(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_mod(const Builder& b, const std::string& x, const std::string& y,
                            const ElementwiseOptions& options = {});
std::string elementwise_floordiv(const Builder& b, const std::string& x, const std::string& y,
                                 const ElementwiseOptions& options = {});

struct MatmulOptions {
  bool transpose_x = false, transpose_y = false;
  float alpha = 1;
  std::string name = {};
};
std::string matmul(const Builder& b, const std::string& x, const std::string& y,
                   const MatmulOptions& options = {});

struct MulOptions {
  int32_t x_num_col_dims = 1, y_num_col_dims = 1;
  std::string name = {};
};
std::string mul(const Builder& b, const std::string& x, const std::string& y,
                const MulOptions& options = {});

struct ScaleOptions {
  float scale = 1, bias = 0;
  bool bias_after_scale = true;
  std::string act = {}, name = {};
};
std::string scale(const Builder& b, const std::string& x, const ScaleOptions& options);
std::string clip(const Builder& b, const std::string& x, float min, float max,
                 const std::string& name = {});
std::string clip_by_norm(const Builder& b, const std::string& x, float max_norm,
                         const std::string& name = {});
std::string sum(const Builder& b, const Inputs& x);
std::string sums(const Builder& b, const Inputs& input, const std::string& out = {});

// op: sum, mean, max, min, prod. Without `dim` over everything, to [1].
struct ReduceOptions {
  std::vector<int32_t> dim = {};
  bool keep_dim = false;
  std::string name = {};
};
std::string reduce(const Builder& b, const std::string& op, const std::string& input,
                   const ReduceOptions& options = {});
std::string reduce_sum(const Builder& b, const std::string& input,
                       const ReduceOptions& options = {});
std::string reduce_mean(const Builder& b, const std::string& input,
                        const ReduceOptions& options = {});
std::string reduce_max(const Builder& b, const std::string& input,
                       const ReduceOptions& options = {});
std::string reduce_min(const Builder& b, const std::string& input,
                       const ReduceOptions& options = {});
std::string reduce_prod(const Builder& b, const std::string& input,
                        const ReduceOptions& options = {});
// op: less_than, less_equal, greater_than, greater_equal, equal, not_equal. Into `out` where given.
std::string compare(const Builder& b, const std::string& op, const std::string& x,
                    const std::string& y, const std::string& out = {});
struct LogicalOptions {
  std::string out = {}, name = {};
};
// op: logical_and, logical_or, logical_xor; of two variables of type bool.
std::string logical(const Builder& b, const std::string& op, const std::string& x,
                    const std::string& y, const LogicalOptions& options = {});
std::string logical_not(const Builder& b, const std::string& x, const LogicalOptions& options = {});
// True, shape [1], where no element of x is infinite or NaN.
std::string isfinite(const Builder& b, const Inputs& x);

// ---- Shapes and types -------------------------------------------------------------------------

std::string concat(const Builder& b, const Inputs& input, int32_t axis = 0,
                   const std::string& name = {});
// Into `num` equal parts, or into parts of the given lengths.
Names split(const Builder& b, const std::string& input, int32_t num, int32_t dim = -1,
            const std::string& name = {});
Names split(const Builder& b, const std::string& input, const Ints& sections, int32_t dim = -1,
            const std::string& name = {});
// 0 keeps a length, -1 (once) takes what is left.
std::string reshape(const Builder& b, const std::string& x, const Ints& shape,
                    const std::string& act = {}, const std::string& name = {});
std::string transpose(const Builder& b, const std::string& x, const Ints& perm,
                      const std::string& name = {});
std::string slice(const Builder& b, const std::string& input, const Ints& axes, const Ints& starts,
                  const Ints& ends);
std::string squeeze(const Builder& b, const std::string& input, const Ints& axes,
                    const std::string& name = {});
std::string unsqueeze(const Builder& b, const std::string& input, const Ints& axes,
                      const std::string& name = {});
std::string flatten(const Builder& b, const std::string& x, int32_t axis = 1,
                    const std::string& name = {});
std::string stack(const Builder& b, const Inputs& x, int32_t axis = 0);
std::string expand(const Builder& b, const std::string& x, const Ints& expand_times,
                   const std::string& name = {});
std::string gather(const Builder& b, const std::string& input, const std::string& index);
std::string cast(const Builder& b, const std::string& x, DType dtype);
std::string assign(const Builder& b, const std::string& input, const std::string& output = {});
std::string one_hot(const Builder& b, const std::string& input, int32_t depth);
// The lengths as a tensor of int32.
std::string shape_of(const Builder& b, const std::string& input);
// Of a sparse gradient: repeated rows added up; the values as a dense tensor.
std::string merge_selected_rows(const Builder& b, const std::string& x,
                                const std::string& name = {});
std::string get_tensor_from_selected_rows(const Builder& b, const std::string& x,
                                          const std::string& name = {});

struct TopK {
  std::string values, indices;
};
TopK topk(const Builder& b, const std::string& input, int32_t k, const std::string& name = {});
std::string argmax(const Builder& b, const std::string& x, int32_t axis = 0);
std::string argmin(const Builder& b, const std::string& x, int32_t axis = 0);

// ---- Values from nothing ----------------------------------------------------------------------

std::string fill_constant(const Builder& b, const Shape& shape, DType dtype, float value,
                          const std::string& out = {});
struct BatchSizeLikeOptions {
  int32_t input_dim_idx = 0, output_dim_idx = 0;
};
std::string fill_constant_batch_size_like(const Builder& b, const std::string& input,
                                          const Shape& shape, DType dtype, float value,
                                          const BatchSizeLikeOptions& options = {});
// Given elements, in row-major order; dtype float32 or int32.
std::string assign_value(const Builder& b, const Shape& shape, DType dtype, const Floats& values,
                         const std::string& out = {});
std::string zeros_like(const Builder& b, const std::string& x, const std::string& out = {});
std::string zeros(const Builder& b, const Shape& shape, DType dtype = DType::f32);
std::string ones(const Builder& b, const Shape& shape, DType dtype = DType::f32);
struct GlobalVarOptions {
  bool persistable = false;
  std::string name = {};
};
std::string create_global_var(const Builder& b, const Shape& shape, float value, DType dtype,
                              const GlobalVarOptions& options = {});
std::string increment(const Builder& b, const std::string& x, float value = 1,
                      bool in_place = true);
struct UniformOptions {
  DType dtype = DType::f32;
  float min = -1, max = 1;
  int32_t seed = 0;
};
std::string uniform_random(const Builder& b, const Shape& shape,
                           const UniformOptions& options = {});
struct GaussianOptions {
  float mean = 0, std = 1;
  int32_t seed = 0;
  DType dtype = DType::f32;
};
std::string gaussian_random(const Builder& b, const Shape& shape,
                            const GaussianOptions& options = {});
// The same with one length taken from `input`, as fill_constant_batch_size_like does.
std::string uniform_random_batch_size_like(const Builder& b, const std::string& input,
                                           const Shape& shape, const UniformOptions& options,
                                           const BatchSizeLikeOptions& batch = {});
std::string gaussian_random_batch_size_like(const Builder& b, const std::string& input,
                                            const Shape& shape, const GaussianOptions& options,
                                            const BatchSizeLikeOptions& batch = {});

// ---- Nets: layers made of layers --------------------------------------------------------------

struct ImgConvPoolOptions {
  Pair pool_padding = {0, 0};
  std::string pool_type = "max";
  bool global_pooling = false;
  Pair conv_stride = {1, 1}, conv_padding = {0, 0}, conv_dilation = {1, 1};
  int32_t conv_groups = 1;
  ParamAttr param_attr = {}, bias_attr = {};
  std::string act = {};
};
std::string simple_img_conv_pool(const Builder& b, const std::string& input, int32_t num_filters,
                                 Pair filter_size, Pair pool_size, Pair pool_stride,
                                 const ImgConvPoolOptions& options = {});

}  // namespace paddle
