#include "trainer/model.h"

#include <algorithm>
#include <charconv>

#include "base/suggest.h"
#include "io/program_buffer.h"
#include "job_generated.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "layers/registry.h"
#include "trainer/data_source.h"

namespace paddle {
namespace {

Value value_of(const JsonValue& v) {
  switch (v.kind) {
    case JsonValue::Kind::null: return {};
    case JsonValue::Kind::boolean: return v.text == "true";
    case JsonValue::Kind::text: return v.text;
    case JsonValue::Kind::number:
      if (int64_t whole = 0; std::from_chars(v.text.data(), v.text.data() + v.text.size(), whole) ==
                             std::from_chars_result{v.text.data() + v.text.size(), std::errc{}})
        return whole;
      return std::strtod(v.text.c_str(), nullptr);
    case JsonValue::Kind::list: {
      List list;
      for (const JsonValue& i : v.items) list.push_back(value_of(i));
      return list;
    }
    case JsonValue::Kind::object: {
      Dict dict;
      for (const JsonMember& m : v.members) dict.emplace_back(m.key, value_of(m.value));
      return dict;
    }
  }
  return {};
}

Dict dict_of(const JsonValue& v) {
  const Value value = value_of(v);
  return *value.as<Dict>();
}

// Line of the i-th element of a top-level list.
const JsonValue& element(const JsonValue& tree, const char* list, size_t i) {
  const JsonValue& v = *tree.find(list);
  return v.kind == JsonValue::Kind::list ? v.items[i] : v;
}

class ModelBuilder {
 public:
  ModelBuilder(const JobFile& file, Model& model, Problems& problems)
      : file_(file),
        model_(model),
        builder_(model.net),
        problems_(problems),
        failed_(file.left_out) {}

  // Looks at all parts whatever is wrong with one of them, so that every mistake is told at once.
  void forward() {
    attempt(file_.tree.find("data")->line, [&] { check_data(file_); });
    for (size_t i = 0; i < file_.job->inputs.size(); ++i) input(i);
    for (size_t i = 0; i < file_.job->layers.size(); ++i) layer(i);
    const int cost_line = file_.tree.find("cost")->line;
    const std::string last = lookup(file_.job->cost, cost_line, "cost");
    for (size_t i = 0; i < file_.job->outputs.size(); ++i)
      model_.outputs.push_back(
          lookup(file_.job->outputs[i], element(file_.tree, "outputs", i).line, "output"));
    if (!last.empty())
      attempt(cost_line, [&] {
        model_.cost = builder_.var(last).shape == Shape{1} ? last : mean(builder_, last);
      });
    for (size_t i = 0; i < file_.job->evaluators.size(); ++i) evaluator(i);
    if (!problems_.any()) return;
    const JsonValue& optimizer = *file_.tree.find("optimizer");
    attempt(optimizer.line, [&] { make_optimizer(builder_, dict_of(optimizer)); });
  }

  void backward(ModelKind kind) {
    const JsonValue& at = *file_.tree.find("optimizer");
    attempt(at.line, [&] {
      if (kind == ModelKind::differentiates) {
        model_.params = append_backward(model_.net.main, model_.cost);
      } else {
        const Optimizer optimizer = make_optimizer(builder_, dict_of(at));
        model_.params = minimize(builder_, model_.cost, optimizer).params_grads;
      }
      require(!model_.params.empty(), Error::Kind::config,
              "the cost depends on no trainable parameter");
    });
  }

 private:
  template <class F>
  void attempt(int line, const F& f) {
    try {
      f();
    } catch (const Error& e) {
      problems_.add(line, e.what());
    }
  }

  void input(size_t i) {
    const job::InputT& in = *file_.job->inputs[i];
    attempt(element(file_.tree, "inputs", i).line, [&] {
      require(!aliases_.count(in.name), Error::Kind::config, "there is an input '", in.name,
              "' already");
      failed_.insert(in.name);
      const Shape shape = in.shape.empty() ? Shape{1} : Shape(std::span<const int64_t>(in.shape));
      data(
          builder_, in.name, shape,
          {.dtype = in.dtype.empty() ? DType::f32 : dtype_of(in.dtype), .lod_level = in.lod_level});
      model_.inputs.push_back(in.name);
      aliases_[in.name] = in.name;
      failed_.erase(in.name);
    });
  }

  // Whether a name, or the name before ".1", stands for something that could not be built.
  bool failed(const std::string& name) const {
    return failed_.count(name) > 0 || failed_.count(name.substr(0, name.rfind('.'))) > 0;
  }

  void layer(size_t i) {
    const JsonValue& at = element(file_.tree, "layers", i);
    const job::LayerT& l = *file_.job->layers[i];
    attempt(at.line, [&] {
      require(l.type != "data", Error::Kind::config,
              "an input stands under 'inputs', not among the layers");
      require(l.name.empty() || !aliases_.count(l.name), Error::Kind::config, "the name '", l.name,
              "' is taken: each layer and input needs its own");
      // A layer that failed must not make all that build on it fail too.
      Names used = l.input;
      for (const std::string* name : {&l.x, &l.y, &l.index, &l.label}) used.push_back(*name);
      const bool lacks =
          std::any_of(used.begin(), used.end(), [&](const std::string& n) { return failed(n); });
      if (!l.name.empty()) failed_.insert(l.name);
      if (lacks) return;
      const Names results = build_layer(builder_, dict_of(at), aliases_);
      if (l.name.empty()) return;
      failed_.erase(l.name);
      aliases_[l.name] = results[0];
      for (size_t k = 1; k < results.size(); ++k) aliases_[text(l.name, ".", k)] = results[k];
    });
  }

  // The variable of a name, "" where there is none.
  std::string lookup(const std::string& name, int line, const char* what) {
    const auto it = aliases_.find(name);
    if (it != aliases_.end()) return it->second;
    if (failed(name)) return "";  // that was told already
    Names known;
    for (const auto& [alias, var] : aliases_) known.push_back(alias);
    problems_.add(line, text("there is no layer or input '", name, "' for the ", what,
                             did_you_mean(name, known)));
    return "";
  }

  void evaluator(size_t i) {
    const job::EvaluatorT& e = *file_.job->evaluators[i];
    const int line = element(file_.tree, "evaluators", i).line;
    Evaluator out{.name = e.name.empty() ? e.type : e.name};
    attempt(line, [&] {
      static const Names types = {"accuracy", "auc", "classification_error", "mean"};
      const bool compares = e.type != "mean";
      if (std::find(types.begin(), types.end(), e.type) == types.end())
        throw Error(Error::Kind::config, "there is no evaluator '", e.type, "'",
                    did_you_mean(e.type, types), ": the evaluators are ", listed(types));
      require(!e.input.empty(), Error::Kind::config, "the evaluator ", out.name,
              " needs an 'input'");
      require(!e.label.empty() || !compares, Error::Kind::config, "the evaluator ", out.name,
              " needs a 'label' to compare its input with");
      const std::string in = lookup(e.input, line, "evaluator"),
                        label = compares ? lookup(e.label, line, "evaluator") : "";
      if (in.empty() || (compares && label.empty())) return;
      if (e.type == "accuracy" || e.type == "classification_error") {
        out.var = accuracy(builder_, in, label, e.k);
        out.inverted = e.type != "accuracy";
      } else if (e.type == "auc") {
        const Auc a = auc(builder_, in, label, {.num_thresholds = e.num_thresholds});
        out.var = a.auc;
        out.states = a.states;
        out.running = true;
      } else {
        out.var = mean(builder_, in);
      }
      model_.evaluators.push_back(std::move(out));
    });
  }

  const JobFile& file_;
  Model& model_;
  Builder builder_;
  Problems& problems_;
  Aliases aliases_;
  std::set<std::string> failed_;
};

}  // namespace

Names Model::fetches() const {
  Names out = {cost};
  for (const Evaluator& e : evaluators) out.push_back(e.var);
  return out;
}

void find_mistakes(const JobFile& file, Problems& problems) {
  Model model;
  ModelBuilder(file, model, problems).forward();
}

Model build_model(const JobFile& file, uint32_t seed, ModelKind kind) {
  Model model;
  model.net.main.random_seed = seed;
  model.net.startup.random_seed = seed;
  Problems problems(file.path);
  ModelBuilder builder(file, model, problems);
  builder.forward();
  problems.report();
  model.test = model.net.main.clone(true);
  builder.backward(kind);
  problems.report();
  model.digest = program_digest(model.net.main);
  return model;
}

}  // namespace paddle
