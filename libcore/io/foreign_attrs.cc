#include "io/foreign_attrs.h"

#include <map>
#include <sstream>
#include <string>

namespace paddle {
namespace {

// Op types with the attributes that they have in common. python/tests/interop/attributes.py prints
// the rows, as PaddlePaddle 1.8.5 fills them in.
struct Row {
  const char* types;
  Attrs attrs;
};

const Row rows[] = {
    {"abs ceil cos exp floor log logsigmoid reciprocal relu round rsqrt sigmoid sin softplus "
     "softsign sqrt square tanh tanh_shrink",
     {{"use_cudnn", false}, {"use_mkldnn", false}}},
    {"adam", {{"min_row_size_to_use_multithread", int64_t{1000}}}},
    {"arg_max arg_min", {{"dtype", -1}, {"keepdims", false}}},
    {"assign_value", {{"bool_values", Ints{}}}},
    {"concat", {{"use_mkldnn", false}, {"use_quantizer", false}}},
    {"conv2d depthwise_conv2d",
     {{"Scale_in", 1.0f},
      {"Scale_in_eltwise", 1.0f},
      {"Scale_out", 1.0f},
      {"Scale_weights", Floats{1.0f}},
      {"force_fp32_output", false},
      {"fuse_activation", std::string("")},
      {"fuse_alpha", 0.0f},
      {"fuse_beta", 0.0f},
      {"fuse_brelu", false},
      {"fuse_brelu_threshold", 6.0f},
      {"padding_algorithm", std::string("EXPLICIT")}}},
    {"elementwise_add elementwise_div elementwise_floordiv elementwise_max elementwise_min "
     "elementwise_mod elementwise_mul elementwise_pow elementwise_sub",
     {{"use_mkldnn", false},
      {"x_data_format", std::string("")},
      {"y_data_format", std::string("")}}},
    {"fill_constant fill_constant_batch_size_like", {{"str_value", std::string("")}}},
    {"gaussian_random leaky_relu swish", {{"use_mkldnn", false}}},
    {"gelu", {{"approximate", false}, {"use_cudnn", false}, {"use_mkldnn", false}}},
    {"matmul",
     {{"Scale_out", 1.0f},
      {"Scale_x", 1.0f},
      {"Scale_y", 1.0f},
      {"force_fp32_output", false},
      {"fused_reshape_Out", Ints{}},
      {"fused_transpose_Out", Ints{}},
      {"head_number", 1},
      {"use_mkldnn", false},
      {"use_quantizer", false}}},
    {"mul",
     {{"force_fp32_output", false},
      {"scale_out", 1.0f},
      {"scale_x", 1.0f},
      {"scale_y", Floats{1.0f}},
      {"use_mkldnn", false}}},
    {"pool2d", {{"padding_algorithm", std::string("EXPLICIT")}}},
    {"reduce_max reduce_mean reduce_min reduce_prod reduce_sum",
     {{"in_dtype", -1}, {"out_dtype", -1}}},
    {"reshape2", {{"use_quantizer", false}}},
    {"slice", {{"infer_flags", Ints{}}}},
    {"softmax",
     {{"data_format", std::string("AnyLayout")},
      {"is_test", false},
      {"use_cudnn", false},
      {"use_mkldnn", false}}},
    {"transpose2",
     {{"data_format", std::string("AnyLayout")}, {"use_mkldnn", false}, {"use_quantizer", false}}},
    {"uniform_random uniform_random_batch_size_like",
     {{"diag_num", 0}, {"diag_step", 0}, {"diag_val", 1.0f}}},
};

}  // namespace

const Attrs& foreign_attrs(std::string_view type) {
  static const std::map<std::string, const Attrs*, std::less<>> by_type = [] {
    std::map<std::string, const Attrs*, std::less<>> all;
    for (const Row& row : rows) {
      std::istringstream words(row.types);
      for (std::string word; words >> word;) all[word] = &row.attrs;
    }
    return all;
  }();
  static const Attrs none;
  const auto it = by_type.find(type);
  return it == by_type.end() ? none : *it->second;
}

}  // namespace paddle
