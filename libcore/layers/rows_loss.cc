#include "layers/rows.h"

namespace paddle {
namespace {

// A loss or metric of an input and a label.
struct Compared {
  Ref input, label;
  void declare(Arguments& a, const char* input_meaning) {
    a.required("input", input, input_meaning);
    a.required("label", label, "what it should be");
  }
};

Make declare_mean(Arguments& a, const Resolve& at) {
  Ref input;
  std::string name;
  a.required("input", input, "what goes in");
  a.optional("name", name, "stands in front of the name of the result");
  return [=](const Builder& b) -> Names { return {mean(b, at(input.name), name)}; };
}

Make declare_square_error(Arguments& a, const Resolve& at) {
  Compared c;
  c.declare(a, "prediction");
  return [=](const Builder& b) -> Names {
    return {square_error_cost(b, at(c.input.name), at(c.label.name))};
  };
}

Make declare_cross_entropy(Arguments& a, const Resolve& at) {
  Compared c;
  CrossEntropyOptions o;
  c.declare(a, "probabilities, [N, classes]");
  a.optional("soft_label", o.soft_label, "the label holds probabilities rather than a class");
  a.optional("ignore_index", o.ignore_index, "the class that costs nothing");
  return [=](const Builder& b) -> Names {
    return {cross_entropy(b, at(c.input.name), at(c.label.name), o)};
  };
}

Make declare_softmax_cross_entropy(Arguments& a, const Resolve& at) {
  Compared c;
  SoftmaxWithCrossEntropyOptions o;
  c.declare(a, "values before softmax, [N, classes]");
  a.optional("soft_label", o.soft_label, "the label holds probabilities rather than a class");
  a.optional("ignore_index", o.ignore_index, "the class that costs nothing");
  a.optional("numeric_stable_mode", o.numeric_stable_mode, "kept in the saved model; always on");
  a.optional("axis", o.axis, "dimension of the classes");
  return [=](const Builder& b) -> Names {
    const LossAndSoftmax r = softmax_with_cross_entropy(b, at(c.input.name), at(c.label.name), o);
    return {r.loss, r.softmax};
  };
}

Make declare_sigmoid_cross_entropy(Arguments& a, const Resolve& at) {
  Compared c;
  SigmoidCrossEntropyOptions o;
  c.declare(a, "values before sigmoid");
  a.optional("ignore_index", o.ignore_index, "the label that costs nothing");
  a.optional("name", o.name, "stands in front of the name of the result");
  a.optional("normalize", o.normalize, "divide by the number of labels that count");
  return [=](const Builder& b) -> Names {
    return {sigmoid_cross_entropy_with_logits(b, at(c.input.name), at(c.label.name), o)};
  };
}

Make declare_log_loss(Arguments& a, const Resolve& at) {
  Compared c;
  float epsilon = 1e-4f;
  c.declare(a, "probabilities of the label 1");
  a.optional("epsilon", epsilon, "added inside of the logarithm");
  std::string name;
  declare_name(a, name);
  return [=](const Builder& b) -> Names {
    return {log_loss(b, at(c.input.name), at(c.label.name), epsilon, name)};
  };
}

Make declare_huber_loss(Arguments& a, const Resolve& at) {
  Compared c;
  float delta = 0;
  c.declare(a, "prediction");
  a.required("delta", delta, "where the square becomes a line");
  return [=](const Builder& b) -> Names {
    return {huber_loss(b, at(c.input.name), at(c.label.name), delta)};
  };
}

Make declare_accuracy(Arguments& a, const Resolve& at) {
  Compared c;
  int32_t k = 1;
  c.declare(a, "scores, [N, classes]");
  a.optional("k", k, "right if the label is among the k largest");
  Ref correct, total;
  a.optional("correct", correct, "an int32 variable for the number of right rows");
  a.optional("total", total, "an int32 variable for the number of rows");
  return [=](const Builder& b) -> Names {
    return {accuracy(b, at(c.input.name), at(c.label.name), k, resolved(at, correct),
                     resolved(at, total))};
  };
}

Make declare_auc(Arguments& a, const Resolve& at) {
  Compared c;
  AucOptions o;
  c.declare(a, "probabilities, [N, 2]");
  a.optional("curve", o.curve, "ROC or PR");
  a.optional("num_thresholds", o.num_thresholds, "bins of the probability");
  a.optional("slide_steps", o.slide_steps, "batches of the second result");
  return [=](const Builder& b) -> Names {
    const Auc r = auc(b, at(c.input.name), at(c.label.name), o);
    Names all{r.auc, r.batch_auc};
    all.insert(all.end(), r.states.begin(), r.states.end());
    return all;
  };
}

}  // namespace

std::vector<LayerRow> loss_rows() {
  return {
      {"mean", "the mean of all elements", declare_mean},
      {"square_error_cost", "(input - label)^2", declare_square_error},
      {"cross_entropy", "-log of the label's probability", declare_cross_entropy},
      {"softmax_with_cross_entropy", "softmax and cross_entropy in one; .1 is the softmax",
       declare_softmax_cross_entropy},
      {"sigmoid_cross_entropy_with_logits", "cross entropy of sigmoid(input), per element",
       declare_sigmoid_cross_entropy},
      {"log_loss", "-log of the probability of a label 0 or 1", declare_log_loss},
      {"huber_loss", "square near 0, linear beyond delta", declare_huber_loss},
      {"accuracy", "share of right rows", declare_accuracy},
      {"auc", "area under the curve since the start; .1 is that of the last batches", declare_auc},
  };
}

}  // namespace paddle
