#include "layers/registry.h"

#include <algorithm>

#include "base/suggest.h"
#include "layers/rows.h"

namespace paddle {
namespace {

template <class Row>
const Row* find_row(std::span<const Row> rows, std::string_view type) {
  for (const Row& r : rows)
    if (r.type == type) return &r;
  return nullptr;
}

template <class Row>
std::string no_such(const char* what, std::span<const Row> rows, const std::string& type) {
  Names known;
  for (const Row& r : rows) known.emplace_back(r.type);
  return text("there is no ", what, " '", type, "'", did_you_mean(type, known));
}

// The row of an object's type, or null with what is wrong.
template <class Row>
const Row* row_of(const char* what, std::span<const Row> rows, const Dict& args, SourcePlace at,
                  Mistakes& wrong) {
  const std::string type = text_of(args, "type");
  const Row* row = find_row(rows, type);
  const Value* given = find(args, "type");
  if (type.empty()) {
    wrong.push_back({given ? given->at : at, "'type' is missing"});
    const Names right = {"type"};
    for (const auto& [key, value] : args)
      if (!nearest(key, right).empty() && key != "type")
        wrong.push_back({value.key, text("there is no key '", key, "' (did you mean 'type'?)")});
  } else if (row == nullptr) {
    wrong.push_back({given->at, no_such(what, rows, type)});
  }
  return row;
}

// What the arguments of a layer ask for; mistakes are added, the result is then null.
Make read_layer(const Dict& args, SourcePlace at, const Resolve& resolve, Mistakes& wrong) {
  const LayerRow* row = row_of("layer", layer_rows(), args, at, wrong);
  if (row == nullptr) return nullptr;
  Arguments a(&args, at);
  Make make = row->declare(a, resolve);
  const Mistakes found = a.mistakes(Names{"type", "name"});
  wrong.insert(wrong.end(), found.begin(), found.end());
  return found.empty() ? make : nullptr;
}

// "fc: " in front of what is wrong with the arguments of a known type.
Mistakes labelled(const std::string& label, Mistakes wrong) {
  for (Mistake& m : wrong) m.what = text(label, ": ", m.what);
  return wrong;
}

void fail_if_any(const std::string& where, const Mistakes& wrong) {
  if (!wrong.empty()) throw Error(Error::Kind::config, where, ": ", mistakes_text(wrong));
}

Resolve resolver(const Builder& b, const Aliases& aliases) {
  return [&b, &aliases](const std::string& name) -> std::string {
    if (const auto it = aliases.find(name); it != aliases.end()) return it->second;
    if (b.block().find(name)) return name;
    Names known;
    for (const auto& [alias, var] : aliases) known.push_back(alias);
    for (const auto& v : b.block().vars()) known.push_back(v->name);
    throw Error(Error::Kind::config, "there is no layer or input '", name, "' before this one",
                did_you_mean(name, known));
  };
}

template <class Row, class... Extra>
std::vector<Parameter> declared(const Row& row, const Extra&... extra) {
  Arguments a(nullptr);
  row.declare(a, extra...);
  return a.parameters();
}

}  // namespace

std::span<const LayerRow> layer_rows() {
  static const std::vector<LayerRow> all = [] {
    std::vector<LayerRow> rows;
    for (auto* topic : {core_rows, loss_rows, math_rows, shape_rows, fill_rows, logic_rows,
                        sampling_rows, op_rows}) {
      const std::vector<LayerRow> some = topic();
      rows.insert(rows.end(), some.begin(), some.end());
    }
    std::sort(rows.begin(), rows.end(),
              [](const LayerRow& x, const LayerRow& y) { return x.type < y.type; });
    return rows;
  }();
  return all;
}

std::vector<Parameter> parameters_of(const LayerRow& row) { return declared(row, Resolve{}); }
std::vector<Parameter> parameters_of(const OptimizerRow& row) {
  Arguments a(nullptr);
  Optimizer o(*row.rule);
  declare_optimizer(a, o);
  return a.parameters();
}
std::vector<Parameter> parameters_of(const ScheduleRow& row) {
  return declared(row, LearningRate());
}

Mistakes check_layer(const Value& layer) {
  const Dict& args = *layer.as<Dict>();
  const std::string type = text_of(args, "type");
  Mistakes wrong;
  read_layer(args, layer.at, Resolve{}, wrong);
  return find_row(layer_rows(), type) ? labelled(type, std::move(wrong)) : wrong;
}

Names build_layer(const Builder& b, const Dict& args, const Aliases& aliases) {
  Mistakes wrong;
  const Resolve resolve = resolver(b, aliases);
  const Make make = read_layer(args, {}, resolve, wrong);
  fail_if_any(text_of(args, "type"), wrong);
  return make(b);
}

namespace {

// What the object of an optimizer asks for.
struct OptimizerArguments {
  const OptimizerRow* row = nullptr;
  std::optional<Optimizer> optimizer;
  std::optional<GradientClip> clip;
  std::optional<Value> schedule;

  void declare_common(Arguments& a) {
    a.optional("gradient_clip", clip, "for all parameters that have none of their own");
    a.optional("schedule", schedule, "of the learning rate: an object with a type");
  }
};

OptimizerArguments read_optimizer(const Dict& args, SourcePlace at, Mistakes& wrong) {
  OptimizerArguments o;
  o.row = row_of("optimizer", optimizer_rows(), args, at, wrong);
  if (o.row == nullptr) return o;
  Arguments a(&args, at);
  o.declare_common(a);
  declare_optimizer(a, o.optimizer.emplace(*o.row->rule));
  for (const Mistake& m : labelled(text("optimizer ", o.row->type), a.mistakes(Names{"type"})))
    wrong.push_back(m);
  return o;
}

std::function<std::string(const Builder&)> read_schedule(const Dict& args, SourcePlace at,
                                                         const LearningRate& rate,
                                                         Mistakes& wrong) {
  const ScheduleRow* row = row_of("schedule", schedule_rows(), args, at, wrong);
  if (row == nullptr) return nullptr;
  Mistakes found;
  if (!rate.var.empty() && row->type != "linear_lr_warmup")
    found.push_back(
        {at, text("'learning_rate' must be a number, found the variable '", rate.var, "'")});
  Arguments a(&args, at);
  auto make = row->declare(a, rate);
  for (const Mistake& m : a.mistakes(Names{"type", "learning_rate"})) found.push_back(m);
  for (const Mistake& m : labelled(text("schedule ", row->type), std::move(found)))
    wrong.push_back(m);
  return make;
}

}  // namespace

std::vector<Parameter> common_optimizer_parameters() {
  Arguments a(nullptr);
  OptimizerArguments().declare_common(a);
  return a.parameters();
}

Mistakes check_optimizer(const Value& optimizer) {
  Mistakes wrong;
  const OptimizerArguments o = read_optimizer(*optimizer.as<Dict>(), optimizer.at, wrong);
  if (o.schedule && o.schedule->as<Dict>())
    read_schedule(*o.schedule->as<Dict>(), o.schedule->at, o.optimizer->learning_rate, wrong);
  return wrong;
}

Optimizer make_optimizer(const Builder& b, const Dict& args) {
  Mistakes wrong;
  OptimizerArguments o = read_optimizer(args, {}, wrong);
  if (!wrong.empty())
    throw Error(Error::Kind::config, o.row ? "" : "optimizer: ", mistakes_text(wrong));
  Optimizer& optimizer = *o.optimizer;
  if (o.schedule)
    optimizer.learning_rate = build_schedule(b, *o.schedule->as<Dict>(), optimizer.learning_rate);
  if (o.clip)
    for (Var* v : b.main().parameters())
      if (v->param->clip.kind == GradientClip::Kind::none) v->param->clip = *o.clip;
  return optimizer;
}

std::string build_schedule(const Builder& b, const Dict& args, LearningRate rate) {
  Mistakes wrong;
  if (const Value* v = find(args, "learning_rate")) {
    if (const std::string* name = v->as<std::string>())
      rate = b.var(*name).name;
    else
      read_value(*v, "learning_rate", rate.value, wrong);
  }
  const auto make = read_schedule(args, {}, rate, wrong);
  if (!wrong.empty())
    throw Error(Error::Kind::config, make ? "" : "schedule: ", mistakes_text(wrong));
  return make(b);
}

}  // namespace paddle
