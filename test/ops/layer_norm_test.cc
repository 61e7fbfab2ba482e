#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {
constexpr double epsilon = 1e-5;
}

TEST_CASE("layer_norm", "[ops]") {
  struct LayerCase {
    Shape x;
    int axis;
    bool scale, bias;
  };
  const LayerCase cases[] = {{{3, 5}, 1, true, true},
                             {{2, 3, 21}, 2, true, false},
                             {{2, 3, 4}, 1, false, true},
                             {{4, 7}, 1, false, false}};
  for (const LayerCase& c : cases) {
    CAPTURE(c.x, c.axis, c.scale, c.bias);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const int64_t width = c.x.product(c.axis, c.x.rank());
      OpCase op{"layer_norm", {{"X", {random_tensor(dtype, c.x, 1, -2, 3)}}}};
      op.attrs = {{"begin_norm_axis", c.axis}};
      if (c.scale) op.in.push_back({"Scale", {random_tensor(dtype, {width}, 2, 0.5, 2)}});
      if (c.bias) op.in.push_back({"Bias", {random_tensor(dtype, {width}, 3)}});
      const std::vector<double> x = values_of(op.in[0].second[0]);
      const std::vector<double> ones(static_cast<size_t>(width), 1), zeros(ones.size(), 0);
      const std::vector<double> scale = c.scale ? values_of(op.in[1].second[0]) : ones;
      const std::vector<double> bias = c.bias ? values_of(op.in.back().second[0]) : zeros;
      std::vector<double> y, means, variances;
      for (size_t row = 0; row < x.size(); row += ones.size()) {
        double mean = 0, variance = 0;
        for (size_t k = 0; k < ones.size(); ++k) mean += x[row + k] / static_cast<double>(width);
        for (size_t k = 0; k < ones.size(); ++k)
          variance += (x[row + k] - mean) * (x[row + k] - mean) / static_cast<double>(width);
        means.push_back(mean);
        variances.push_back(variance);
        for (size_t k = 0; k < ones.size(); ++k)
          y.push_back((x[row + k] - mean) / std::sqrt(variance + epsilon) * scale[k] + bias[k]);
      }
      const Results got = run_op(op);
      const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-9;
      CHECK(difference(got.at("Y")[0], y) < tolerance);
      CHECK(difference(got.at("Mean")[0], means) < tolerance);
      CHECK(difference(got.at("Variance")[0], variances) < tolerance);
      CHECK(values_of(run_op(op, 3).at("Y")[0]) == values_of(got.at("Y")[0]));
      if (dtype == DType::f32) continue;
      std::vector<std::string> wrt{"X"};
      if (c.scale) wrt.push_back("Scale");
      if (c.bias) wrt.push_back("Bias");
      CHECK(grad_error(op, wrt, {"Y"}) < 1e-5);
    }
  }
  const Tensor x = random_tensor(DType::f32, {3, 5}, 1), scale = random_tensor(DType::f32, {4}, 1);
  CHECK_THROWS_WITH(
      run_op({"layer_norm", {{"X", {x}}, {"Scale", {scale}}}}),
      Contains("layer_norm") && Contains("Scale (Scale_0) [4]") && Contains("X (X_0) [3, 5]"));
}
