// Input, fully connected layers, embeddings, norms: layers with parameters, except convolution.
#include <algorithm>

#include "layers/layers.h"

namespace paddle {

std::string data(const Builder& b, const std::string& name, const Shape& shape,
                 const DataOptions& options) {
  Shape full;
  const bool has_batch =
      std::any_of(shape.begin(), shape.end(), [](int64_t length) { return length < 0; });
  if (options.append_batch_size && !has_batch) full.append(-1);
  for (const int64_t length : shape) full.append(length);
  const Var v{.name = name,
              .dtype = options.dtype,
              .shape = full,
              .lod_level = options.lod_level,
              .stop_gradient = options.stop_gradient,
              .need_check_feed = true};
  const Var& kept = b.block().create(v);
  require(kept.dtype == v.dtype && kept.shape == v.shape && kept.lod_level == v.lod_level,
          Error::Kind::config, "the input '", name,
          "' is declared twice with different types: ", name_of(kept.dtype), " ", kept.shape,
          " and ", name_of(v.dtype), " ", v.shape);
  return name;
}

std::string fc(const Builder& b, const Inputs& input, int64_t size, const FcOptions& options) {
  require(!input.names.empty(), Error::Kind::config, "fc needs an input");
  require(size > 0, Error::Kind::config, "fc: size must be positive, found ", size);
  const Layer layer(b, "fc", options.name);
  const int flat = options.num_flatten_dims;
  const std::vector<ParamAttr>& attrs = options.param_attrs;
  require(attrs.empty() || attrs.size() == input.names.size(), Error::Kind::config, "fc has ",
          attrs.size(), " parameter attributes for ", input.names.size(), " inputs");
  Names parts;
  for (const std::string& x : input.names) {
    const ParamAttr& attr = attrs.empty() ? options.param_attr : attrs[parts.size()];
    const Var& v = b.var(x);
    require(flat >= 1 && flat < v.shape.rank(), Error::Kind::config, "fc of '", x,
            "': num_flatten_dims ", flat, " must be from 1 to ", v.shape.rank() - 1,
            " for the shape ", v.shape);
    const int64_t width = v.shape.product(flat, v.shape.rank());
    const std::string w = layer.weight(attr, {width, size}, v.dtype);
    parts.push_back(layer.op("mul", {{"X", {x}}, {"Y", {w}}},
                             {{"x_num_col_dims", flat}, {"y_num_col_dims", 1}}));
  }
  const std::string product = parts.size() == 1 ? parts[0] : layer.op("sum", {{"X", parts}});
  const std::string sum = layer.add_bias(product, options.bias_attr, flat, flat + 1);
  return layer.activate(sum, options.act);
}

std::string embedding(const Builder& b, const std::string& input, const Shape& size,
                      const EmbeddingOptions& options) {
  const bool any_height = options.is_distributed && size.rank() == 2 && size[0] == -1;
  require(size.rank() == 2 && (size[0] > 0 || any_height) && size[1] > 0, Error::Kind::config,
          "embedding of '", input, "': size must be [rows, width], both positive",
          options.is_distributed ? ", or [-1, width]" : "", ", found ", size);
  const Layer layer(b, "embedding");
  ParamAttr attr = options.param_attr;
  if (options.is_distributed) attr.table = options.table;
  const std::string w = layer.weight(attr, size, options.dtype);
  int64_t padding = options.padding_idx.value_or(-1);
  if (options.padding_idx && padding < 0 && !any_height) padding += size[0];
  require(!options.padding_idx || (padding >= 0 && (any_height || padding < size[0])),
          Error::Kind::config, "embedding of '", input, "': padding_idx ",
          options.padding_idx.value_or(-1), " is outside of a table of ", size[0], " rows");
  return layer.op("lookup_table", {{"Ids", {input}}, {"W", {w}}},
                  {{"is_sparse", options.is_sparse},
                   {"is_distributed", options.is_distributed},
                   {"remote_prefetch", options.is_sparse && !options.is_distributed},
                   {"padding_idx", padding}});
}

std::string batch_norm(const Builder& b, const std::string& input,
                       const BatchNormOptions& options) {
  const Layer layer(b, "batch_norm", options.name);
  const Var& v = b.var(input);
  const bool first = options.data_layout == "NCHW";
  require(first || options.data_layout == "NHWC", Error::Kind::config,
          "batch_norm: data_layout must be NCHW or NHWC, found '", options.data_layout, "'");
  require(v.shape.rank() >= 2, Error::Kind::config, "batch_norm needs at least [N, C], found ",
          v.shape, " of '", input, "'");
  const DType dtype = v.dtype;
  const Shape channels{v.shape[first ? 1 : v.shape.rank() - 1]};
  const ParamAttr mean_attr{.name = options.moving_mean_name, .trainable = false};
  const ParamAttr variance_attr{.name = options.moving_variance_name, .trainable = false};
  const std::string scale = layer.weight(options.param_attr, channels, dtype, init::Constant{1});
  const std::string bias = layer.bias(options.bias_attr, channels, dtype);
  const std::string mean = layer.weight(mean_attr, channels, dtype, init::Constant{0});
  const std::string variance = layer.weight(variance_attr, channels, dtype, init::Constant{1});
  b.var(mean).stop_gradient = b.var(variance).stop_gradient = true;
  const std::string saved_mean = layer.tmp(), saved_variance = layer.tmp(), out = layer.tmp();
  b.op({.type = "batch_norm",
        .in = {{"X", {input}},
               {"Scale", {scale}},
               {"Bias", {bias}},
               {"Mean", {mean}},
               {"Variance", {variance}}},
        .out = {{"Y", {out}},
                {"MeanOut", {mean}},
                {"VarianceOut", {variance}},
                {"SavedMean", {saved_mean}},
                {"SavedVariance", {saved_variance}}},
        .attrs = {{"momentum", options.momentum},
                  {"epsilon", options.epsilon},
                  {"is_test", options.is_test},
                  {"data_layout", options.data_layout},
                  {"use_global_stats", options.use_global_stats}}});
  return layer.activate(out, options.act);
}

std::string layer_norm(const Builder& b, const std::string& input,
                       const LayerNormOptions& options) {
  const Layer layer(b, "layer_norm", options.name);
  const Var& v = b.var(input);
  const int axis = options.begin_norm_axis;
  require(axis >= 1 && axis < v.shape.rank(), Error::Kind::config, "layer_norm of '", input,
          "': begin_norm_axis ", axis, " must be from 1 to ", v.shape.rank() - 1, " for the shape ",
          v.shape);
  const DType dtype = v.dtype;
  const Shape width{v.shape.product(axis, v.shape.rank())};
  Op op{.type = "layer_norm",
        .in = {{"X", {input}}},
        .attrs = {{"epsilon", options.epsilon}, {"begin_norm_axis", axis}}};
  if (options.scale)
    op.in.set("Scale", {layer.weight(options.param_attr, width, dtype, init::Constant{1})});
  if (options.shift) op.in.set("Bias", {layer.bias(options.bias_attr, width, dtype)});
  const std::string mean = layer.tmp(), variance = layer.tmp(), out = layer.tmp();
  op.out = {{"Y", {out}}, {"Mean", {mean}}, {"Variance", {variance}}};
  b.op(std::move(op));
  return layer.activate(out, options.act);
}

std::string prelu(const Builder& b, const std::string& x, const std::string& mode,
                  const ParamAttr& param_attr, const std::string& name) {
  const Layer layer(b, "prelu", name);
  const Var& v = b.var(x);
  Shape shape{1};
  if (mode == "channel") {
    require(v.shape.rank() >= 2, Error::Kind::config, "prelu of '", x,
            "': mode channel needs [N, channels, ...], found ", v.shape);
    shape = {1, v.shape[1], 1, 1};
  } else if (mode == "element") {
    for (int d = 1; d < v.shape.rank(); ++d) shape.append(v.shape[d]);
  } else {
    require(mode == "all", Error::Kind::config, "prelu of '", x,
            "': mode must be all, channel or element, found '", mode, "'");
  }
  const std::string alpha = layer.weight(param_attr, shape, v.dtype, init::Constant{0.25f});
  return layer.op("prelu", {{"X", {x}}, {"Alpha", {alpha}}}, {{"mode", mode}});
}

std::string create_parameter(const Builder& b, const Shape& shape,
                             const CreateParameterOptions& options) {
  const Layer layer(b, "create_parameter", options.name);
  ParamAttr attr = options.attr;
  if (attr.name.empty()) attr.name = options.name;
  if (options.is_distributed) attr.table.emplace();
  return options.is_bias ? layer.bias(attr, shape, options.dtype)
                         : layer.weight(attr, shape, options.dtype);
}

}  // namespace paddle
