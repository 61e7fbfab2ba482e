#include "layers/rows.h"

namespace paddle {
namespace {

Make declare_nce(Arguments& a, const Resolve& at) {
  Ref input, label, weight;
  int64_t classes = 0;
  NceOptions o;
  a.required("input", input, "rows, [N, width]");
  a.required("label", label, "the classes of each row, int64 [N, classes of a row]");
  a.required("num_total_classes", classes, "how many classes there are");
  a.optional("sample_weight", weight, "factor of each row's cost, [N, 1]");
  a.optional("param_attr", o.param_attr, "a row of weights for each class");
  a.optional("bias_attr", o.bias_attr, "a bias for each class");
  a.optional("num_neg_samples", o.num_neg_samples, "classes that are drawn for each row");
  a.optional("name", o.name, "stands in front of the name of the result");
  a.optional("sampler", o.sampler, "uniform, or log_uniform: classes are sorted by frequency");
  a.optional("seed", o.seed, "of the drawing; 0 = that of the program");
  a.optional("is_sparse", o.is_sparse, "gradients hold only the rows that were used");
  if (o.num_neg_samples < 1) a.problem("num_neg_samples", "'num_neg_samples' must be at least 1");
  return [=](const Builder& b) -> Names {
    NceOptions options = o;
    options.sample_weight = resolved(at, weight);
    return {nce(b, at(input.name), at(label.name), classes, options)};
  };
}

Make declare_sampled_softmax(Arguments& a, const Resolve& at) {
  Ref logits, label;
  int32_t num_samples = 0;
  SampledSoftmaxOptions o;
  a.required("logits", logits, "scores of all classes, [N, classes]");
  a.required("label", label, "the classes of each row, int64 [N, num_true]");
  a.required("num_samples", num_samples, "classes that are drawn for the batch");
  a.optional("num_true", o.num_true, "classes of a row");
  a.optional("remove_accidental_hits", o.remove_accidental_hits,
             "a drawn class that is one of the row's own does not count");
  a.optional("seed", o.seed, "of the drawing; 0 = that of the program");
  return [=](const Builder& b) -> Names {
    return {sampled_softmax_with_cross_entropy(b, at(logits.name), at(label.name), num_samples, o)};
  };
}

Make declare_hsigmoid(Arguments& a, const Resolve& at) {
  Ref input, label;
  int64_t classes = 0;
  HsigmoidOptions o;
  a.required("input", input, "rows, [N, width]");
  a.required("label", label, "the class of each row, int64 [N, 1]");
  a.required("num_classes", classes, "how many classes there are");
  a.optional("param_attr", o.param_attr, "weights of the inner nodes");
  a.optional("bias_attr", o.bias_attr, "biases of the inner nodes");
  a.optional("name", o.name, "stands in front of the name of the result");
  a.optional("is_sparse", o.is_sparse, "kept in the saved model; gradients are dense");
  return [=](const Builder& b) -> Names {
    return {hsigmoid(b, at(input.name), at(label.name), classes, o)};
  };
}

Make declare_sequence_conv(Arguments& a, const Resolve& at) {
  Ref input;
  int64_t num_filters = 0;
  SequenceConvOptions o;
  a.required("input", input, "sequences of rows");
  a.required("num_filters", num_filters, "columns of the result");
  a.optional("filter_size", o.filter_size, "rows that a filter sees");
  a.optional("filter_stride", o.filter_stride, "must be 1");
  a.optional("padding_start", o.padding_start,
             "first row that a filter sees, counted from the present one; none = it is the middle");
  a.optional("bias_attr", o.bias_attr, "the bias");
  a.optional("param_attr", o.param_attr, "the filters");
  a.optional("act", o.act, "activation");
  a.optional("name", o.name, "stands in front of the name of the result");
  return
      [=](const Builder& b) -> Names { return {sequence_conv(b, at(input.name), num_filters, o)}; };
}

Make declare_data_norm(Arguments& a, const Resolve& at) {
  Ref input;
  DataNormOptions o;
  a.required("input", input, "rows, [N, width]");
  a.optional("act", o.act, "activation");
  a.optional("epsilon", o.epsilon, "added to the squares for each row");
  a.optional("batch_size", o.batch_size, "rows counted at the start");
  a.optional("batch_sum", o.batch_sum, "their sum");
  a.optional("batch_square_sum", o.batch_square_sum, "the sum of their squares");
  a.optional("name", o.name, "stands in front of the name of the result and of the sums");
  return [=](const Builder& b) -> Names { return {data_norm(b, at(input.name), o)}; };
}

}  // namespace

std::vector<LayerRow> sampling_rows() {
  return {
      {"nce", "the cost of telling a row's classes from some that are drawn at random",
       declare_nce},
      {"sampled_softmax_with_cross_entropy",
       "softmax and cross_entropy over a row's classes and some that are drawn at random",
       declare_sampled_softmax},
      {"hsigmoid", "the cost of a class in a binary tree of classes", declare_hsigmoid},
      {"sequence_conv", "filters over the rows of each sequence", declare_sequence_conv},
      {"data_norm", "(x - mean) * scale, by sums over all batches so far", declare_data_norm},
  };
}

}  // namespace paddle
