// Job files: layers, optimizers and schedules from named arguments.
#include "layers/registry.h"

#include <functional>
#include <set>

#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::config);
    return e.what();
  }
  return "";
}

// In order; later ones refer to earlier ones by "name".
void build_layers(const Builder& b, const std::vector<Dict>& layers, Aliases& aliases) {
  for (const Dict& args : layers) {
    const std::string name = text_of(args, "name");
    const Names results = build_layer(b, args, aliases);
    for (size_t k = 0; k < results.size() && !name.empty(); ++k)
      aliases[k == 0 ? name : text(name, ".", k)] = results[k];
  }
}

}  // namespace

TEST_CASE("a job's layers make the program that calls make", "[layers]") {
  NetCase called, built;
  const std::string x = data(called.b, "x", {13}), y = data(called.b, "y", {1});
  const std::string h = fc(called.b, x, 20,
                           {.param_attr = {.initializer = init::Normal{0, 0.1f},
                                           .learning_rate = 2,
                                           .regularizer = l2_decay(0.01f)},
                            .bias_attr = ParamAttr::none(),
                            .act = "tanh",
                            .name = "hidden"});
  const std::string loss =
      mean(called.b, square_error_cost(called.b, fc(called.b, h, 1, {.name = "out"}), y));
  minimize(called.b, loss, Optimizer("momentum", 0.1, {{"momentum", 0.5}}));

  Aliases aliases;
  build_layers(built.b,
               {{{"type", "data"}, {"name", "x"}, {"shape", List{13}}},
                {{"type", "data"}, {"name", "y"}, {"shape", List{1}}},
                {{"type", "fc"},
                 {"name", "hidden"},
                 {"input", "x"},
                 {"size", List{20}},
                 {"act", "tanh"},
                 {"has_bias", false},
                 {"param_attr", Dict{{"initializer", Dict{{"type", "normal"}, {"scale", 0.1}}},
                                     {"learning_rate", 2},
                                     {"l2", 0.01}}}},
                {{"type", "fc"}, {"input", List{"hidden"}}, {"size", 1}, {"name", "out"}}},
               aliases);
  CHECK(aliases["out"] == "out.tmp_1");
  CHECK(aliases["hidden"] == "hidden.tmp_1");
  build_layers(built.b,
               {{{"type", "square_error_cost"}, {"input", "out"}, {"label", "y"}, {"name", "cost"}},
                {{"type", "mean"}, {"input", "cost"}, {"name", "mean_0"}}},
               aliases);
  minimize(
      built.b, aliases["mean_0"],
      make_optimizer(built.b, {{"type", "momentum"}, {"learning_rate", 0.1}, {"momentum", 0.5}}));
  CHECK(op_types(built.net.main) == op_types(called.net.main));
  CHECK(built.b.var("hidden.w_0") == called.b.var("hidden.w_0"));
  CHECK(*built.net.startup.global().ops().back() == *called.net.startup.global().ops().back());
}

TEST_CASE("every problem of a layer is reported at once", "[layers]") {
  const auto problems = [](const Dict& layer) {
    std::string out;
    for (const Mistake& m : check_layer(Value(layer))) out += m.what + "\n";
    return out;
  };
  CHECK(problems({{"type", "fc"}, {"input", "x"}, {"size", 3}}).empty());
  CHECK_THAT(problems({{"type", "fcc"}, {"input", "x"}}),
             Contains("there is no layer 'fcc' (did you mean 'fc'?)"));
  CHECK_THAT(problems({{"type", "fc"}, {"input", "x"}, {"sise", 3}, {"act", 7}, {"name", "h"}}),
             Contains("fc: there is no key 'sise'") && Contains("did you mean 'size'?") &&
                 Contains("fc: 'size' is missing") &&
                 Contains("fc: 'act' must be a text, found the number 7"));
  CHECK_THAT(problems({{"input", "x"}}), Contains("'type' is missing"));
  CHECK_THAT(
      problems({{"type", "conv2d"},
                {"input", "x"},
                {"num_filters", 2},
                {"filter_size", List{1, 2, 3}},
                {"param_attr", Dict{{"initializer", Dict{{"type", "normel"}}}, {"nam", "w"}}}}),
      Contains("'filter_size' must be one whole number or two") &&
          Contains("'param_attr': there is no key 'nam' (did you mean 'name'?)") &&
          Contains("there is no initializer 'normel' (did you mean 'normal'?)"));
}

TEST_CASE("references are checked", "[layers]") {
  NetCase c;
  Aliases aliases;
  build_layers(c.b, {{{"type", "data"}, {"name", "words"}, {"shape", List{4}}}}, aliases);
  CHECK_THAT(error_of([&] {
               build_layer(c.b, {{"type", "relu"}, {"input", "word"}}, aliases);
             }),
             Contains("there is no layer or input 'word' before this one") &&
                 Contains("did you mean 'words'?"));
}

TEST_CASE("layers with several results have numbered names", "[layers]") {
  NetCase c;
  Aliases aliases;
  build_layers(c.b,
               {{{"type", "data"}, {"name", "x"}, {"shape", List{6}}},
                {{"type", "split"}, {"input", "x"}, {"num_or_sections", 3}, {"name", "s"}},
                {{"type", "elementwise_add"}, {"x", "s"}, {"y", "s.2"}, {"name", "sum"}}},
               aliases);
  CHECK(c.net.main.global().ops().back()->in["Y"] == Names{"s.tmp_2"});
}

TEST_CASE("every row documents itself and says what it lacks", "[layers]") {
  CHECK(layer_rows().size() > 70);
  for (const LayerRow& row : layer_rows()) {
    INFO(row.type);
    CHECK_FALSE(row.meaning.empty());
    const std::vector<Parameter> parameters = parameters_of(row);
    REQUIRE_FALSE(parameters.empty());
    std::set<std::string> names;
    for (const Parameter& p : parameters) {
      CHECK(names.insert(p.name).second);
      CHECK_FALSE(p.meaning.empty());
      CHECK(p.required == p.fallback.empty());
    }
    NetCase c;
    CHECK_THAT(error_of([&] {
                 build_layer(c.b, {{"type", std::string(row.type)}});
               }),
               Contains("is missing"));
  }
}

TEST_CASE("every optimizer follows from its description", "[layers]") {
  for (const OptimizerRow& row : optimizer_rows()) {
    INFO(row.type);
    CHECK_FALSE(row.meaning.empty());
    std::set<std::string> names = {"type"};
    std::vector<Parameter> parameters = parameters_of(row);
    for (const Parameter& p : common_optimizer_parameters()) parameters.push_back(p);
    for (const Parameter& p : parameters) {
      CHECK(names.insert(p.name).second);
      CHECK_FALSE(p.meaning.empty());
    }
    NetCase c;
    const std::string predict = fc(c.b, data(c.b, "x", {2}), 1,
                                   {.param_attr = {.name = "w"}, .bias_attr = ParamAttr::none()});
    minimize(c.b, mean(c.b, predict), Optimizer(row.type, 0.1));
    c.start();
    c.run({{"x", Tensor::of<float>({1, 2}, {1, 2})}}, {});
    size_t kept = 0;
    for (const auto& v : c.net.main.global().vars()) kept += v->name.starts_with("w_");
    CHECK(kept == row.rule->states.size() + row.rule->powers.size());
    for (const auto& op : c.net.main.global().ops()) {
      if (op->type != row.type) continue;
      for (const optim::Setting& s : row.rule->settings)
        std::visit([&](auto v) { CHECK(op->attrs.get<decltype(v)>(s.name) == v); },
                   s.job_default());
      for (const optim::State& s : row.rule->states) CHECK(op->in[s.in] == op->out[s.out]);
    }
  }
}

TEST_CASE("optimizers come from named arguments", "[layers]") {
  NetCase c;
  const std::string loss = mean(c.b, fc(c.b, data(c.b, "x", {2}), 1));
  const Optimizer o = make_optimizer(
      c.b, {{"type", "adam"},
            {"learning_rate", 0.5},
            {"beta1", 0.8},
            {"l2", 0.1},
            {"gradient_clip", Dict{{"type", "value"}, {"max", 2}}},
            {"schedule",
             Dict{{"type", "exponential_decay"}, {"decay_steps", 10}, {"decay_rate", 0.5}}}});
  CHECK(o.attrs.get<float>("beta1") == 0.8f);
  CHECK(o.attrs.get<float>("beta2") == 0.999f);
  CHECK(o.regularization == l2_decay(0.1f));
  CHECK(c.b.var(o.learning_rate.var).shape == Shape{1});
  CHECK(c.b.var("fc_0.w_0").param->clip == clip_by_value(2));
  minimize(c.b, loss, o);
  c.start();
  c.run({{"x", Tensor::of<float>({1, 2}, {1, 2})}}, {});

  CHECK_THAT(error_of([&] {
               make_optimizer(c.b, {{"type", "adm"}});
             }),
             Contains("there is no optimizer 'adm' (did you mean 'adam'?)"));
  CHECK_THAT(error_of([&] {
               make_optimizer(c.b, {{"type", "sgd"}, {"momentum", 1}, {"l1", 1}, {"l2", 1}});
             }),
             Contains("there is no key 'momentum'") && Contains("l1 or l2, not both"));
  CHECK_THAT(error_of([&] {
               make_optimizer(c.b, {{"type", "sgd"},
                                    {"schedule", Dict{{"type", "cosine_decay"}, {"epocs", 1}}}});
             }),
             Contains("schedule cosine_decay") && Contains("did you mean 'epochs'?") &&
                 Contains("'step_each_epoch' is missing"));
}

TEST_CASE("layers write into a given variable, or make one of their own", "[layers]") {
  NetCase c;
  Aliases aliases;
  build_layers(
      c.b,
      {{{"type", "data"}, {"name", "x"}, {"shape", List{2}}},
       {{"type", "create_global_var"},
        {"name", "kept"},
        {"shape", List{1}},
        {"value", 3},
        {"persistable", true}},
       {{"type", "increment"}, {"input", "kept"}, {"value", 2}},
       {{"type", "zeros_like"}, {"input", "x"}, {"name", "zero"}},
       {{"type", "less_than"}, {"x", "zero"}, {"y", "x"}, {"name", "positive"}},
       {{"type", "logical_not"}, {"x", "positive"}, {"name", "not"}},
       {{"type", "assign_value"}, {"shape", List{2}}, {"values", List{4, 5}}, {"name", "given"}},
       {{"type", "sums"}, {"input", List{"x", "x"}}, {"out", "zero"}},
       {{"type", "gaussian_random_batch_size_like"},
        {"input", "x"},
        {"shape", List{-1, 3}},
        {"name", "noise"}},
       {{"type", "shape"}, {"input", "noise"}, {"name", "lengths"}}},
      aliases);
  CHECK(aliases["positive"] == "less_than_0.tmp_0");
  CHECK(aliases["not"] == "not.tmp_0");
  CHECK(c.b.var(aliases["not"]).stop_gradient);
  c.start();
  const std::vector<Tensor> out =
      c.run({{"x", Tensor::of<float>({2, 2}, {1, -1, -2, 2})}},
            {"kept", aliases["zero"], aliases["not"], aliases["given"], aliases["lengths"]});
  CHECK(values_of(out[0]) == std::vector<double>{5});
  CHECK(values_of(out[1]) == std::vector<double>{2, -2, -4, 4});
  CHECK(values_of(out[2]) == std::vector<double>{0, 1, 1, 0});
  CHECK(values_of(out[3]) == std::vector<double>{4, 5});
  CHECK(values_of(out[4]) == std::vector<double>{2, 3});
  CHECK_THAT(error_of([&] {
               build_layer(c.b, {{"type", "assign_value"}, {"shape", 3}, {"values", List{1}}});
             }),
             Contains("needs 3 values, found 1"));
}

TEST_CASE("a warm-up may lead to another schedule, and ftrl has decays beside its own l1 and l2",
          "[layers]") {
  NetCase c;
  const std::string loss = mean(c.b, fc(c.b, data(c.b, "x", {2}), 1));
  const std::string rate = build_schedule(
      c.b, {{"type", "exponential_decay"}, {"decay_steps", 1}, {"decay_rate", 0.5}}, 0.1);
  const std::string warm = build_schedule(
      c.b, {{"type", "linear_lr_warmup"}, {"warmup_steps", 2}, {"end_lr", 0.1}}, rate);
  const Optimizer o = make_optimizer(
      c.b, {{"type", "ftrl"}, {"learning_rate", 0.1}, {"l1", 0.5}, {"l2_decay", 0.25}});
  CHECK(c.b.var(warm).shape == Shape{1});
  CHECK(o.attrs.get<float>("l1") == 0.5f);
  CHECK(o.regularization == l2_decay(0.25f));
  CHECK_THAT(error_of([&] {
               build_schedule(c.b, {{"type", "linear_lr_warmup"}, {"warmup_steps", 2}}, rate);
             }),
             Contains("'end_lr' is missing"));
  CHECK_THAT(error_of([&] {
               build_schedule(
                   c.b, {{"type", "cosine_decay"}, {"step_each_epoch", 1}, {"epochs", 2}}, rate);
             }),
             Contains("must be a number"));
}

TEST_CASE("schedules come from named arguments", "[layers]") {
  NetCase c;
  const Dict decay = {{"type", "exponential_decay"}, {"decay_steps", 10}, {"decay_rate", 0.5}};
  const std::string given = build_schedule(c.b, decay, LearningRate(0.1));
  CHECK(c.b.var(given).shape == Shape{1});

  Dict warmup = {{"type", "linear_lr_warmup"},
                 {"learning_rate", given},
                 {"warmup_steps", 5},
                 {"start_lr", 0.0},
                 {"end_lr", 0.1}};
  CHECK(build_schedule(c.b, warmup) != given);
  CHECK_THAT(error_of([&] {
               Dict wrong = decay;
               wrong.emplace_back("learning_rate", given);
               build_schedule(c.b, wrong);
             }),
             Contains("must be a number, found the variable '" + given + "'"));
  CHECK_THAT(error_of([&] {
               build_schedule(c.b, {{"type", "exponential_deca"}});
             }),
             Contains("did you mean 'exponential_decay'?"));
  warmup[1].second = "nothing";
  CHECK_THAT(error_of([&] { build_schedule(c.b, warmup); }), Contains("'nothing'"));
}
