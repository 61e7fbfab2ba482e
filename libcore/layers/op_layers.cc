#include "layers/op_layers.h"

#include <algorithm>

#include "layers/rows.h"

namespace paddle {
namespace {

using Input = OpLayer::Input;

const Input x{"x", "X", "what goes in"};

std::vector<OpLayer> similarity_layers() {
  return {
      {.name = "cos_sim",
       .op = "cos_sim",
       .meaning = "the cosine of the angle between rows",
       .inputs = {{"X", "X", "rows"}, {"Y", "Y", "rows, or one row for all"}},
       .others = {"XNorm", "YNorm"}},
      {.name = "l2_normalize",
       .op = "norm",
       .meaning = "x divided by its length along a dimension",
       .inputs = {x},
       .settings = {{"axis", 1, "dimension along which lengths are computed", true},
                    {"epsilon", 1e-12f, "added to the square of the length"}},
       .others = {"Norm"}},
      {.name = "label_smooth",
       .op = "label_smooth",
       .meaning = "(1 - epsilon) * label + epsilon * prior",
       .inputs = {{"label", "X", "rows of probabilities, [N, classes]"},
                  {"prior_dist", "PriorDist", "[1, classes]; 1 / classes each if absent",
                   Input::optional}},
       .settings = {{"epsilon", 0.1f, "weight of the prior"}},
       .stop_gradient = false},
  };
}

std::vector<OpLayer> ranking_layers() {
  const Input label{"label", "Label", "what it should be"};
  return {
      {.name = "rank_loss",
       .op = "rank_loss",
       .meaning = "log(1 + e^o) - label * o, with o = left - right",
       .inputs = {{"label", "Label", "1 where left should be above right, else 0"},
                  {"left", "Left", "score of one, [N, 1]"},
                  {"right", "Right", "score of the other, [N, 1]"}}},
      {.name = "margin_rank_loss",
       .op = "margin_rank_loss",
       .meaning = "max(0, margin - label * (left - right))",
       .inputs = {{"label", "Label", "1 where left should be above right, else -1"},
                  {"left", "X1", "score of one, [N, 1]"},
                  {"right", "X2", "score of the other, [N, 1]"}},
       .settings = {{"margin", 0.1f, "how far apart scores should be"}},
       .others = {"Activated"}},
      {.name = "bpr_loss",
       .op = "bpr_loss",
       .meaning = "how far the label's score is below those of the other classes",
       .inputs = {{"input", "X", "scores, [N, classes]"}, label},
       .results = {"Y"}},
      {.name = "smooth_l1",
       .op = "smooth_l1_loss",
       .meaning = "per row: square near 0, linear beyond 1 / sigma^2",
       .inputs = {{"x", "X", "prediction"},
                  {"y", "Y", "what it should be"},
                  {"inside_weight", "InsideWeight", "factor of each difference", Input::optional},
                  {"outside_weight", "OutsideWeight", "factor of each part", Input::optional}},
       .settings = {{"sigma", 1.0f, "where the square becomes a line"}},
       .others = {"Diff"}},
      {.name = "kldiv_loss",
       .op = "kldiv_loss",
       .meaning = "target * (log(target) - x)",
       .inputs = {{"x", "X", "logarithms of probabilities"}, {"target", "Target", "probabilities"}},
       .settings = {{"reduction", std::string("mean"), "mean, batchmean, sum or none"}},
       .results = {"Loss"}},
      {.name = "teacher_student_sigmoid_loss",
       .op = "teacher_student_sigmoid_loss",
       .meaning = "cross entropy with a click and with a teacher's value",
       .inputs = {{"input", "X", "score, [N, 1]"},
                  {"label", "Label", "-2 no click, -1 click; q no click, 1 + q click, teacher q"}},
       .settings = {{"soft_max_up_bound", 15.0f, "no gradient above"},
                    {"soft_max_lower_bound", -15.0f, "no gradient below"}},
       .results = {"Y"}},
  };
}

std::vector<OpLayer> click_layers() {
  return {{.name = "continuous_value_model",
           .op = "cvm",
           .meaning = "logarithms of the counts in the first two columns, or without them",
           .inputs = {{"input", "X", "[N, width]; the first two columns are counts"},
                      {"cvm", "CVM", "counts of this batch, [N, 2]"}},
           .settings = {{"use_cvm", true, "false leaves the two columns out"}},
           .results = {"Y"}}};
}

std::vector<OpLayer> rearranging_layers() {
  const Input input{"input", "X", "what goes in"};
  return {
      {.name = "expand_as",
       .op = "expand_as",
       .meaning = "repeats x to the shape of another variable",
       .inputs = {x, {"target_tensor", "target_tensor", "its shape is taken"}}},
      {.name = "cumsum",
       .op = "cumsum",
       .meaning = "sums of the elements so far, along a dimension",
       .inputs = {x},
       .settings = {{"axis", -1, "dimension"},
                    {"exclusive", false, "without the element itself"},
                    {"reverse", false, "from the end"}}},
      {.name = "scatter",
       .op = "scatter",
       .meaning = "puts rows in the place of others",
       .inputs = {input,
                  {"index", "Ids", "numbers of the rows"},
                  {"updates", "Updates", "the new rows"}},
       .settings = {{"overwrite", true, "false: rows with one number are added up"}}},
      {.name = "gather_nd",
       .op = "gather_nd",
       .meaning = "parts by numbers of several dimensions",
       .inputs = {input, {"index", "Index", "[..., numbers of the first dimensions]"}}},
      {.name = "hash",
       .op = "hash",
       .meaning = "ids hashed into [0, hash_size), num_hash times",
       .inputs = {{"input", "X", "ids, [N, ids that are hashed together]"}},
       .settings = {{"hash_size", 100000, "results lie below", true, "mod_by"},
                    {"num_hash", 1, "how many hashes of each"}},
       .stop_gradient = true},
      {.name = "shard_index",
       .op = "shard_index",
       .meaning = "places of ids within one of several shards",
       .inputs = {input},
       .settings = {{"index_num", 0, "how many ids there are", true},
                    {"nshards", 1, "number of shards", true},
                    {"shard_id", 0, "this shard", true},
                    {"ignore_value", -1, "for ids of other shards"}},
       .stop_gradient = true},
  };
}

std::vector<OpLayer> sequence_layers() {
  const Input like{"y", "Y", "sequences; their lengths are taken"};
  return {
      {.name = "sequence_reverse",
       .op = "sequence_reverse",
       .meaning = "each sequence backwards",
       .inputs = {x},
       .results = {"Y"}},
      {.name = "sequence_concat",
       .op = "sequence_concat",
       .meaning = "sequences of several inputs, one behind the other",
       .inputs = {{"input", "X", "sequences", Input::several}}},
      {.name = "sequence_expand_as",
       .op = "sequence_expand_as",
       .meaning = "repeats each row as often as a sequence is long",
       .inputs = {x, like}},
      {.name = "sequence_pad",
       .op = "sequence_pad",
       .meaning = "sequences as one array, filled up; .1 are their lengths",
       .inputs = {x, {"pad_value", "PadValue", "one element, or one row"}},
       .settings = {{"maxlen", -1, "length; -1 = that of the longest", false, "padded_length"}},
       .results = {"Out", "Length"}},
      {.name = "sequence_unpad",
       .op = "sequence_unpad",
       .meaning = "the first rows of each part as a sequence",
       .inputs = {x, {"length", "Length", "how many, int64"}}},
      {.name = "lod_reset",
       .op = "lod_reset",
       .meaning = "the same rows as other sequences",
       .inputs = {x, {"y", "Y", "sequences; their lengths are taken", Input::optional}},
       .settings = {{"target_lod", Ints{}, "offsets, if there is no y"}}},
  };
}

// One argument of a row, read from a job file.
void declare_setting(Arguments& a, const OpLayer::Setting& s, Attr& place) {
  std::visit(
      [&](auto& typed) {
        using T = std::decay_t<decltype(typed)>;
        if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, float> ||
                      std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                      std::is_same_v<T, Ints>) {
          if (s.required)
            a.required(s.argument, typed, s.meaning);
          else
            a.optional(s.argument, typed, s.meaning);
        }
      },
      place);
}

Make declare_op_layer(const OpLayer& layer, Arguments& a, const Resolve& at) {
  std::vector<Refs> inputs(layer.inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Input& in = layer.inputs[k];
    Ref one;
    if (in.kind == Input::several)
      a.required(in.argument, inputs[k], in.meaning);
    else if (in.kind == Input::optional)
      a.optional(in.argument, one, in.meaning);
    else
      a.required(in.argument, one, in.meaning);
    if (!one.name.empty()) inputs[k].names = {one.name};
  }
  Attrs attrs;
  for (const OpLayer::Setting& s : layer.settings) {
    Attr value = s.fallback;
    declare_setting(a, s, value);
    attrs.set(s.attr.empty() ? s.argument : s.attr, std::move(value));
  }
  std::string name;
  declare_name(a, name);
  return [=, &layer](const Builder& b) {
    Slots in;
    for (size_t k = 0; k < inputs.size(); ++k)
      if (!inputs[k].names.empty()) in.set(layer.inputs[k].slot, resolved(at, inputs[k]));
    return build_op_layer(b, layer, std::move(in), attrs, name);
  };
}

}  // namespace

const std::vector<OpLayer>& op_layers() {
  static const std::vector<OpLayer> all = [] {
    std::vector<OpLayer> rows;
    for (auto* topic :
         {similarity_layers, ranking_layers, click_layers, rearranging_layers, sequence_layers}) {
      const std::vector<OpLayer> some = topic();
      rows.insert(rows.end(), some.begin(), some.end());
    }
    return rows;
  }();
  return all;
}

const OpLayer& op_layer(std::string_view name) {
  const auto& all = op_layers();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const OpLayer& l) { return l.name == name; });
  require(it != all.end(), Error::Kind::config, "there is no layer '", name, "' of one op");
  return *it;
}

Names build_op_layer(const Builder& b, const OpLayer& layer, Slots in, Attrs attrs,
                     const std::string& name) {
  const Layer made(b, layer.name, name);
  Op op{.type = layer.op, .in = std::move(in), .attrs = std::move(attrs)};
  Names results;
  for (const std::string& slot : layer.results) {
    results.push_back(made.tmp());
    op.out.set(slot, {results.back()});
  }
  for (const std::string& slot : layer.others) op.out.set(slot, {made.tmp()});
  b.op(std::move(op));
  if (layer.stop_gradient)
    for (const std::string& r : results) b.var(r).stop_gradient = true;
  return results;
}

std::vector<LayerRow> op_rows() {
  std::vector<LayerRow> rows;
  for (const OpLayer& layer : op_layers())
    rows.push_back({layer.name, layer.meaning, [&layer](Arguments& a, const Resolve& at) {
                      return declare_op_layer(layer, a, at);
                    }});
  return rows;
}

}  // namespace paddle
