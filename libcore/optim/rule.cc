#include "optim/rule.h"

#include <utility>

#include "base/error.h"
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "optim/rules.h"
#ifndef PS_GPU
#include "optim/stream.h"
#endif

namespace paddle::optim {
namespace {

// Calls f with the first n states.
template <class T, class F, size_t... i>
void with_states(const Call<T>& call, const F& f, std::index_sequence<i...>) {
  f(call.states[i]...);
}

// `Choose` makes the functor of the numbers and says whether rows without a gradient change too.
template <class T, class Choose>
void run_dense(const Rule& rule, const Call<T>& call, const T* grad, int64_t n) {
  Choose{}(Numbers<T>(rule.numbers, call.numbers), [&]<class F>(const F& f, bool) {
    with_states(
        call,
        [&](auto*... s) {
#ifdef PS_GPU
          update_dense(call.device, n, ReadsInputs<F, T>{f, call.inputs}, call.param, grad, s...);
#else  // only shards update from another place, and store past the cache
          if (call.from && call.streams)
            stream_dense_from(call.device, n, f, call.from, call.param, grad, s...);
          else if (call.from)
            update_dense_from(call.device, n, f, call.from, call.param, grad, s...);
          else
            update_dense(call.device, n, f, call.param, grad, s...);
#endif
        },
        std::make_index_sequence<F::states>{});
  });
}

template <class T, class Choose>
void run_rows(const Rule& rule, const Call<T>& call, const Rows<T>& rows) {
  Choose{}(Numbers<T>(rule.numbers, call.numbers), [&]<class F>(const F& f, bool all_rows) {
    with_states(
        call,
        [&](auto*... s) {
          if (all_rows)
            update_all_rows(call.device, rows, f, call.param, s...);
          else
            update_rows(call.device, rows, f, call.param, s...);
        },
        std::make_index_sequence<F::states>{});
  });
}

#ifndef PS_GPU  // rows that lie apart are those of a shard

template <class T, class Choose>
void run_rows_at(const Rule& rule, std::span<const T> numbers, const RowsAt<T>& rows) {
  Choose{}(Numbers<T>(rule.numbers, numbers),
           [&]<class F>(const F& f, bool) { update_rows_at(rows, f); });
}

#else

template <class T, class Choose>
constexpr decltype(Updates<T>::rows_at) run_rows_at = nullptr;

#endif

template <class T, class Choose>
int count_states(const Rule& rule, std::span<const T> numbers) {
  int count = 0;
  Choose{}(Numbers<T>(rule.numbers, numbers), [&]<class F>(const F&, bool) { count = F::states; });
  return count;
}

template <class T, class Choose>
bool changes_all_rows(const Rule& rule, std::span<const T> numbers) {
  bool all = false;
  Choose{}(Numbers<T>(rule.numbers, numbers), [&](const auto&, bool all_rows) { all = all_rows; });
  return all;
}

template <class T>
void add_rows(const Rule&, const Call<T>& call, const Rows<T>& rows) {
  scatter_add_rows(call.device, rows.ids, rows.count, rows.width, -call.numbers[0], rows.values,
                   call.param);
}

// The names of its numbers follow from the description.
Rule described(Description description) {
  Rule r{std::move(description)};
  if (r.takes_rate) r.inputs.push_back("LearningRate");
  for (const Power& p : r.powers) r.inputs.push_back(p.slot);
  r.numbers = r.inputs;
  for (const Setting& s : r.settings) r.numbers.push_back(s.name);
  return r;
}

template <class Choose>
Rule rule(Description description, Choose) {
  Rule r = described(std::move(description));
  r.f32 = {run_dense<float, Choose>, run_rows<float, Choose>, run_rows_at<float, Choose>,
           count_states<float, Choose>, changes_all_rows<float, Choose>};
  r.f64 = {run_dense<double, Choose>, run_rows<double, Choose>};
  return r;
}

const char* const squares = "decay of the squares";
const char* const not_zero = "keeps from 0 / 0";

// Numbers that several rules have.
Setting beta1() { return {"beta1", 0.9f, "decay of the mean of gradients"}; }
Setting beta2() { return {"beta2", 0.999f, "decay of the mean of their squares"}; }
Setting epsilon(float value) { return {"epsilon", value, not_zero}; }
Power beta1_power() { return {"Beta1Pow", "beta1_pow_acc", "beta1"}; }
Power beta2_power() { return {"Beta2Pow", "beta2_pow_acc", "beta2"}; }

// The only rule that is linear in the gradient and has no state: rows are added as they come.
Rule sgd() {
  Rule r = rule({.type = "sgd", .meaning = "p -= lr * g"},
                [](const auto& n, const auto& go) { go(Sgd{n("LearningRate")}, false); });
  r.f32.rows = add_rows<float>;
  r.f64.rows = add_rows<double>;
  r.takes_repeated_rows = true;
  return r;
}

Rule momentum() {
  return rule({.type = "momentum",
               .meaning = "v = mu * v + g; p -= lr * v",
               .states = {{"Velocity", "VelocityOut", "velocity"}},
               .settings = {{.name = "mu",
                             .fallback = 0.0f,
                             .meaning = "share that is kept",
                             .required = true,
                             .key = "momentum",
                             .key_default = 0.9f},
                            {"use_nesterov", false, "look ahead"}}},
              [](const auto& n, const auto& go) {
                go(Momentum{n("LearningRate"), n("mu"), n("use_nesterov") != 0}, true);
              });
}

Rule adagrad() {
  return rule({.type = "adagrad",
               .meaning = "rates fall with the sum of squared gradients",
               .states = {{"Moment", "MomentOut", "moment", false, "initial_accumulator_value"}},
               .settings = {epsilon(1e-6f)},
               .first_values = {{"initial_accumulator_value", "first sum of squares"}}},
              [](const auto& n, const auto& go) {
                go(Adagrad{n("LearningRate"), n("epsilon")}, false);
              });
}

Rule adam() {
  return rule(
      {.type = "adam",
       .meaning = "means of gradients and of their squares",
       .states = {{"Moment1", "Moment1Out", "moment1"}, {"Moment2", "Moment2Out", "moment2"}},
       .powers = {beta1_power(), beta2_power()},
       .settings = {beta1(),
                    beta2(),
                    epsilon(1e-8f),
                    {"lazy_mode", false, "sparse gradients touch only their own rows"}},
       .learning_rate = 0.001f},
      [](const auto& n, const auto& go) {
        go(Adam(n("LearningRate"), n("Beta1Pow"), n("Beta2Pow"), n("beta1"), n("beta2"),
                n("epsilon")),
           n("lazy_mode") == 0);
      });
}

Rule adamax() {
  return rule({.type = "adamax",
               .meaning = "adam with the largest gradient",
               .states = {{"Moment", "MomentOut", "moment"}, {"InfNorm", "InfNormOut", "inf_norm"}},
               .powers = {beta1_power()},
               .settings = {beta1(), beta2(), epsilon(1e-8f)},
               .learning_rate = 0.001f},
              [](const auto& n, const auto& go) {
                go(Adamax(n("LearningRate"), n("Beta1Pow"), n("beta1"), n("beta2"), n("epsilon")),
                   true);
              });
}

Rule decayed_adagrad() {
  return rule({.type = "decayed_adagrad",
               .meaning = "adagrad that forgets",
               .states = {{"Moment", "MomentOut", "moment"}},
               .settings = {{"decay", 0.95f, squares}, epsilon(1e-6f)}},
              [](const auto& n, const auto& go) {
                go(DecayedAdagrad{n("LearningRate"), n("decay"), n("epsilon")}, true);
              });
}

Rule rmsprop() {
  return rule(
      {.type = "rmsprop",
       .meaning = "divides by the root of the mean square",
       .states = {{"Moment", "MomentOut", "momentum"},
                  {"MeanSquare", "MeanSquareOut", "mean_square"},
                  {"MeanGrad", "MeanGradOut", "mean_grad", true}},
       .settings =
           {{.name = "epsilon", .fallback = 1e-10f, .meaning = not_zero, .key_default = 1e-6f},
            {.name = "decay",
             .fallback = 0.9f,
             .meaning = squares,
             .key = "rho",
             .key_default = 0.95f},
            {"momentum", 0.0f, "share that is kept"},
            {"centered", false, "subtract the squared mean"}}},
      [](const auto& n, const auto& go) {
        if (n("centered") != 0)
          go(CenteredRmsprop{n("LearningRate"), n("decay"), n("epsilon"), n("momentum")}, true);
        else
          go(Rmsprop{n("LearningRate"), n("decay"), n("epsilon"), n("momentum")}, true);
      });
}

Rule adadelta() {
  return rule({.type = "adadelta",
               .meaning = "rates from the parameters' own changes",
               .states = {{"AvgSquaredGrad", "AvgSquaredGradOut", "_avg_squared_grad"},
                          {"AvgSquaredUpdate", "AvgSquaredUpdateOut", "_avg_squared_update"}},
               .settings = {epsilon(1e-6f), {"rho", 0.95f, squares}},
               .takes_rate = false},
              [](const auto& n, const auto& go) {
                go(Adadelta{n("rho"), n("epsilon")}, true);
              });
}

Rule ftrl() {
  return rule({.type = "ftrl",
               .meaning = "follow the regularised leader",
               .states = {{"SquaredAccumulator", "SquaredAccumOut", "squared"},
                          {"LinearAccumulator", "LinearAccumOut", "linear"}},
               .settings = {{"l1", 0.0f, "of the rule"},
                            {"l2", 0.0f, "of the rule"},
                            {"lr_power", -0.5f, "power of the rate's decay"}}},
              [](const auto& n, const auto& go) {
                go(Ftrl{n("LearningRate"), n("l1"), n("l2"), n("lr_power")}, false);
              });
}

#ifndef PS_GPU

// One sum of squares per row: the mean over the row's gradient is added to it.
void rowwise_adagrad_at(const Rule& rule, std::span<const float> numbers,
                        const RowsAt<float>& rows) {
  const Numbers<float> n(rule.numbers, numbers);
  run_loop<worth_clones<float>>(RowwiseAdagradLoop{}, rows, n("LearningRate"), n("epsilon"));
}

Rule rowwise_adagrad() {
  Rule r =
      described({.type = "rowwise_adagrad",
                 .meaning = "adagrad with one sum of squares per row",
                 .states = {{"Moment", "MomentOut", "moment", false, "initial_accumulator_value"}},
                 .settings = {epsilon(1e-6f)},
                 .first_values = {{"initial_accumulator_value", "first sum of squares"}},
                 .elementwise = false});
  r.f32.rows_at = rowwise_adagrad_at;
  r.f32.states = [](const Rule&, std::span<const float>) { return 1; };
  r.state_per_row = true;
  return r;
}

#endif

std::vector<Rule> make_rules() {
  return {sgd(),     momentum(), adagrad(), adam(), adamax(), decayed_adagrad(),
          rmsprop(), adadelta(), ftrl()};
}

void check_ids(const Device& device, const int64_t* ids, int64_t count, int64_t height) {
  const int64_t bad = first_bad_id(device, ids, count, height);
  if (bad >= 0)
    throw Error(Error::Kind::data, "row ", bad, " of the gradient names row ",
                read_one(device, ids + bad), " of a table of ", height,
                " rows: look at the ids of this batch");
}

// The scratch holds the merged values, their ids, and what the merge needs.
template <class T>
Rows<T> merged(const Device& device, const Rows<T>& rows, void* scratch) {
  auto* ids = static_cast<int64_t*>(scratch);
  auto* work = ids + rows.count;
  auto* values = reinterpret_cast<T*>(reinterpret_cast<char*>(work) +
                                      (row_scratch_bytes(rows.count) + 63) / 64 * 64);
  Rows<T> out = rows;
  out.count = merge_rows(device, rows.ids, rows.count, rows.width, rows.values, work, ids, values);
  out.ids = ids;
  out.values = values;
  return out;
}

template <class T>
void apply_any_rows(const Rule& rule, const Updates<T>& updates, const Call<T>& call,
                    const Rows<T>& rows, void* scratch) {
  check_ids(call.device, rows.ids, rows.count, rows.height);
  updates.rows(rule, call, rule.takes_repeated_rows ? rows : merged(call.device, rows, scratch));
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = make_rules();
  return all;
}

const Rule* find_rule(std::string_view type) {
  for (const Rule& r : rules())
    if (r.type == type) return &r;
  return nullptr;
}

#ifndef PS_GPU
const Rule* find_row_rule(std::string_view type) {
  static const Rule rowwise = rowwise_adagrad();
  return type == rowwise.type ? &rowwise : find_rule(type);
}
#endif

const std::vector<const Description*>& descriptions() {
  static const std::vector<const Description*> all = [] {
    std::vector<const Description*> out;
    for (const Rule& r : rules()) out.push_back(&r);
    return out;
  }();
  return all;
}

const Description* find_description(std::string_view type) { return find_rule(type); }

void apply_dense(const Rule& rule, const Call<float>& call, const float* grad, int64_t n) {
  rule.f32.dense(rule, call, grad, n);
}
void apply_dense(const Rule& rule, const Call<double>& call, const double* grad, int64_t n) {
  rule.f64.dense(rule, call, grad, n);
}

template <class T>
size_t rows_scratch_bytes(const Rule& rule, int64_t count, int64_t width) {
  if (rule.takes_repeated_rows) return 0;
  return static_cast<size_t>(count) * (sizeof(int64_t) + static_cast<size_t>(width) * sizeof(T)) +
         row_scratch_bytes(count) + 64;
}
template size_t rows_scratch_bytes<float>(const Rule&, int64_t, int64_t);
template size_t rows_scratch_bytes<double>(const Rule&, int64_t, int64_t);

void apply_rows(const Rule& rule, const Call<float>& call, const Rows<float>& rows, void* scratch) {
  apply_any_rows(rule, rule.f32, call, rows, scratch);
}
void apply_rows(const Rule& rule, const Call<double>& call, const Rows<double>& rows,
                void* scratch) {
  apply_any_rows(rule, rule.f64, call, rows, scratch);
}

}  // namespace paddle::optim
