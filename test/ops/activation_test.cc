#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {
struct Activation {
  std::string type;
  double (*reference)(double);
  double low = -3, high = 3;
  Attrs attrs = {};
};
const Activation activations[] = {
    {"relu", [](double x) { return x > 0 ? x : 0; }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"logsigmoid", [](double x) { return -std::log(1 + std::exp(-x)); }},
    {"softplus", [](double x) { return std::log(1 + std::exp(x)); }},
    {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }, 0.1, 4},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.1, 4},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.5, 4},
    {"abs", [](double x) { return std::fabs(x); }},
    {"square", [](double x) { return x * x; }},
    {"reciprocal", [](double x) { return 1 / x; }, 0.5, 3},
    {"cos", [](double x) { return std::cos(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return x < 0 ? -std::floor(0.5 - x) : std::floor(x + 0.5); }},
    {"sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }},
    {"leaky_relu", [](double x) { return x > 0 ? x : 0.02f * x; }},
    {"leaky_relu", [](double x) { return x > 0 ? x : 0.5 * x; }, -3, 3, {{"alpha", 0.5f}}},
    {"relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }, -8, 8},
    {"elu", [](double x) { return x > 0 ? x : 1.5 * (std::exp(x) - 1); }, -3, 3, {{"alpha", 1.5f}}},
    {"swish", [](double x) { return x / (1 + std::exp(-2 * x)); }, -3, 3, {{"beta", 2.0f}}},
    {"hard_sigmoid", [](double x) { return std::min(std::max(0.2f * x + 0.5, 0.0), 1.0); }, -4, 4},
    {"gelu", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }, -3, 3},
    {"tanh_shrink", [](double x) { return x - std::tanh(x); }, -3, 3},
    {"soft_relu",
     [](double x) { return std::log1p(std::exp(std::min(std::max(x, -2.0), 2.0))); },
     -4,
     4,
     {{"threshold", 2.0f}}},
    {"brelu",
     [](double x) { return std::min(std::max(x, -1.0), 2.0); },
     -3,
     4,
     {{"t_min", -1.0f}, {"t_max", 2.0f}}},
    {"stanh",
     [](double x) { return 1.5 * std::tanh(0.5 * x); },
     -3,
     3,
     {{"scale_a", 0.5f}, {"scale_b", 1.5f}}},
    {"pow", [](double x) { return std::pow(x, 2.5); }, 0.1, 3, {{"factor", 2.5f}}},
    {"pow", [](double x) { return x; }},
};
}  // namespace

TEST_CASE("activations", "[ops]") {
  for (const Activation& a : activations) {
    DYNAMIC_SECTION(a.type << (a.attrs.size() ? " with its attribute" : "")) {
      for (const Shape& shape : {Shape{1}, Shape{3, 5}, Shape{2, 3, 17}, Shape{0, 4}}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
          const Tensor x = random_tensor(dtype, shape, 3, a.low, a.high);
          std::vector<double> expected;
          for (const double v : values_of(x)) expected.push_back(a.reference(v));
          const Results got = run_op({a.type, {{"X", {x}}}, a.attrs});
          CHECK(got.at("Out")[0].shape() == shape);
          CHECK(difference(got.at("Out")[0], expected) < (dtype == DType::f32 ? 2e-6 : 1e-12));
        }
        CHECK(grad_error(
                  {a.type, {{"X", {random_tensor(DType::f64, shape, 5, a.low, a.high)}}}, a.attrs},
                  {"X"}) < 1e-6);
      }
    }
  }
}

TEST_CASE("activations at the ends of the number line", "[ops]") {
  const Tensor x = Tensor::of<float>({2}, {-1000, 1000});
  const auto out = [&](const std::string& type) {
    return values_of(run_op({type, {{"X", {x}}}}).at("Out")[0]);
  };
  CHECK(out("sigmoid") == std::vector<double>{0, 1});
  CHECK(out("softplus") == std::vector<double>{0, 1000});
  CHECK(out("logsigmoid") == std::vector<double>{-1000, 0});
  CHECK(out("elu") == std::vector<double>{-1, 1000});
  CHECK(out("swish") == std::vector<double>{0, 1000});
}

TEST_CASE("activations pass LoD on and do not depend on the number of threads", "[ops]") {
  Tensor x = random_tensor(DType::f32, {40001}, 9);
  x.set_lod({{0, 40000, 40001}});
  const OpCase c{"tanh", {{"X", {x}}}};
  const Tensor one = run_op(c, 1).at("Out")[0], three = run_op(c, 3).at("Out")[0];
  CHECK(one.lod() == x.lod());
  CHECK(difference(one, values_of(three)) == 0);
}

TEST_CASE("activations refuse integers and name the op", "[ops]") {
  CHECK_THROWS_WITH(run_op({"tanh", {{"X", {random_tensor(DType::i64, {2}, 1)}}}}),
                    Contains("float32") && Contains("int64") && Contains("tanh"));
}

TEST_CASE("gradient ops that only saved programs have", "[ops]") {
  const Tensor dy = Tensor::of<float>({2}, {3, -4}), x = Tensor::of<float>({2}, {1, -1});
  for (const char* type : {"ceil_grad", "floor_grad", "round_grad", "sign_grad"})
    CHECK(values_of(run_op({type, {{"Out@GRAD", {dy}}}}).at("X@GRAD")[0]) ==
          std::vector<double>{0, 0});
  // Versions before 1.8 kept X.
  const OpCase leaky{"leaky_relu_grad", {{"X", {x}}, {"Out@GRAD", {dy}}}, {{"alpha", 0.5f}}};
  CHECK(values_of(run_op(leaky).at("X@GRAD")[0]) == std::vector<double>{3, -2});
  CHECK_THROWS_WITH(run_op({"leaky_relu_grad", {{"Out@GRAD", {dy}}}}),
                    Catch::Matchers::Contains("'Out' and 'X'"));
  CHECK_THROWS_WITH(run_op({"leaky_relu", {{"X", {x}}}, {{"alpha", -1.0f}}}),
                    Catch::Matchers::Contains("alpha"));
}
