// Layers for outputs of many classes (nce, hsigmoid), and others with parameters that ranking and
// matching models need.
#include "layers/layers.h"

namespace paddle {

std::string nce(const Builder& b, const std::string& input, const std::string& label,
                int64_t num_total_classes, const NceOptions& o) {
  const Var& v = b.var(input);
  require(v.shape.rank() == 2 && v.shape[1] > 0, Error::Kind::config, "nce of '", input,
          "' needs [N, width], found ", v.shape);
  require(num_total_classes > 0, Error::Kind::config,
          "nce: num_total_classes must be positive, found ", num_total_classes);
  require(o.sampler == "uniform" || o.sampler == "log_uniform", Error::Kind::config,
          "nce: sampler must be uniform or log_uniform, found '", o.sampler, "'");
  const Layer layer(b, "nce", o.name);
  Slots in{{"Input", {input}}, {"Label", {label}}};
  in.set("Weight", {layer.weight(o.param_attr, {num_total_classes, v.shape[1]}, v.dtype)});
  if (!o.bias_attr.absent)
    in.set("Bias", {layer.bias(o.bias_attr, {num_total_classes, 1}, v.dtype)});
  if (!o.sample_weight.empty()) in.set("SampleWeight", {o.sample_weight});
  const std::string cost = layer.tmp(), logits = layer.tmp(), labels = layer.tmp();
  b.op({.type = "nce",
        .in = std::move(in),
        .out = {{"Cost", {cost}}, {"SampleLogits", {logits}}, {"SampleLabels", {labels}}},
        .attrs = {{"num_total_classes", static_cast<int32_t>(num_total_classes)},
                  {"num_neg_samples", o.num_neg_samples},
                  {"sampler", o.sampler == "uniform" ? 0 : 1},
                  {"seed", o.seed},
                  {"is_sparse", o.is_sparse}}});
  return scale(b, cost, {.scale = 1.0f / static_cast<float>(o.num_neg_samples + 1)});
}

std::string sampled_softmax_with_cross_entropy(const Builder& b, const std::string& logits,
                                               const std::string& label, int32_t num_samples,
                                               const SampledSoftmaxOptions& o) {
  require(o.num_true >= 1, Error::Kind::config,
          "sampled_softmax_with_cross_entropy: num_true must be at least 1, found ", o.num_true);
  const Layer layer(b, "sample_logits");
  const std::string samples = layer.tmp(), probabilities = layer.tmp(), sampled = layer.tmp(),
                    labels = layer.tmp();
  b.op({.type = "sample_logits",
        .in = {{"Logits", {logits}}, {"Labels", {label}}},
        .out = {{"Samples", {samples}},
                {"Probabilities", {probabilities}},
                {"SampledLogits", {sampled}},
                {"SampledLabels", {labels}}},
        .attrs = {{"num_samples", num_samples},
                  {"remove_accidental_hits", o.remove_accidental_hits},
                  {"seed", o.seed}}});
  b.var(labels).stop_gradient = b.var(samples).stop_gradient = true;
  // The own classes stand first, each with an equal share.
  const std::string shares =
      o.num_true == 1
          ? one_hot(b, labels, num_samples + 1)
          : reduce_sum(b, one_hot(b, unsqueeze(b, labels, {2}), num_samples + o.num_true),
                       {.dim = {1}});
  b.var(shares).stop_gradient = true;
  const std::string loss =
      softmax_with_cross_entropy(b, sampled, shares, {.soft_label = true}).loss;
  return scale(b, loss, {.scale = 1.0f / static_cast<float>(o.num_true)});
}

std::string hsigmoid(const Builder& b, const std::string& input, const std::string& label,
                     int64_t num_classes, const HsigmoidOptions& o) {
  const Var& v = b.var(input);
  require(v.shape.rank() == 2 && v.shape[1] > 0, Error::Kind::config, "hsigmoid of '", input,
          "' needs [N, width], found ", v.shape);
  require(num_classes >= 2, Error::Kind::config, "hsigmoid: num_classes must be at least 2, found ",
          num_classes);
  const Layer layer(b, "hierarchical_sigmoid", o.name);
  Slots in{{"X", {input}}, {"Label", {label}}};
  in.set("W", {layer.weight(o.param_attr, {num_classes - 1, v.shape[1]}, v.dtype)});
  if (!o.bias_attr.absent) in.set("Bias", {layer.bias(o.bias_attr, {num_classes - 1, 1}, v.dtype)});
  const std::string out = layer.tmp(), pre = layer.tmp();
  b.op({.type = "hierarchical_sigmoid",
        .in = std::move(in),
        .out = {{"Out", {out}}, {"PreOut", {pre}}},
        .attrs = {{"num_classes", static_cast<int32_t>(num_classes)}, {"is_sparse", o.is_sparse}}});
  return out;
}

std::string sequence_conv(const Builder& b, const std::string& input, int64_t num_filters,
                          const SequenceConvOptions& o) {
  const Var& v = b.var(input);
  require(v.shape.rank() == 2 && v.shape[1] > 0, Error::Kind::config, "sequence_conv of '", input,
          "' needs sequences of rows, [rows, width], found ", v.shape);
  require(num_filters > 0 && o.filter_size > 0 && o.filter_stride == 1, Error::Kind::config,
          "sequence_conv: num_filters and filter_size must be positive and filter_stride 1, found ",
          num_filters, ", ", o.filter_size, " and ", o.filter_stride);
  const Layer layer(b, "sequence_conv", o.name);
  const std::string filter =
      layer.weight(o.param_attr, {o.filter_size * v.shape[1], num_filters}, v.dtype);
  const std::string out =
      layer.op("sequence_conv", {{"X", {input}}, {"Filter", {filter}}},
               {{"contextStride", o.filter_stride},
                {"contextStart", o.padding_start.value_or(-(o.filter_size / 2))},
                {"contextLength", o.filter_size}});
  return layer.activate(layer.add_bias(out, o.bias_attr, 1, 2), o.act);
}

std::string data_norm(const Builder& b, const std::string& input, const DataNormOptions& o) {
  const Var& v = b.var(input);
  require(v.shape.rank() == 2 && v.shape[1] > 0, Error::Kind::config, "data_norm of '", input,
          "' needs [N, width], found ", v.shape);
  const Layer layer(b, "data_norm", o.name);
  const Shape columns{v.shape[1]};
  const auto sums = [&](const char* suffix, float first) {
    ParamAttr attr;
    if (!o.name.empty()) attr.name = o.name + suffix;
    attr.initializer = init::Constant{first};
    return layer.weight(attr, columns, v.dtype);
  };
  const std::string size = sums(".batch_size", o.batch_size), sum = sums(".batch_sum", o.batch_sum),
                    squares = sums(".batch_square_sum", o.batch_square_sum);
  const std::string means = layer.tmp(), scales = layer.tmp(), out = layer.tmp();
  b.op({.type = "data_norm",
        .in = {{"X", {input}},
               {"BatchSize", {size}},
               {"BatchSum", {sum}},
               {"BatchSquareSum", {squares}}},
        .out = {{"Y", {out}}, {"Means", {means}}, {"Scales", {scales}}},
        .attrs = {{"epsilon", o.epsilon}, {"data_layout", std::string("NCHW")}}});
  return layer.activate(out, o.act);
}

}  // namespace paddle
