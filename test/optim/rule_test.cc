// Every rule against its formula, written out in plain double arithmetic over five steps.
#include "optim/rule.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"

using namespace paddle;
using namespace paddle::optim;
using Catch::Matchers::Contains;

namespace {

constexpr int steps = 5;
constexpr size_t size = 23;  // odd, so that vector loops have a remainder

using Values = std::vector<double>;
using Named = std::map<std::string, double>;

// One element: p and its states s, from g at step t (counted from 1).
struct Reference {
  std::string type;
  Named settings;
  Values initial;  // of the states
  std::function<void(double& p, double g, Values& s, int t)> step;
};

const double lr = 0.125;

std::vector<Reference> references() {
  const auto sq = [](double v) { return v * v; };
  return {
      {"sgd", {}, {}, [](double& p, double g, Values&, int) { p = p - lr * g; }},
      {"momentum",
       {{"mu", 0.75}},
       {0},
       [](double& p, double g, Values& v, int) {
         v[0] = 0.75 * v[0] + g;
         p = p - lr * v[0];
       }},
      {"momentum",
       {{"mu", 0.75}, {"use_nesterov", 1}},
       {0},
       [](double& p, double g, Values& v, int) {
         v[0] = 0.75 * v[0] + g;
         p = p - lr * (g + 0.75 * v[0]);
       }},
      {"adagrad",
       {{"epsilon", 0.5}},
       {0.25},
       [=](double& p, double g, Values& m, int) {
         m[0] = m[0] + sq(g);
         p = p - lr * g / (std::sqrt(m[0]) + 0.5);
       }},
      {"decayed_adagrad",
       {{"decay", 0.75}, {"epsilon", 0.5}},
       {0},
       [=](double& p, double g, Values& m, int) {
         m[0] = 0.75 * m[0] + 0.25 * sq(g);
         p = p - lr * g / (std::sqrt(m[0]) + 0.5);
       }},
      {"adam",
       {{"beta1", 0.75}, {"beta2", 0.875}, {"epsilon", 0.5}},
       {0, 0},
       [=](double& p, double g, Values& m, int t) {
         m[0] = 0.75 * m[0] + 0.25 * g;
         m[1] = 0.875 * m[1] + 0.125 * sq(g);
         const double rate = lr * std::sqrt(1 - std::pow(0.875, t)) / (1 - std::pow(0.75, t));
         p = p - rate * m[0] / (std::sqrt(m[1]) + 0.5);
       }},
      {"adamax",
       {{"beta1", 0.75}, {"beta2", 0.875}, {"epsilon", 0.25}},
       {0, 0},
       [](double& p, double g, Values& m, int t) {
         m[0] = 0.75 * m[0] + 0.25 * g;
         m[1] = std::max(std::fabs(g), 0.875 * m[1] + 0.25);
         p = p - lr / (1 - std::pow(0.75, t)) * m[0] / m[1];
       }},
      {"rmsprop",
       {{"decay", 0.75}, {"epsilon", 0.5}, {"momentum", 0.25}},
       {0, 0, 0},
       [=](double& p, double g, Values& m, int) {
         m[1] = 0.75 * m[1] + 0.25 * sq(g);
         m[0] = 0.25 * m[0] + lr * g / std::sqrt(m[1] + 0.5);
         p = p - m[0];
       }},
      {"rmsprop",
       {{"decay", 0.75}, {"epsilon", 0.5}, {"momentum", 0.25}, {"centered", 1}},
       {0, 0, 0},
       [=](double& p, double g, Values& m, int) {
         m[1] = 0.75 * m[1] + 0.25 * sq(g);
         m[2] = 0.75 * m[2] + 0.25 * g;
         m[0] = 0.25 * m[0] + lr * g / std::sqrt(m[1] - sq(m[2]) + 0.5);
         p = p - m[0];
       }},
      {"adadelta",
       {{"rho", 0.75}, {"epsilon", 0.5}},
       {0, 0},
       [=](double& p, double g, Values& m, int) {
         m[0] = 0.75 * m[0] + 0.25 * sq(g);
         const double update = -std::sqrt(m[1] + 0.5) / std::sqrt(m[0] + 0.5) * g;
         m[1] = 0.75 * m[1] + 0.25 * sq(update);
         p = p + update;
       }},
      {"ftrl",
       {{"l1", 0.25}, {"l2", 0.5}, {"lr_power", -0.5}},
       {0.5, 0},
       [=](double& p, double g, Values& m, int) {
         const double sum = m[0] + sq(g);
         m[1] = m[1] + g - (std::sqrt(sum) - std::sqrt(m[0])) / lr * p;
         m[0] = sum;
         const double sign = m[1] > 0 ? 1 : -1;
         p = std::fabs(m[1]) <= 0.25 ? 0 : (0.25 * sign - m[1]) / (std::sqrt(sum) / lr + 2 * 0.5);
       }},
      {"ftrl",
       {{"lr_power", -0.25}},
       {0.5, 0},
       [=](double& p, double g, Values& m, int) {
         const double sum = m[0] + sq(g);
         m[1] = m[1] + g - (std::pow(sum, 0.25) - std::pow(m[0], 0.25)) / lr * p;
         m[0] = sum;
         p = -m[1] / (std::pow(sum, 0.25) / lr);
       }},
  };
}

double gradient(size_t i, int t) { return std::sin(double(i) * 1.7 + t * 0.9) * 2; }
double initial(size_t i) { return std::cos(double(i) * 0.8); }

// What a rule is called with at step t.
template <class T>
std::vector<T> numbers(const Rule& rule, const Reference& ref, int t) {
  std::vector<T> out;
  const auto setting = [&](const std::string& name, double fallback) {
    const auto it = ref.settings.find(name);
    return it == ref.settings.end() ? fallback : it->second;
  };
  for (const std::string& name : rule.inputs) {
    if (name == "LearningRate") out.push_back(static_cast<T>(lr));
    if (name == "Beta1Pow") out.push_back(static_cast<T>(std::pow(setting("beta1", 0), t)));
    if (name == "Beta2Pow") out.push_back(static_cast<T>(std::pow(setting("beta2", 0), t)));
  }
  for (const Setting& s : rule.settings)
    out.push_back(static_cast<T>(
        setting(s.name, std::visit([](auto v) { return static_cast<double>(v); }, s.fallback))));
  return out;
}

template <class T>
struct Trained {
  std::vector<T> param;
  std::vector<std::vector<T>> states;
  Trained(const Reference& ref, size_t n) {
    for (size_t i = 0; i < n; ++i) param.push_back(static_cast<T>(initial(i)));
    for (const double s : ref.initial) states.emplace_back(n, static_cast<T>(s));
  }
  std::vector<T*> pointers() {
    std::vector<T*> out;
    for (auto& s : states) out.push_back(s.data());
    return out;
  }
};

template <class T>
double error_of(const Reference& ref) {
  const Rule& rule = *find_rule(ref.type);
  ThreadPool pool(1);
  Trained<T> got(ref, size);
  const std::vector<T*> states = got.pointers();
  Values param(size);
  std::vector<Values> expected_states(size, ref.initial);
  for (size_t i = 0; i < size; ++i) param[i] = initial(i);
  for (int t = 1; t <= steps; ++t) {
    std::vector<T> grad;
    for (size_t i = 0; i < size; ++i) {
      grad.push_back(static_cast<T>(gradient(i, t)));
      ref.step(param[i], static_cast<double>(grad[i]), expected_states[i], t);
    }
    apply_dense(rule, Call<T>{pool, numbers<T>(rule, ref, t), got.param.data(), states},
                grad.data(), size);
  }
  double worst = 0;
  for (size_t i = 0; i < size; ++i) {
    worst = std::max(worst, std::fabs(double(got.param[i]) - param[i]));
    for (size_t s = 0; s < got.states.size(); ++s)
      worst = std::max(worst, std::fabs(double(got.states[s][i]) - expected_states[i][s]));
  }
  return worst;
}

}  // namespace

TEST_CASE("every rule follows its formula", "[optim]") {
  std::map<std::string, int> seen;
  for (const Reference& ref : references()) {
    ++seen[ref.type];
    DYNAMIC_SECTION(ref.type << " with " << ref.settings.size() << " settings") {
      CHECK(error_of<double>(ref) < 1e-13);
      CHECK(error_of<float>(ref) < 2e-5);
    }
  }
  for (const Rule& rule : rules()) CHECK(seen[rule.type] > 0);
}

TEST_CASE("rows in any order and more than once equal the dense gradient", "[optim]") {
  const int64_t height = 9, width = 4;
  const std::vector<int64_t> ids{7, 2, 7, 0, 2, 7};
  for (const Reference& ref : references()) {
    if (ref.type == "ftrl") continue;  // leaves rows without a gradient alone
    CAPTURE(ref.type);
    const Rule& rule = *find_rule(ref.type);
    ThreadPool pool(1);
    Trained<double> sparse(ref, height * width), dense(ref, height * width);
    const auto sparse_states = sparse.pointers(), dense_states = dense.pointers();
    for (int t = 1; t <= steps; ++t) {
      Values grad(height * width, 0.0), values;
      for (size_t i = 0; i < ids.size(); ++i)
        for (int64_t k = 0; k < width; ++k) {
          values.push_back(gradient(values.size(), t));
          grad[static_cast<size_t>(ids[i] * width + k)] += values.back();
        }
      const std::vector<double> n = numbers<double>(rule, ref, t);
      std::vector<int64_t> scratch(
          rows_scratch_bytes<double>(rule, int64_t(ids.size()), width) / sizeof(int64_t) + 1);
      apply_rows(rule, {pool, n, sparse.param.data(), sparse_states},
                 {int64_t(ids.size()), width, height, ids.data(), values.data()}, scratch.data());
      apply_dense(rule, {pool, n, dense.param.data(), dense_states}, grad.data(), height * width);
    }
    for (size_t i = 0; i < dense.param.size(); ++i)
      CHECK(sparse.param[i] == Approx(dense.param[i]).epsilon(1e-12));
    for (size_t s = 0; s < dense.states.size(); ++s)
      for (size_t i = 0; i < dense.param.size(); ++i)
        CHECK(sparse.states[s][i] == Approx(dense.states[s][i]).epsilon(1e-12));
  }
}

TEST_CASE("rows outside of the table are refused before anything changes", "[optim]") {
  ThreadPool pool(1);
  const float rate = 1;
  std::vector<float> param{1, 2, 3};
  const std::vector<float> values{1, 1};
  const std::vector<int64_t> ids{0, 3};
  CHECK_THROWS_WITH(apply_rows(*find_rule("sgd"), Call<float>{pool, {&rate, 1}, param.data(), {}},
                               Rows<float>{2, 1, 3, ids.data(), values.data()}, nullptr),
                    Contains("row 1 of the gradient names row 3 of a table of 3 rows"));
  CHECK(param == std::vector<float>{1, 2, 3});
}
