// Losses and metrics.
#include "layers/layers.h"

namespace paddle {

std::string mean(const Builder& b, const std::string& x, const std::string& name) {
  return unary(b, "mean", x, {}, name);
}

std::string square_error_cost(const Builder& b, const std::string& input,
                              const std::string& label) {
  const Layer layer(b, "square_error_cost");
  const std::string minus = layer.op("elementwise_sub", {{"X", {input}}, {"Y", {label}}});
  return layer.op("square", {{"X", {minus}}});
}

std::string cross_entropy(const Builder& b, const std::string& input, const std::string& label,
                          const CrossEntropyOptions& options) {
  const Attrs ignore{{"ignore_index", options.ignore_index}};
  if (options.soft_label) {
    return Layer(b, "cross_entropy")
        .op("cross_entropy", {{"X", {input}}, {"Label", {label}}},
            {{"soft_label", true}, {"ignore_index", options.ignore_index}}, "Y");
  }
  const Layer layer(b, "cross_entropy2");
  const std::string out = layer.tmp(), xshape = layer.tmp(), match = layer.tmp();
  b.op({.type = "cross_entropy2",
        .in = {{"X", {input}}, {"Label", {label}}},
        .out = {{"Y", {out}}, {"MatchX", {match}}, {"XShape", {xshape}}},
        .attrs = ignore});
  return out;
}

LossAndSoftmax softmax_with_cross_entropy(const Builder& b, const std::string& logits,
                                          const std::string& label,
                                          const SoftmaxWithCrossEntropyOptions& options) {
  const Layer layer(b, "softmax_with_cross_entropy");
  LossAndSoftmax r;
  r.softmax = layer.tmp();
  r.loss = layer.tmp();
  b.op({.type = "softmax_with_cross_entropy",
        .in = {{"Logits", {logits}}, {"Label", {label}}},
        .out = {{"Softmax", {r.softmax}}, {"Loss", {r.loss}}},
        .attrs = {{"soft_label", options.soft_label},
                  {"ignore_index", options.ignore_index},
                  {"numeric_stable_mode", options.numeric_stable_mode},
                  {"axis", options.axis}}});
  return r;
}

std::string sigmoid_cross_entropy_with_logits(const Builder& b, const std::string& x,
                                              const std::string& label,
                                              const SigmoidCrossEntropyOptions& options) {
  return Layer(b, "sigmoid_cross_entropy_with_logits", options.name)
      .op("sigmoid_cross_entropy_with_logits", {{"X", {x}}, {"Label", {label}}},
          {{"ignore_index", options.ignore_index}, {"normalize", options.normalize}});
}

std::string log_loss(const Builder& b, const std::string& input, const std::string& label,
                     float epsilon, const std::string& name) {
  return Layer(b, "log_loss", name)
      .op("log_loss", {{"Predicted", {input}}, {"Labels", {label}}}, {{"epsilon", epsilon}},
          "Loss");
}

std::string huber_loss(const Builder& b, const std::string& input, const std::string& label,
                       float delta) {
  const Layer layer(b, "huber_loss");
  const std::string residual = layer.tmp(), out = layer.tmp();
  b.op({.type = "huber_loss",
        .in = {{"X", {input}}, {"Y", {label}}},
        .out = {{"Out", {out}}, {"Residual", {residual}}},
        .attrs = {{"delta", delta}}});
  return out;
}

std::string accuracy(const Builder& b, const std::string& input, const std::string& label,
                     int32_t k, const std::string& correct, const std::string& total) {
  const Layer layer(b, "accuracy");
  const TopK top = topk(b, input, k);
  const std::string out = layer.tmp();
  const std::string right = correct.empty() ? layer.tmp() : correct;
  const std::string all = total.empty() ? layer.tmp() : total;
  b.op({.type = "accuracy",
        .in = {{"Out", {top.values}}, {"Indices", {top.indices}}, {"Label", {label}}},
        .out = {{"Accuracy", {out}}, {"Correct", {right}}, {"Total", {all}}}});
  return out;
}

Auc auc(const Builder& b, const std::string& input, const std::string& label,
        const AucOptions& options) {
  require(options.num_thresholds > 0 && options.slide_steps >= 0, Error::Kind::config,
          "auc: num_thresholds must be positive and slide_steps not negative, found ",
          options.num_thresholds, " and ", options.slide_steps);
  const Layer layer(b, "auc");
  Auc r{.auc = layer.tmp(), .batch_auc = layer.tmp()};
  for (int i = 0; i < 4; ++i) {
    // The window's shape is that of PaddlePaddle 1.8 (kernels/metric.h).
    const int64_t bins = int64_t{options.num_thresholds} + 1;
    const bool window = i < 2 && options.slide_steps > 0;
    const Shape shape =
        window ? Shape{(1 + int64_t{options.slide_steps}) * bins + 1} : Shape{1, bins};
    r.states.push_back(b.global_var(
        {.dtype = DType::i64, .shape = shape, .persistable = true, .stop_gradient = true},
        init::Constant{0}));
  }
  const auto append = [&](const std::string& out, const std::string& pos, const std::string& neg,
                          int32_t slide_steps) {
    b.op({.type = "auc",
          .in = {{"Predict", {input}}, {"Label", {label}}, {"StatPos", {pos}}, {"StatNeg", {neg}}},
          .out = {{"AUC", {out}}, {"StatPosOut", {pos}}, {"StatNegOut", {neg}}},
          .attrs = {{"curve", options.curve},
                    {"num_thresholds", options.num_thresholds},
                    {"slide_steps", slide_steps}}});
  };
  append(r.batch_auc, r.states[0], r.states[1], options.slide_steps);
  append(r.auc, r.states[2], r.states[3], 0);
  return r;
}

}  // namespace paddle
