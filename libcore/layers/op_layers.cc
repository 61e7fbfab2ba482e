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
    for (auto* topic : {similarity_layers}) {
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
