#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace conv_test {

struct Case {
  Shape x, w;
  Ints strides{1, 1}, paddings{0, 0}, dilations{1, 1};
  int groups = 1;
};

const Case cases[] = {
    {{1, 1, 3, 3}, {1, 1, 1, 1}},
    {{2, 3, 5, 4}, {4, 3, 1, 1}},
    {{2, 1, 7, 6}, {3, 1, 3, 2}},
    {{3, 2, 5, 7}, {4, 2, 3, 3}, {1, 1}, {1, 1}},
    {{2, 2, 7, 8}, {3, 2, 3, 3}, {2, 3}, {1, 2}},
    {{2, 2, 9, 8}, {2, 2, 3, 2}, {1, 2}, {2, 1}, {2, 3}},
    {{2, 4, 5, 5}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},
    {{2, 3, 5, 6}, {6, 1, 3, 3}, {2, 1}, {1, 0}, {1, 2}, 3},
    {{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1}, {3, 3}},  // padding wider than the kernel
    {{1, 2, 1, 9}, {2, 2, 1, 5}, {1, 4}, {0, 2}},
    {{2, 1, 4, 1}, {2, 1, 1, 1}, {3, 3}},
};

OpCase op_case(const Case& c, DType dtype, const std::string& type = "conv2d") {
  return {type,
          {{"Input", {random_tensor(dtype, c.x, 3)}}, {"Filter", {random_tensor(dtype, c.w, 4)}}},
          {{"strides", c.strides},
           {"paddings", c.paddings},
           {"dilations", c.dilations},
           {"groups", c.groups}}};
}

struct Out {
  Shape shape;
  std::vector<double> values;
};

Out reference(const Case& c, const OpCase& op) {
  const std::vector<double> x = values_of(op.in[0].second[0]), w = values_of(op.in[1].second[0]);
  const auto length = [&](size_t d) {
    const int64_t reach = c.dilations[d] * (c.w[2 + static_cast<int>(d)] - 1) + 1;
    return (c.x[2 + static_cast<int>(d)] + 2 * c.paddings[d] - reach) / c.strides[d] + 1;
  };
  Out out{{c.x[0], c.w[0], length(0), length(1)}, {}};
  const int64_t per_group = c.w[0] / c.groups;
  for (int64_t n = 0; n < c.x[0]; ++n)
    for (int64_t o = 0; o < c.w[0]; ++o)
      for (int64_t p = 0; p < out.shape[2]; ++p)
        for (int64_t q = 0; q < out.shape[3]; ++q) {
          double sum = 0;
          for (int64_t k = 0; k < c.w[1]; ++k)
            for (int64_t i = 0; i < c.w[2]; ++i)
              for (int64_t j = 0; j < c.w[3]; ++j) {
                const int64_t h = p * c.strides[0] - c.paddings[0] + i * c.dilations[0];
                const int64_t v = q * c.strides[1] - c.paddings[1] + j * c.dilations[1];
                if (h < 0 || h >= c.x[2] || v < 0 || v >= c.x[3]) continue;
                const int64_t channel = o / per_group * c.w[1] + k;
                sum += x[static_cast<size_t>(((n * c.x[1] + channel) * c.x[2] + h) * c.x[3] + v)] *
                       w[static_cast<size_t>(((o * c.w[1] + k) * c.w[2] + i) * c.w[3] + j)];
              }
          out.values.push_back(sum);
        }
  return out;
}

TEST_CASE("conv2d", "[ops]") {
  for (const Case& c : cases) {
    CAPTURE(c.x, c.w, c.groups);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const OpCase op = op_case(c, dtype);
      const Out expected = reference(c, op);
      const Tensor got = run_op(op).at("Output")[0];
      CHECK(got.shape() == expected.shape);
      CHECK(difference(got, expected.values) < (dtype == DType::f32 ? 1e-5 : 1e-12));
    }
    CHECK(grad_error(op_case(c, DType::f64), {"Input", "Filter"}, {"Output"}) < 1e-6);
  }
  SECTION("depthwise_conv2d is conv2d with a group for each channel") {
    const Case c{{2, 3, 5, 6}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 3};
    const OpCase op = op_case(c, DType::f64, "depthwise_conv2d");
    CHECK(difference(run_op(op).at("Output")[0], reference(c, op).values) < 1e-12);
    CHECK(grad_error(op, {"Input", "Filter"}, {"Output"}) < 1e-6);
  }
  SECTION("one gradient alone") {
    for (const std::string slot : {"Input", "Filter"})
      CHECK(grad_error(op_case(cases[3], DType::f64), {slot}, {"Output"}) < 1e-6);
  }
}

// Enough images for several chunks and parts, whose number must not show in the result.
TEST_CASE("conv2d splits a batch", "[ops]") {
  const Case c{{37, 3, 20, 20}, {7, 3, 5, 5}};
  const OpCase op = op_case(c, DType::f32);
  const Tensor one = run_op(op, 1).at("Output")[0];
  CHECK(difference(one, reference(c, op).values) < 1e-5);
  CHECK(values_of(run_op(op, 3).at("Output")[0]) == values_of(one));

  const Tensor dy = random_tensor(DType::f32, one.shape(), 9);
  const OpCase grad{
      "conv2d_grad",
      {{"Input", op.in[0].second}, {"Filter", op.in[1].second}, {"Output@GRAD", {dy}}},
      op.attrs};
  const Results alone = run_op(grad, 1), together = run_op(grad, 3);
  for (const std::string slot : {"Input@GRAD", "Filter@GRAD"})
    CHECK(values_of(alone.at(slot)[0]) == values_of(together.at(slot)[0]));
  // The filter's gradient is a sum over images: compare with the images one by one.
  std::vector<double> sum(static_cast<size_t>(c.w.numel()), 0);
  for (int64_t n = 0; n < c.x[0]; ++n) {
    const OpCase single{"conv2d_grad",
                        {{"Input", {to_double(op.in[0].second[0].rows(n, n + 1))}},
                         {"Filter", {to_double(op.in[1].second[0])}},
                         {"Output@GRAD", {to_double(dy.rows(n, n + 1))}}},
                        op.attrs};
    const std::vector<double> part = values_of(run_op(single).at("Filter@GRAD")[0]);
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += part[k];
  }
  CHECK(difference(alone.at("Filter@GRAD")[0], sum) < 1e-4);
}

TEST_CASE("conv2d refuses shapes that do not fit", "[ops]") {
  const auto run = [](const Case& c) { return run_op(op_case(c, DType::f32)); };
  CHECK_THROWS_WITH(run({{2, 3, 5, 5}, {4, 2, 3, 3}}),
                    Contains("conv2d") && Contains("Input (Input_0) [2, 3, 5, 5]") &&
                        Contains("Filter (Filter_0) [4, 2, 3, 3]"));
  CHECK_THROWS_WITH(run({{2, 3, 5}, {4, 3, 3, 3}}), Contains("Input (Input_0) [2, 3, 5]"));
  CHECK_THROWS_WITH(run({{2, 3, 2, 2}, {4, 3, 3, 3}}), Contains("larger than"));
  CHECK_THROWS_WITH(run({{2, 4, 5, 5}, {3, 2, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 2}),
                    Contains("2 groups"));
  CHECK_THROWS_WITH(run({{2, 4, 5, 5}, {3, 4, 3, 3}, {0, 1}}), Contains("strides"));
}

}  // namespace conv_test
