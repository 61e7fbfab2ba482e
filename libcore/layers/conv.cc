// Layers on images and on sequences.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/suggest.h"
#include "layers/layers.h"

namespace paddle {
namespace {

Ints ints(Pair p) { return {p[0], p[1]}; }

}  // namespace

std::string conv2d(const Builder& b, const std::string& input, int32_t num_filters,
                   Pair filter_size, const Conv2dOptions& options) {
  const Var& v = b.var(input);
  require(v.shape.rank() == 4, Error::Kind::config, "conv2d needs an input [N, C, H, W], found ",
          v.shape, " of '", input, "'");
  const int64_t channels = v.shape[1];
  const int32_t groups = options.groups;
  require(groups > 0 && channels % groups == 0 && num_filters > 0 && num_filters % groups == 0,
          Error::Kind::config, "conv2d of '", input, "': ", channels, " channels and ", num_filters,
          " filters must both be multiples of groups = ", groups);
  const Layer layer(b, "conv2d", options.name);
  const double fan =
      static_cast<double>(filter_size[0]) * filter_size[0] * static_cast<double>(channels);
  const Shape shape{num_filters, channels / groups, filter_size[0], filter_size[1]};
  const std::string w = layer.weight(options.param_attr, shape, v.dtype,
                                     init::Normal{0, static_cast<float>(std::sqrt(2 / fan))});
  const std::string product = layer.op("conv2d", {{"Input", {input}}, {"Filter", {w}}},
                                       {{"strides", ints(options.stride)},
                                        {"paddings", ints(options.padding)},
                                        {"dilations", ints(options.dilation)},
                                        {"groups", groups}},
                                       "Output");
  return layer.activate(layer.add_bias(product, options.bias_attr, 1, 2), options.act);
}

std::string pool2d(const Builder& b, const std::string& input, const Pool2dOptions& options) {
  require(options.pool_type == "max" || options.pool_type == "avg", Error::Kind::config,
          "pool2d of '", input, "': pool_type must be max or avg, found '", options.pool_type, "'");
  require(options.global_pooling || (options.pool_size[0] > 0 && options.pool_size[1] > 0),
          Error::Kind::config, "pool2d of '", input,
          "' needs a positive pool_size, unless global_pooling is on");
  return Layer(b, "pool2d", options.name)
      .op("pool2d", {{"X", {input}}},
          {{"pooling_type", options.pool_type},
           {"ksize", ints(options.pool_size)},
           {"strides", ints(options.pool_stride)},
           {"paddings", ints(options.pool_padding)},
           {"global_pooling", options.global_pooling},
           {"ceil_mode", options.ceil_mode},
           {"exclusive", options.exclusive}});
}

std::string dropout(const Builder& b, const std::string& x, float dropout_prob,
                    const DropoutOptions& options) {
  require(dropout_prob >= 0 && dropout_prob <= 1, Error::Kind::config, "dropout of '", x,
          "': dropout_prob must be from 0 to 1, found ", dropout_prob);
  const Layer layer(b, "dropout", options.name);
  const std::string out = layer.tmp(), mask = layer.tmp();
  b.op({.type = "dropout",
        .in = {{"X", {x}}},
        .out = {{"Out", {out}}, {"Mask", {mask}}},
        .attrs = {{"dropout_prob", dropout_prob},
                  {"is_test", options.is_test},
                  {"fix_seed", options.seed.has_value()},
                  {"seed", options.seed.value_or(0)},
                  {"dropout_implementation", options.dropout_implementation}}});
  return out;
}

std::string sequence_pool(const Builder& b, const std::string& input, const std::string& pool_type,
                          const SequencePoolOptions& options) {
  static const std::vector<std::string> known = {"average", "sum", "sqrt", "max", "last", "first"};
  require(std::count(known.begin(), known.end(), pool_type) > 0, Error::Kind::config,
          "sequence_pool of '", input, "': there is no pool_type '", pool_type, "'",
          did_you_mean(pool_type, known), ": it is one of ", listed(known));
  std::string upper = pool_type;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const Layer layer(b, "sequence_pool");
  const std::string out = layer.tmp(), index = layer.tmp();
  Op op{.type = "sequence_pool",
        .in = {{"X", {input}}},
        .out = {{"Out", {out}}, {"MaxIndex", {index}}},  // PaddlePaddle wants it for all types
        .attrs = {
            {"pooltype", upper}, {"is_test", options.is_test}, {"pad_value", options.pad_value}}};
  b.op(std::move(op));
  return out;
}

std::string sequence_first_step(const Builder& b, const std::string& input) {
  return sequence_pool(b, input, "first");
}

std::string sequence_last_step(const Builder& b, const std::string& input) {
  return sequence_pool(b, input, "last");
}

std::string sequence_softmax(const Builder& b, const std::string& input, const std::string& name) {
  return unary(b, "sequence_softmax", input, {}, name);
}

std::string sequence_expand(const Builder& b, const std::string& x, const std::string& y,
                            int32_t ref_level, const std::string& name) {
  return Layer(b, "sequence_expand", name)
      .op("sequence_expand", {{"X", {x}}, {"Y", {y}}}, {{"ref_level", ref_level}});
}

std::string simple_img_conv_pool(const Builder& b, const std::string& input, int32_t num_filters,
                                 Pair filter_size, Pair pool_size, Pair pool_stride,
                                 const ImgConvPoolOptions& options) {
  const std::string conv = conv2d(b, input, num_filters, filter_size,
                                  {.stride = options.conv_stride,
                                   .padding = options.conv_padding,
                                   .dilation = options.conv_dilation,
                                   .groups = options.conv_groups,
                                   .param_attr = options.param_attr,
                                   .bias_attr = options.bias_attr,
                                   .act = options.act});
  return pool2d(b, conv,
                {.pool_size = pool_size,
                 .pool_type = options.pool_type,
                 .pool_stride = pool_stride,
                 .pool_padding = options.pool_padding,
                 .global_pooling = options.global_pooling});
}

}  // namespace paddle
