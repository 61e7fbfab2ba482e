#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace batch_norm_test {

constexpr double epsilon = 1e-5;

struct Case {
  Shape x;
  std::string layout = "NCHW";
  bool is_test = false, global = false;
};

const Case cases[] = {
    {{4, 3, 5, 7}},
    {{5, 3}},
    {{3, 2, 4, 5}, "NHWC"},
    {{2, 3, 19}},
    {{4, 3, 2, 3}, "NCHW", true},
    {{4, 3, 2, 3}, "NCHW", false, true},
    {{6, 4}, "NHWC", false, true},
};

int64_t channels_of(const Case& c) { return c.x[c.layout == "NHWC" ? c.x.rank() - 1 : 1]; }

OpCase op_case(const Case& c, DType dtype) {
  const Shape one{channels_of(c)};
  return {"batch_norm",
          {{"X", {random_tensor(dtype, c.x, 1, -2, 3)}},
           {"Scale", {random_tensor(dtype, one, 2, 0.5, 2)}},
           {"Bias", {random_tensor(dtype, one, 3)}},
           {"Mean", {random_tensor(dtype, one, 4)}},
           {"Variance", {random_tensor(dtype, one, 5, 0.5, 2)}}},
          {{"momentum", 0.7f},
           {"epsilon", static_cast<float>(epsilon)},
           {"data_layout", c.layout},
           {"is_test", c.is_test},
           {"use_global_stats", c.global}}};
}

using Values = std::map<std::string, std::vector<double>>;

Values reference(const Case& c, const OpCase& op) {
  std::map<std::string, std::vector<double>> in;
  for (const auto& [slot, tensors] : op.in) in[slot] = values_of(tensors[0]);
  const auto channels = static_cast<size_t>(channels_of(c));
  const size_t total = in["X"].size();
  const size_t inner = c.layout == "NHWC" ? 1 : static_cast<size_t>(c.x.product(2, c.x.rank()));
  const auto channel = [&](size_t k) { return k / inner % channels; };
  Values out;
  out["Y"].resize(total);
  for (size_t ch = 0; ch < channels; ++ch) {
    double mean = 0, variance = 0, count = 0;
    for (size_t k = 0; k < total; ++k)
      if (channel(k) == ch) mean += in["X"][k], ++count;
    mean /= count;
    for (size_t k = 0; k < total; ++k)
      if (channel(k) == ch) variance += (in["X"][k] - mean) * (in["X"][k] - mean) / count;
    const bool fixed = c.is_test || c.global;
    const double momentum = fixed ? 1 : static_cast<double>(0.7f);
    out["MeanOut"].push_back(in["Mean"][ch] * momentum + mean * (1 - momentum));
    out["VarianceOut"].push_back(in["Variance"][ch] * momentum + variance * (1 - momentum));
    if (fixed) mean = in["Mean"][ch], variance = in["Variance"][ch];
    const double inverse = 1 / std::sqrt(variance + epsilon);
    out["SavedMean"].push_back(mean);
    out["SavedVariance"].push_back(inverse);
    for (size_t k = 0; k < total; ++k)
      if (channel(k) == ch)
        out["Y"][k] = (in["X"][k] - mean) * inverse * in["Scale"][ch] + in["Bias"][ch];
  }
  return out;
}

TEST_CASE("batch_norm", "[ops]") {
  for (const Case& c : cases) {
    CAPTURE(c.x, c.layout, c.is_test, c.global);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const OpCase op = op_case(c, dtype);
      const Results got = run_op(op), threads = run_op(op, 3);
      for (const auto& [slot, expected] : reference(c, op)) {
        CAPTURE(slot);
        CHECK(difference(got.at(slot)[0], expected) < (dtype == DType::f32 ? 1e-5 : 1e-9));
        CHECK(values_of(got.at(slot)[0]) == values_of(threads.at(slot)[0]));
      }
    }
    CHECK(grad_error(op_case(c, DType::f64), {"X", "Scale", "Bias"}, {"Y"}) < 1e-5);
  }
  SECTION("threads share the channels of a large batch") {
    const Case c{{8, 7, 32, 31}};
    const OpCase op = op_case(c, DType::f32);
    const Tensor y = run_op(op, 3).at("Y")[0];
    CHECK(difference(y, reference(c, op).at("Y")) < 1e-5);
    CHECK(values_of(run_op(op, 1).at("Y")[0]) == values_of(y));
  }
  SECTION("a relu in inference") {
    const Case c{{4, 3, 2, 3}, "NCHW", true};
    OpCase op = op_case(c, DType::f64);
    std::vector<double> expected = reference(c, op).at("Y");
    for (double& v : expected) v = v > 0 ? v : 0;
    op.attrs.set("fuse_with_relu", true);
    CHECK(difference(run_op(op).at("Y")[0], expected) < 1e-9);
  }
}

TEST_CASE("batch_norm moves its statistics in the scope", "[ops]") {
  Program program;
  Block& block = program.global();
  block.create({.name = "x", .dtype = DType::f64, .shape = {-1, 1}});
  for (const char* name : {"scale", "bias", "mean", "variance"})
    block.create({.name = name, .dtype = DType::f64, .shape = {1}, .persistable = true});
  block.append({.type = "batch_norm",
                .in = {{"X", {"x"}},
                       {"Scale", {"scale"}},
                       {"Bias", {"bias"}},
                       {"Mean", {"mean"}},
                       {"Variance", {"variance"}}},
                .out = {{"Y", {"y"}}, {"MeanOut", {"mean"}}, {"VarianceOut", {"variance"}}},
                .attrs = {{"momentum", 0.5f}}});
  Scope scope;
  const std::pair<const char*, double> values[] = {
      {"scale", 1.0}, {"bias", 0.0}, {"mean", 0.0}, {"variance", 1.0}};
  for (const auto& [name, value] : values)
    scope.var(name).tensor = Tensor::of<double>({1}, {value});
  ThreadPool pool(1);
  Plan plan(program, 0, scope, {"x"}, {"y"}, pool, {});
  const Tensor x = Tensor::of<double>({2, 1}, {2, 6});  // mean 4, variance 4
  plan.feed(0, x);
  plan.run(0);
  plan.run(1);
  CHECK(scope.var("mean").tensor.data<double>()[0] == 3.0);       // 0 -> 2 -> 3
  CHECK(scope.var("variance").tensor.data<double>()[0] == 3.25);  // 1 -> 2.5 -> 3.25
}

TEST_CASE("batch_norm refuses shapes that do not fit", "[ops]") {
  OpCase op = op_case({{4, 3, 2, 2}}, DType::f32);
  op.in[1].second[0] = random_tensor(DType::f32, {4}, 1);
  CHECK_THROWS_WITH(run_op(op), Contains("batch_norm") && Contains("Scale (Scale_0) [4]") &&
                                    Contains("X (X_0) [4, 3, 2, 2]"));
  OpCase layout = op_case({{4, 3, 2, 2}}, DType::f32);
  layout.attrs.set("data_layout", "HWNC");
  CHECK_THROWS_WITH(run_op(layout), Contains("HWNC"));
  OpCase mixed = op_case({{4, 3, 2, 2}}, DType::f32);
  mixed.in[3].second[0] = random_tensor(DType::f64, {3}, 1);
  CHECK_THROWS_WITH(run_op(mixed), Contains("Mean is float64 and X float32"));
}

}  // namespace batch_norm_test
