#include "trainer/model.h"

#include <algorithm>

#include "base/suggest.h"
#include "io/program_buffer.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "layers/registry.h"
#include "trainer/data_source.h"

namespace paddle {
namespace {

class ModelBuilder {
 public:
  ModelBuilder(const JobFile& file, Model& model, Mistakes& wrong)
      : file_(file),
        model_(model),
        builder_(model.net),
        wrong_(wrong),
        failed_(file.job.left_out) {}

  // Looks at all parts whatever is wrong with one of them, so that every mistake is reported at
  // once.
  void forward() {
    const JobSpec& job = file_.job;
    if (job.has_data) attempt(file_.place("data"), [&] { check_data(file_); });
    for (const JobInput& i : job.inputs) input(i);
    for (const Value& l : job.layers) layer(l);
    const SourcePlace cost_at = file_.place("cost");
    const std::string last = job.cost.empty() ? "" : lookup(job.cost, cost_at, "cost");
    for (size_t i = 0; i < job.outputs.size(); ++i)
      model_.outputs.push_back(lookup(job.outputs[i], file_.place("outputs", i), "output"));
    if (!last.empty())
      attempt(cost_at, [&] {
        model_.cost = builder_.var(last).shape == Shape{1} ? last : mean(builder_, last);
      });
    for (const JobEvaluator& e : job.evaluators) evaluator(e);
  }

  void backward(ModelKind kind) {
    attempt(file_.job.optimizer.at, [&] {
      if (kind == ModelKind::differentiates) {
        model_.params = append_backward(model_.net.main, model_.cost);
      } else {
        const Optimizer optimizer = make_optimizer(builder_, *file_.job.optimizer.as<Dict>());
        model_.params = minimize(builder_, model_.cost, optimizer).params_grads;
      }
      require(!model_.params.empty(), Error::Kind::config,
              "the cost depends on no trainable parameter");
    });
  }

 private:
  template <class F>
  void attempt(SourcePlace at, const F& f) {
    try {
      f();
    } catch (const Error& e) {
      wrong_.push_back({at, e.what()});
    }
  }

  void input(const JobInput& in) {
    attempt(in.at, [&] {
      require(!aliases_.count(in.name), Error::Kind::config, "there is an input '", in.name,
              "' already");
      failed_.insert(in.name);
      data(builder_, in.name, in.shape, {.dtype = in.dtype, .lod_level = in.lod_level});
      model_.inputs.push_back(in.name);
      aliases_[in.name] = in.name;
      failed_.erase(in.name);
    });
  }

  // Whether a name, or the name before ".1", stands for something that could not be built.
  bool failed(const std::string& name) const {
    return failed_.count(name) > 0 || failed_.count(name.substr(0, name.rfind('.'))) > 0;
  }

  // A layer that failed must not make all that build on it fail too.
  bool builds_on_failed(const Dict& args) const {
    for (const auto& [key, value] : args) {
      if (key == "name" || key == "type") continue;
      const List alone{value};
      const List* list = value.as<List>();
      for (const Value& v : list ? *list : alone)
        if (const std::string* name = v.as<std::string>(); name && failed(*name)) return true;
    }
    return false;
  }

  void layer(const Value& at) {
    const Dict& args = *at.as<Dict>();
    const std::string name = text_of(args, "name");
    attempt(at.at, [&] {
      require(text_of(args, "type") != "data", Error::Kind::config,
              "an input stands under 'inputs', not among the layers");
      require(name.empty() || !aliases_.count(name), Error::Kind::config, "the name '", name,
              "' is taken: each layer and input needs its own");
      const bool lacks = builds_on_failed(args);
      if (!name.empty()) failed_.insert(name);
      if (lacks) return;
      const Names results = build_layer(builder_, args, aliases_);
      if (name.empty()) return;
      failed_.erase(name);
      aliases_[name] = results[0];
      for (size_t k = 1; k < results.size(); ++k) aliases_[text(name, ".", k)] = results[k];
    });
  }

  // The variable of a name, "" where there is none.
  std::string lookup(const std::string& name, SourcePlace at, const char* what) {
    const auto it = aliases_.find(name);
    if (it != aliases_.end()) return it->second;
    if (failed(name)) return "";  // its own mistake is in the list
    Names known;
    for (const auto& [alias, var] : aliases_) known.push_back(alias);
    wrong_.push_back({at, text("there is no layer or input '", name, "' for the ", what,
                               did_you_mean(name, known))});
    return "";
  }

  void evaluator(const JobEvaluator& e) {
    Evaluator out{.name = e.name.empty() ? e.type : e.name};
    attempt(e.at, [&] {
      static const Names types = {
          "accuracy", "auc", "batch_auc", "calibration", "classification_error",
          "log_loss", "mean"};
      const bool compares = e.type != "mean";
      if (std::find(types.begin(), types.end(), e.type) == types.end())
        throw Error(Error::Kind::config, "there is no evaluator '", e.type, "'",
                    did_you_mean(e.type, types), ": the evaluators are ", listed(types));
      require(!e.input.empty(), Error::Kind::config, "the evaluator ", out.name,
              " needs an 'input'");
      require(!e.label.empty() || !compares, Error::Kind::config, "the evaluator ", out.name,
              " needs a 'label' to compare its input with");
      const std::string in = lookup(e.input, e.at, "evaluator"),
                        label = compares ? lookup(e.label, e.at, "evaluator") : "";
      if (in.empty() || (compares && label.empty())) return;
      if (e.type == "accuracy" || e.type == "classification_error") {
        out.var = accuracy(builder_, in, label, e.k);
        out.inverted = e.type != "accuracy";
      } else if (e.type == "auc" || e.type == "batch_auc") {
        const Auc a = auc(builder_, in, label, {.num_thresholds = e.num_thresholds});
        out.var = e.type == "auc" ? a.auc : a.batch_auc;
        out.states = a.states;
        if (e.type == "auc")
          out.histogram = {a.states[2], a.states[3]};
        else
          out.window = {a.states[0], a.states[1]};
        out.running = true;
      } else if (e.type == "log_loss") {
        out.var = mean(builder_, cross_entropy(builder_, in, label));
      } else if (e.type == "calibration") {
        out.var = mean(builder_, slice(builder_, in, {1}, {1}, {2}));
        out.under = mean(builder_, cast(builder_, label, builder_.var(in).dtype));
      } else {
        out.var = mean(builder_, in);
      }
      model_.evaluators.push_back(std::move(out));
    });
  }

  const JobFile& file_;
  Model& model_;
  Builder builder_;
  Mistakes& wrong_;
  Aliases aliases_;
  std::set<std::string> failed_;
};

}  // namespace

Names Model::fetches() const {
  Names out = {cost};
  for (const Evaluator& e : evaluators) {
    out.push_back(e.var);
    if (!e.under.empty()) out.push_back(e.under);
  }
  return out;
}

Mistakes find_mistakes(const JobFile& file) {
  Model model;
  Mistakes wrong;
  ModelBuilder(file, model, wrong).forward();
  return wrong;
}

Model build_model(const JobFile& file, uint32_t seed, ModelKind kind) {
  Model model;
  model.net.main.random_seed = seed;
  model.net.startup.random_seed = seed;
  Mistakes wrong;
  ModelBuilder builder(file, model, wrong);
  builder.forward();
  report(file.path, wrong);
  model.test = model.net.main.clone(true);
  builder.backward(kind);
  report(file.path, wrong);
  model.digest = program_digest(model.net.main);
  return model;
}

}  // namespace paddle
