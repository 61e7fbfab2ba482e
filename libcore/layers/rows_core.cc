#include <limits>

#include "layers/rows.h"

namespace paddle {
namespace {

// "has_bias": false is the job file's way to say that there is no bias.
ParamAttr bias_of(const ParamAttr& attr, bool has_bias) {
  return has_bias ? attr : ParamAttr::none();
}

Make declare_data(Arguments& a, const Resolve&) {
  std::string name;
  Shape shape;
  DataOptions o;
  a.required("name", name, "how it is fed");
  a.required("shape", shape, "of one sample");
  a.optional("append_batch_size", o.append_batch_size, "put -1 in front of the shape");
  a.optional("dtype", o.dtype, "element type");
  a.optional("lod_level", o.lod_level, "1 for sequences");
  a.optional("stop_gradient", o.stop_gradient, "no gradient flows into it");
  return [=](const Builder& b) -> Names { return {data(b, name, shape, o)}; };
}

Make declare_fc(Arguments& a, const Resolve& at) {
  Refs input;
  int64_t size = 0;
  FcOptions o;
  ParamAttrs weights;
  bool has_bias = true;
  a.required("input", input, "what goes in; several are multiplied by a weight each and summed");
  a.required("size", size, "number of outputs");
  a.optional("num_flatten_dims", o.num_flatten_dims, "leading dimensions that are kept");
  a.optional("param_attr", weights, "the weight");
  a.optional("bias_attr", o.bias_attr, "the bias");
  a.optional("has_bias", has_bias, "false = no bias");
  a.optional("act", o.act, "activation");
  a.optional("name", o.name, "stands in front of the names of parameters");
  o.bias_attr = bias_of(o.bias_attr, has_bias);
  if (weights.all.size() == 1)
    o.param_attr = weights.all[0];
  else
    o.param_attrs = weights.all;
  return [=](const Builder& b) -> Names { return {fc(b, resolved(at, input), size, o)}; };
}

// A number that is not negative.
template <class T>
void declare_count(Arguments& a, const char* name, T& place, const char* help) {
  int64_t given = 0;
  a.optional(name, given, help);
  if (given < 0 || static_cast<uint64_t>(given) > std::numeric_limits<T>::max())
    a.problem(name, text("must be from 0 to ", std::numeric_limits<T>::max(), ", found ", given));
  place = static_cast<T>(given);
}

// Of embeddings with is_distributed: docs/tables.md has the words.
void declare_table(Arguments& a, TableSpec& t) {
  a.optional("bf16", t.bf16, "sparse table: values in 16 bits");
  declare_count(a, "min_count", t.admit_count, "sparse table: updates until an id gets a row");
  a.optional("probability", t.admit_probability, "sparse table: chance per update to get a row");
  declare_count(a, "unseen_steps", t.expire_unseen_steps,
                "sparse table: rows without an update for more steps go");
  a.optional("min_score", t.expire_min_score, "sparse table: rows with a lower score go");
  declare_count(a, "half_life", t.expire_half_life, "sparse table: steps that halve a score");
  declare_count(a, "floor", t.expire_floor, "sparse table: so many rows stay");
  declare_count(a, "memory_limit", t.memory_limit, "sparse table: bytes, per shard; 0 = no limit");
  a.optional("evict", t.evict, "sparse table: at the limit old rows go, not new ones refused");
}

Make declare_embedding(Arguments& a, const Resolve& at) {
  Ref input;
  Shape size;
  EmbeddingOptions o;
  a.required("input", input, "ids, shape [..., 1], int64");
  a.required("size", size, "[rows, width] of the table; [-1, width]: any id, with is_distributed");
  a.optional("is_sparse", o.is_sparse, "gradients hold only the rows that were used");
  a.optional("is_distributed", o.is_distributed,
             "a sparse table: rows are made when ids first learn, whatever the size says");
  a.optional("padding_idx", o.padding_idx, "the id that gives zeros");
  a.optional("param_attr", o.param_attr, "the table");
  a.optional("dtype", o.dtype, "element type");
  declare_table(a, o.table);
  if (!o.is_distributed && o.table != TableSpec{})
    a.problem("the options of a sparse table need is_distributed: true");
  return [=](const Builder& b) -> Names { return {embedding(b, at(input.name), size, o)}; };
}

Make declare_conv2d(Arguments& a, const Resolve& at) {
  Ref input;
  int32_t num_filters = 0;
  Pair filter_size{};
  Conv2dOptions o;
  bool has_bias = true;
  a.required("input", input, "[N, C, H, W]");
  a.required("num_filters", num_filters, "channels of the result");
  a.required("filter_size", filter_size, "height and width of a filter");
  a.optional("stride", o.stride, "step of the filter");
  a.optional("padding", o.padding, "zeros around the image");
  a.optional("dilation", o.dilation, "distance of the filter's points");
  a.optional("groups", o.groups, "groups of channels that are kept apart");
  a.optional("param_attr", o.param_attr, "the filters");
  a.optional("bias_attr", o.bias_attr, "the bias");
  a.optional("has_bias", has_bias, "false = no bias");
  a.optional("act", o.act, "activation");
  a.optional("name", o.name, "stands in front of the names of parameters");
  o.bias_attr = bias_of(o.bias_attr, has_bias);
  return [=](const Builder& b) -> Names {
    return {conv2d(b, at(input.name), num_filters, filter_size, o)};
  };
}

Make declare_pool2d(Arguments& a, const Resolve& at) {
  Ref input;
  Pool2dOptions o;
  a.required("input", input, "[N, C, H, W]");
  a.optional("pool_size", o.pool_size, "height and width of the window");
  a.optional("pool_type", o.pool_type, "max or avg");
  a.optional("pool_stride", o.pool_stride, "step of the window");
  a.optional("pool_padding", o.pool_padding, "border around the image");
  a.optional("global_pooling", o.global_pooling, "the window is the whole image");
  a.optional("ceil_mode", o.ceil_mode, "keep a last window that is not full");
  a.optional("exclusive", o.exclusive, "avg: padding does not count");
  a.optional("name", o.name, "stands in front of the name of the result");
  return [=](const Builder& b) -> Names { return {pool2d(b, at(input.name), o)}; };
}

Make declare_batch_norm(Arguments& a, const Resolve& at) {
  Ref input;
  BatchNormOptions o;
  a.required("input", input, "[N, C, ...]");
  a.optional("act", o.act, "activation");
  a.optional("is_test", o.is_test, "use the moving statistics");
  a.optional("momentum", o.momentum, "of the moving statistics");
  a.optional("epsilon", o.epsilon, "added to the variance");
  a.optional("param_attr", o.param_attr, "the scale");
  a.optional("bias_attr", o.bias_attr, "the bias");
  a.optional("data_layout", o.data_layout, "NCHW or NHWC");
  a.optional("name", o.name, "stands in front of the names of parameters");
  a.optional("moving_mean_name", o.moving_mean_name, "name of the moving mean");
  a.optional("moving_variance_name", o.moving_variance_name, "name of the moving variance");
  a.optional("use_global_stats", o.use_global_stats, "train with the moving statistics");
  return [=](const Builder& b) -> Names { return {batch_norm(b, at(input.name), o)}; };
}

Make declare_layer_norm(Arguments& a, const Resolve& at) {
  Ref input;
  LayerNormOptions o;
  a.required("input", input, "what goes in");
  a.optional("scale", o.scale, "learn a scale");
  a.optional("shift", o.shift, "learn a bias");
  a.optional("begin_norm_axis", o.begin_norm_axis, "first dimension that is normalised over");
  a.optional("epsilon", o.epsilon, "added to the variance");
  a.optional("param_attr", o.param_attr, "the scale");
  a.optional("bias_attr", o.bias_attr, "the bias");
  a.optional("act", o.act, "activation");
  a.optional("name", o.name, "stands in front of the names of parameters");
  return [=](const Builder& b) -> Names { return {layer_norm(b, at(input.name), o)}; };
}

Make declare_dropout(Arguments& a, const Resolve& at) {
  Ref input;
  float prob = 0;
  DropoutOptions o;
  a.required("input", input, "what goes in");
  a.required("dropout_prob", prob, "share of elements that are set to 0");
  a.optional("is_test", o.is_test, "drop nothing");
  a.optional("seed", o.seed, "fixed; without it the program's");
  a.optional("name", o.name, "stands in front of the name of the result");
  a.optional("dropout_implementation", o.dropout_implementation,
             "downgrade_in_infer or upscale_in_train");
  return [=](const Builder& b) -> Names { return {dropout(b, at(input.name), prob, o)}; };
}

Make declare_prelu(Arguments& a, const Resolve& at) {
  Ref x;
  std::string mode, name;
  ParamAttr attr;
  a.required("x", x, "what goes in");
  a.required("mode", mode, "all, channel or element: what has an alpha of its own");
  a.optional("param_attr", attr, "alpha; starts with 0.25");
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {prelu(b, at(x.name), mode, attr, name)}; };
}

Make declare_sequence_pool(Arguments& a, const Resolve& at) {
  Ref input;
  std::string pool_type;
  SequencePoolOptions o;
  a.required("input", input, "sequences");
  a.required("pool_type", pool_type, "average, sum, sqrt, max, last or first");
  a.optional("is_test", o.is_test, "no gradient will be asked for");
  a.optional("pad_value", o.pad_value, "what an empty sequence gives");
  return
      [=](const Builder& b) -> Names { return {sequence_pool(b, at(input.name), pool_type, o)}; };
}

template <std::string (*step)(const Builder&, const std::string&)>
Make declare_step(Arguments& a, const Resolve& at) {
  Ref input;
  a.required("input", input, "sequences");
  return [=](const Builder& b) -> Names { return {step(b, at(input.name))}; };
}

Make declare_sequence_softmax(Arguments& a, const Resolve& at) {
  Ref input;
  std::string name;
  a.required("input", input, "sequences, [rows, 1]");
  declare_name(a, name);
  return [=](const Builder& b) -> Names { return {sequence_softmax(b, at(input.name), name)}; };
}

Make declare_sequence_expand(Arguments& a, const Resolve& at) {
  Ref x, y;
  int32_t ref_level = -1;
  std::string name;
  a.required("x", x, "what is repeated");
  a.required("y", y, "sequences: their lengths say how often");
  a.optional("ref_level", ref_level, "level of y that counts; -1 = the last");
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    return {sequence_expand(b, at(x.name), at(y.name), ref_level, name)};
  };
}

Make declare_img_conv_pool(Arguments& a, const Resolve& at) {
  Ref input;
  int32_t num_filters = 0;
  Pair filter_size{}, pool_size{}, pool_stride{};
  ImgConvPoolOptions o;
  a.required("input", input, "[N, C, H, W]");
  a.required("num_filters", num_filters, "channels of the result");
  a.required("filter_size", filter_size, "height and width of a filter");
  a.required("pool_size", pool_size, "height and width of the window");
  a.required("pool_stride", pool_stride, "step of the window");
  a.optional("pool_padding", o.pool_padding, "border of the pooled image");
  a.optional("pool_type", o.pool_type, "max or avg");
  a.optional("global_pooling", o.global_pooling, "the window is the whole image");
  a.optional("stride", o.conv_stride, "step of the filter");
  a.optional("padding", o.conv_padding, "zeros around the image");
  a.optional("dilation", o.conv_dilation, "distance of the filter's points");
  a.optional("groups", o.conv_groups, "groups of channels that are kept apart");
  a.optional("param_attr", o.param_attr, "the filters");
  a.optional("bias_attr", o.bias_attr, "the bias");
  a.optional("act", o.act, "activation");
  return [=](const Builder& b) -> Names {
    return {simple_img_conv_pool(b, at(input.name), num_filters, filter_size, pool_size,
                                 pool_stride, o)};
  };
}

}  // namespace

std::vector<LayerRow> core_rows() {
  return {
      {"data", "an input that is fed", declare_data},
      {"fc", "fully connected: act(input * w + b)", declare_fc},
      {"embedding", "rows of a table, by ids", declare_embedding},
      {"conv2d", "convolution of images", declare_conv2d},
      {"pool2d", "largest or mean value of windows of images", declare_pool2d},
      {"batch_norm", "normalises each channel over the batch", declare_batch_norm},
      {"layer_norm", "normalises each sample", declare_layer_norm},
      {"dropout", "sets random elements to 0 while training", declare_dropout},
      {"prelu", "x where x > 0, else a learnt alpha * x", declare_prelu},
      {"sequence_pool", "one row per sequence", declare_sequence_pool},
      {"sequence_first_step", "the first row of each sequence", declare_step<sequence_first_step>},
      {"sequence_last_step", "the last row of each sequence", declare_step<sequence_last_step>},
      {"sequence_softmax", "softmax over each sequence", declare_sequence_softmax},
      {"sequence_expand", "repeats rows as often as a sequence is long", declare_sequence_expand},
      {"simple_img_conv_pool", "conv2d, then pool2d", declare_img_conv_pool},
  };
}

}  // namespace paddle
