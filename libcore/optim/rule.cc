#include "optim/rule.h"

#include <utility>

#include "base/error.h"
#include "kernels/rows.h"
#include "optim/rules.h"
#include "optim/stream.h"

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
          if (call.from && call.streams)
            stream_dense_from(call.pool, n, f, call.from, call.param, grad, s...);
          else if (call.from)
            update_dense_from(call.pool, n, f, call.from, call.param, grad, s...);
          else
            update_dense(call.pool, n, f, call.param, grad, s...);
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
            update_all_rows(call.pool, rows, f, call.param, s...);
          else
            update_rows(call.pool, rows, f, call.param, s...);
        },
        std::make_index_sequence<F::states>{});
  });
}

template <class T>
void add_rows(const Rule&, const Call<T>& call, const Rows<T>& rows) {
  scatter_add_rows(call.pool, rows.ids, rows.count, rows.width, -call.numbers[0], rows.values,
                   call.param);
}

template <class Choose>
Rule rule(std::string type, std::vector<State> states, std::vector<std::string> inputs,
          std::vector<Setting> settings, Choose) {
  Rule r{.type = std::move(type),
         .states = std::move(states),
         .inputs = std::move(inputs),
         .settings = std::move(settings),
         .f32 = {run_dense<float, Choose>, run_rows<float, Choose>},
         .f64 = {run_dense<double, Choose>, run_rows<double, Choose>}};
  r.numbers = r.inputs;
  for (const Setting& s : r.settings) r.numbers.push_back(s.name);
  return r;
}

// The only rule that is linear in the gradient and has no state: rows are added as they come.
Rule sgd() {
  Rule r = rule("sgd", {}, {"LearningRate"}, {},
                [](const auto& n, const auto& go) { go(Sgd{n("LearningRate")}, false); });
  r.f32.rows = add_rows<float>;
  r.f64.rows = add_rows<double>;
  r.takes_repeated_rows = true;
  return r;
}

std::vector<Rule> make_rules() {
  return {
      sgd(),
      rule("momentum", {{"Velocity", "VelocityOut"}}, {"LearningRate"},
           {{"mu", 0.0f, true}, {"use_nesterov", false}},
           [](const auto& n, const auto& go) {
             go(Momentum{n("LearningRate"), n("mu"), n("use_nesterov") != 0}, true);
           }),
      rule("adagrad", {{"Moment", "MomentOut"}}, {"LearningRate"}, {{"epsilon", 1e-6f}},
           [](const auto& n, const auto& go) {
             go(Adagrad{n("LearningRate"), n("epsilon")}, false);
           }),
      rule("decayed_adagrad", {{"Moment", "MomentOut"}}, {"LearningRate"},
           {{"decay", 0.95f}, {"epsilon", 1e-6f}},
           [](const auto& n, const auto& go) {
             go(DecayedAdagrad{n("LearningRate"), n("decay"), n("epsilon")}, true);
           }),
      rule("adam", {{"Moment1", "Moment1Out"}, {"Moment2", "Moment2Out"}},
           {"LearningRate", "Beta1Pow", "Beta2Pow"},
           {{"beta1", 0.9f}, {"beta2", 0.999f}, {"epsilon", 1e-8f}, {"lazy_mode", false}},
           [](const auto& n, const auto& go) {
             go(Adam(n("LearningRate"), n("Beta1Pow"), n("Beta2Pow"), n("beta1"), n("beta2"),
                     n("epsilon")),
                n("lazy_mode") == 0);
           }),
      rule("adamax", {{"Moment", "MomentOut"}, {"InfNorm", "InfNormOut"}},
           {"LearningRate", "Beta1Pow"}, {{"beta1", 0.9f}, {"beta2", 0.999f}, {"epsilon", 1e-8f}},
           [](const auto& n, const auto& go) {
             go(Adamax(n("LearningRate"), n("Beta1Pow"), n("beta1"), n("beta2"), n("epsilon")),
                true);
           }),
      rule(
          "rmsprop",
          {{"MeanSquare", "MeanSquareOut"},
           {"Moment", "MomentOut"},
           {"MeanGrad", "MeanGradOut", true}},
          {"LearningRate"},
          {{"decay", 0.9f}, {"epsilon", 1e-10f}, {"momentum", 0.0f}, {"centered", false}},
          [](const auto& n, const auto& go) {
            if (n("centered") != 0)
              go(CenteredRmsprop{n("LearningRate"), n("decay"), n("epsilon"), n("momentum")}, true);
            else
              go(Rmsprop{n("LearningRate"), n("decay"), n("epsilon"), n("momentum")}, true);
          }),
      rule("adadelta",
           {{"AvgSquaredGrad", "AvgSquaredGradOut"}, {"AvgSquaredUpdate", "AvgSquaredUpdateOut"}},
           {}, {{"rho", 0.95f}, {"epsilon", 1e-6f}},
           [](const auto& n, const auto& go) {
             go(Adadelta{n("rho"), n("epsilon")}, true);
           }),
      rule("ftrl",
           {{"SquaredAccumulator", "SquaredAccumOut"}, {"LinearAccumulator", "LinearAccumOut"}},
           {"LearningRate"}, {{"l1", 0.0f}, {"l2", 0.0f}, {"lr_power", -0.5f}},
           [](const auto& n, const auto& go) {
             go(Ftrl{n("LearningRate"), n("l1"), n("l2"), n("lr_power")}, false);
           }),
  };
}

void check_ids(const int64_t* ids, int64_t count, int64_t height) {
  const int64_t bad = first_bad_id(ids, count, height);
  if (bad >= 0)
    throw Error(Error::Kind::data, "row ", bad, " of the gradient names row ", ids[bad],
                " of a table of ", height, " rows: look at the ids of this batch");
}

// The scratch holds the merged values, their ids, and what the merge needs.
template <class T>
Rows<T> merged(ThreadPool& pool, const Rows<T>& rows, void* scratch) {
  auto* ids = static_cast<int64_t*>(scratch);
  auto* work = ids + rows.count;
  auto* values = reinterpret_cast<T*>(reinterpret_cast<char*>(work) +
                                      (row_scratch_bytes(rows.count) + 63) / 64 * 64);
  Rows<T> out = rows;
  out.count = merge_rows(pool, rows.ids, rows.count, rows.width, rows.values, work, ids, values);
  out.ids = ids;
  out.values = values;
  return out;
}

template <class T>
void apply_any_rows(const Rule& rule, const Updates<T>& updates, const Call<T>& call,
                    const Rows<T>& rows, void* scratch) {
  check_ids(rows.ids, rows.count, rows.height);
  updates.rows(rule, call, rule.takes_repeated_rows ? rows : merged(call.pool, rows, scratch));
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
