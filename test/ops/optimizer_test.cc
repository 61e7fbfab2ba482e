// The ops over programs and rows; the rules themselves are checked in test/optim.
#include <catch2/catch.hpp>
#include <cmath>

#include "optim/rule.h"
#include "support/op_check.h"
#include "support/run_kernel.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

Value number(double v, DType dtype) {
  return {dtype == DType::f64 ? Tensor::of<double>({1}, {v})
                              : Tensor::of<float>({1}, {static_cast<float>(v)})};
}

// An op of `rule` with random states; all of them are positive, so that roots exist.
KernelCase make_case(const optim::Rule& rule, const Value& grad, const Shape& shape, DType dtype) {
  KernelCase c{.type = rule.type};
  c.in = {{"Param", {{random_tensor(dtype, shape, 1)}}}, {"Grad", {grad}}};
  uint64_t seed = 10;
  for (const optim::State& s : rule.states)
    c.in.emplace_back(s.in, std::vector<Value>{{random_tensor(dtype, shape, ++seed, 0.5, 1)}});
  for (const std::string& input : rule.inputs)
    c.in.emplace_back(input,
                      std::vector<Value>{number(input == "LearningRate" ? 0.1 : 0.8, dtype)});
  if (rule.type == "momentum") c.attrs.set("mu", 0.9f);
  return c;
}

Value dense_of(const Value& rows) {
  Shape shape = rows.tensor.shape();
  shape[0] = rows.height;
  const std::vector<double> v = rows.dense();
  Tensor t(rows.tensor.dtype(), shape);
  with_float(t.dtype(), [&](auto z) {
    using T = decltype(z);
    for (size_t i = 0; i < v.size(); ++i) t.data<T>()[i] = static_cast<T>(v[i]);
  });
  return {t};
}

// Rows that are in neither gradient keep every bit; `names` are the rest.
void check_untouched(const Tensor& before, const Tensor& after,
                     const std::vector<int64_t>& touched) {
  const int64_t width = before.shape().product(1, before.shape().rank());
  const auto a = values_of(before), b = values_of(after);
  for (int64_t row = 0; row < before.shape()[0]; ++row) {
    if (std::count(touched.begin(), touched.end(), row)) continue;
    for (int64_t k = row * width; k < (row + 1) * width; ++k)
      CHECK(a[static_cast<size_t>(k)] == b[static_cast<size_t>(k)]);
  }
}

}  // namespace

TEST_CASE("a sparse gradient updates as the dense one it stands for", "[ops][optim]") {
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const int threads = GENERATE(1, 3);
  // Repeated rows, in no order; the second table is large enough for threads to share it.
  const auto [height, width, ids] = GENERATE(table<int64_t, int64_t, std::vector<int64_t>>({
      {6, 3, {4, 1, 4, 0, 1, 4}},
      {3001, 17, {0, 3000, 1500, 7, 1500, 2}},
      {4, 2, {}},
  }));
  for (const optim::Rule& rule : optim::rules()) {
    // ftrl recomputes a parameter from its accumulators even where the gradient is zero; on rows
    // it touches only those that are there.
    if (rule.type == "ftrl") continue;
    CAPTURE(rule.type, height, dtype);
    const Shape shape{height, width};
    const Value grad{random_tensor(dtype, {static_cast<int64_t>(ids.size()), width}, 2), ids,
                     height};
    KernelCase c = make_case(rule, grad, shape, dtype);
    c.threads = threads;
    const auto sparse = run_kernel(c);
    c.in[1].second = {dense_of(grad)};
    const auto dense = run_kernel(c);
    for (const auto& [slot, value] : dense) {
      CAPTURE(slot);
      CHECK(difference(sparse.at(slot).tensor, values_of(value.tensor)) <
            (dtype == DType::f32 ? 1e-6 : 1e-14));
    }
  }
}

TEST_CASE("lazy adam, adagrad, ftrl and sgd touch only the rows that are there", "[ops][optim]") {
  const std::string type = GENERATE("adam", "adagrad", "ftrl", "sgd");
  CAPTURE(type);
  const optim::Rule& rule = *optim::find_rule(type);
  const Shape shape{7, 3};
  const Value grad{random_tensor(DType::f64, {4, 3}, 2), {5, 2, 5, 0}, 7};
  KernelCase c = make_case(rule, grad, shape, DType::f64);
  if (type == "adam") c.attrs.set("lazy_mode", true);
  const auto sparse = run_kernel(c);
  c.in[1].second = {dense_of(grad)};
  const auto dense = run_kernel(c);
  const auto check = [&](const std::string& out, const Tensor& before) {
    check_untouched(before, sparse.at(out).tensor, {0, 2, 5});
    for (const size_t row : {0u, 2u, 5u})
      for (size_t k = row * 3; k < row * 3 + 3; ++k)
        CHECK(values_of(sparse.at(out).tensor)[k] == Approx(values_of(dense.at(out).tensor)[k]));
  };
  check("ParamOut", c.in[0].second[0].tensor);
  for (size_t s = 0; s < rule.states.size(); ++s)
    check(rule.states[s].out, c.in[2 + s].second[0].tensor);
}

TEST_CASE("optimizer ops write in place in a program", "[ops][optim]") {
  for (const optim::Rule& rule : optim::rules()) {
    if (rule.inputs.empty()) continue;  // support/op_check.h pairs outputs with inputs by the rate
    CAPTURE(rule.type);
    const Value grad{random_tensor(DType::f32, {5, 3}, 2)};
    const KernelCase k = make_case(rule, grad, {5, 3}, DType::f32);
    OpCase c{.type = rule.type, .attrs = k.attrs};
    for (const auto& [slot, values] : k.in)
      c.in.emplace_back(slot, std::vector<Tensor>{values[0].tensor});
    const auto apart = run_kernel(k);
    for (const auto& [slot, tensors] : run_op(c, 3))
      CHECK(difference(tensors[0], values_of(apart.at(slot).tensor)) <= (tests_gpu() ? 1e-6 : 0));
  }
}

TEST_CASE("adam advances its powers where it has outputs for them", "[ops][optim]") {
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const optim::Rule& rule = *optim::find_rule("adam");
  const Value grad{random_tensor(dtype, {2, 2}, 2)};
  KernelCase k = make_case(rule, grad, {2, 2}, dtype);
  OpCase c{.type = "adam", .attrs = {{"beta1", 0.5f}, {"beta2", 0.25f}}};
  for (const auto& [slot, values] : k.in)
    c.in.emplace_back(slot, std::vector<Tensor>{values[0].tensor});
  c.out = {{"ParamOut", 1}, {"Moment1Out", 1}, {"Moment2Out", 1}};
  const Results without = run_op(c);
  c.out.insert(c.out.end(), {{"Beta1PowOut", 1}, {"Beta2PowOut", 1}});
  const Results with = run_op(c);
  CHECK(values_of(with.at("Beta1PowOut")[0])[0] == Approx(0.8 * 0.5));
  CHECK(values_of(with.at("Beta2PowOut")[0])[0] == Approx(0.8 * 0.25));
  // The update itself uses the powers as they were.
  for (const auto& [slot, tensors] : without)
    CHECK(difference(with.at(slot)[0], values_of(tensors[0])) == 0);
}

TEST_CASE("optimizer ops refuse what does not fit", "[ops][optim]") {
  const auto sgd = [](const Value& param, const Value& grad, const Value& rate) {
    return run_kernel({"sgd", {{"Param", {param}}, {"Grad", {grad}}, {"LearningRate", {rate}}}});
  };
  const Value param{random_tensor(DType::f32, {4, 3}, 1)}, rate = number(0.1, DType::f32);
  const auto rows = [](std::vector<int64_t> ids, int64_t height, int64_t width) {
    return Value{random_tensor(DType::f32, {static_cast<int64_t>(ids.size()), width}, 1), ids,
                 height};
  };
  CHECK_THROWS_WITH(
      sgd(param, {random_tensor(DType::f32, {3, 4}, 1)}, rate),
      Contains("op sgd") && Contains("Param (Param_0) [4, 3]") && Contains("Grad (Grad_0) [3, 4]"));
  CHECK_THROWS_WITH(sgd(param, {random_tensor(DType::f64, {4, 3}, 1)}, rate),
                    Contains("float32") && Contains("float64"));
  CHECK_THROWS_WITH(sgd(param, rows({0}, 5, 3), rate), Contains("[4, 3]") && Contains("[5, 3]"));
  CHECK_THROWS_WITH(sgd(param, rows({0}, 4, 2), rate), Contains("[4, 3]") && Contains("[4, 2]"));
  CHECK_THROWS_WITH(sgd(param, rows({1, 4}, 4, 3), rate),
                    Contains("row 1 of the gradient names row 4 of a table of 4 rows"));
  CHECK_THROWS_WITH(sgd(param, rows({-1}, 4, 3), rate), Contains("names row -1"));
  CHECK_THROWS_WITH(sgd(param, {random_tensor(DType::f32, {4, 3}, 1)}, param),
                    Contains("LearningRate (LearningRate_0) [4, 3]") && Contains("one element"));
  const KernelCase centered{"rmsprop",
                            {{"Param", {param}},
                             {"Grad", {param}},
                             {"MeanSquare", {param}},
                             {"Moment", {param}},
                             {"LearningRate", {rate}}},
                            {{"centered", true}}};
  CHECK_THROWS_WITH(run_kernel(centered), Contains("MeanGrad"));
  const KernelCase no_mu{
      "momentum",
      {{"Param", {param}}, {"Grad", {param}}, {"Velocity", {param}}, {"LearningRate", {rate}}}};
  CHECK_THROWS_WITH(run_kernel(no_mu), Contains("'mu' is missing"));
}
