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

std::string type_of(const Dict& args, Names& problems) {
  const Value* v = find(args, "type");
  const std::string* type = v ? v->as<std::string>() : nullptr;
  if (type == nullptr) problems.push_back("'type' is missing");
  return type ? *type : "";
}

std::string layer_name(const Dict& args) {
  const Value* v = find(args, "name");
  const std::string* name = v ? v->as<std::string>() : nullptr;
  return name ? *name : "";
}

// The row of a layer and what its arguments ask for; problems are added, the result is then null.
Make read_layer(const Dict& args, const Resolve& resolve, Names& problems) {
  const std::string type = type_of(args, problems);
  if (type.empty()) return nullptr;
  const LayerRow* row = find_row(layer_rows(), type);
  if (row == nullptr) {
    problems.push_back(no_such("layer", layer_rows(), type));
    return nullptr;
  }
  Arguments a(&args);
  Make make = row->declare(a, resolve);
  const Names found = a.problems({"type", "name"});
  problems.insert(problems.end(), found.begin(), found.end());
  return found.empty() ? make : nullptr;
}

[[noreturn]] void fail(const std::string& where, const Names& problems) {
  throw Error(Error::Kind::config, where, joined(problems, "; "));
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

// "layer 2 (fc 'hidden')"
std::string label(size_t i, const Dict& args) {
  const Value* type = find(args, "type");
  const std::string name = layer_name(args);
  const std::string* kind = type ? type->as<std::string>() : nullptr;
  return text("layer ", i + 1, " (", kind ? *kind : "?", name.empty() ? "" : text(" '", name, "'"),
              ")");
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
    for (auto* topic : {core_rows, loss_rows, math_rows, shape_rows, fill_rows, logic_rows}) {
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

Names build_layer(const Builder& b, const Dict& args, const Aliases& aliases) {
  Names problems;
  const Resolve resolve = resolver(b, aliases);
  const Make make = read_layer(args, resolve, problems);
  if (!problems.empty()) fail(type_of(args, problems) + ": ", problems);
  return make(b);
}

void build_layers(const Builder& b, const std::vector<Dict>& layers, Aliases& aliases) {
  Names problems;
  for (size_t i = 0; i < layers.size(); ++i) {
    Names found;
    read_layer(layers[i], Resolve{}, found);
    for (const std::string& p : found) problems.push_back(label(i, layers[i]) + ": " + p);
  }
  if (!problems.empty()) fail("", problems);
  for (size_t i = 0; i < layers.size(); ++i) {
    try {
      const std::string name = layer_name(layers[i]);
      require(name.empty() || (!aliases.contains(name) && !b.block().find(name)),
              Error::Kind::config, "the name '", name,
              "' is taken: each layer and input needs its own");
      const Names results = build_layer(b, layers[i], aliases);
      for (size_t k = 0; k < results.size() && !name.empty(); ++k)
        aliases[k == 0 ? name : text(name, ".", k)] = results[k];
    } catch (Error& e) {
      throw e.within("building ", label(i, layers[i]));
    }
  }
}

Optimizer make_optimizer(const Builder& b, const Dict& args) {
  Names problems;
  const std::string type = type_of(args, problems);
  const OptimizerRow* row = find_row(optimizer_rows(), type);
  if (row == nullptr && problems.empty())
    problems.push_back(no_such("optimizer", optimizer_rows(), type));
  if (!problems.empty()) fail("optimizer: ", problems);

  Arguments a(&args);
  std::optional<GradientClip> clip;
  a.optional("gradient_clip", clip, "for all parameters that have none of their own");
  Optimizer optimizer(*row->rule);
  declare_optimizer(a, optimizer);
  problems = a.problems({"type", "schedule"});
  if (!problems.empty()) fail("optimizer " + type + ": ", problems);
  const Value* schedule = find(args, "schedule");
  if (schedule != nullptr && !schedule->as<std::monostate>()) {
    const Dict* dict = schedule->as<Dict>();
    if (dict == nullptr) fail("optimizer: ", {"'schedule' must be an object with a 'type'"});
    optimizer.learning_rate = build_schedule(b, *dict, optimizer.learning_rate);
  }
  if (clip)
    for (Var* v : b.main().parameters())
      if (v->param->clip.kind == GradientClip::Kind::none) v->param->clip = *clip;
  return optimizer;
}

std::string build_schedule(const Builder& b, const Dict& args, LearningRate rate) {
  Names problems;
  const std::string type = type_of(args, problems);
  const ScheduleRow* row = find_row(schedule_rows(), type);
  if (row == nullptr && problems.empty())
    problems.push_back(no_such("schedule", schedule_rows(), type));
  if (!problems.empty()) fail("schedule: ", problems);
  if (const Value* v = find(args, "learning_rate")) {
    if (const std::string* name = v->as<std::string>())
      rate = b.var(*name).name;
    else
      Arguments::read(*v, "learning_rate", rate.value, problems);
  }
  if (!rate.var.empty() && type != "linear_lr_warmup")
    problems.push_back(
        text("'learning_rate' must be a number, found the variable '", rate.var, "'"));
  Arguments a(&args);
  const auto make = row->declare(a, rate);
  const Names found = a.problems({"type", "learning_rate"});
  problems.insert(problems.end(), found.begin(), found.end());
  if (!problems.empty()) fail("schedule " + type + ": ", problems);
  return make(b);
}

}  // namespace paddle
