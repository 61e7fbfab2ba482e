#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

struct Case {
  Shape x;
  Ints ksize{2, 2}, strides{2, 2}, paddings{0, 0};
  bool ceil = false, exclusive = true, global = false;
};

const Case cases[] = {
    {{2, 3, 6, 8}},
    {{1, 2, 7, 5}},  // a row and a column that no window reaches
    {{1, 2, 7, 5}, {2, 2}, {2, 2}, {0, 0}, true},
    {{1, 2, 35, 37}},
    {{2, 2, 7, 6}, {3, 2}, {1, 1}},
    {{2, 2, 7, 6}, {3, 3}, {2, 2}, {1, 1}},
    {{2, 2, 7, 6}, {3, 3}, {2, 2}, {1, 1}, false, false},
    {{2, 2, 8, 7}, {3, 3}, {2, 3}, {1, 2}, true},
    {{2, 2, 8, 7}, {3, 3}, {2, 3}, {1, 2}, true, false},
    {{2, 3, 4, 5}, {1, 1}, {1, 1}, {0, 0}, false, true, true},
    {{1, 1, 1, 1}, {1, 1}, {1, 1}},
};

OpCase op_case(const Case& c, const std::string& type, DType dtype) {
  return {"pool2d",
          {{"X", {random_tensor(dtype, c.x, 3)}}},
          {{"pooling_type", type},
           {"ksize", c.ksize},
           {"strides", c.strides},
           {"paddings", c.paddings},
           {"ceil_mode", c.ceil},
           {"exclusive", c.exclusive},
           {"global_pooling", c.global}}};
}

int64_t out_length(const Case& c, size_t d) {
  if (c.global) return 1;
  const int64_t places = c.x[2 + static_cast<int>(d)] + 2 * c.paddings[d] - c.ksize[d];
  return places / c.strides[d] + 1 + (c.ceil && places % c.strides[d] != 0 ? 1 : 0);
}

// Walks every cell of every window: those inside the image count; all count for the mean's divisor
// where it is not exclusive.
std::vector<double> reference(const Case& c, const std::string& type, const Tensor& x) {
  const std::vector<double> v = values_of(x);
  const int64_t H = c.x[2], W = c.x[3];
  std::vector<double> out;
  for (int64_t plane = 0; plane < c.x[0] * c.x[1]; ++plane)
    for (int64_t p = 0; p < out_length(c, 0); ++p)
      for (int64_t q = 0; q < out_length(c, 1); ++q) {
        double sum = 0, top = -std::numeric_limits<double>::infinity();
        int inside = 0, padded = 0;
        for (int64_t i = 0; i < (c.global ? H : c.ksize[0]); ++i)
          for (int64_t j = 0; j < (c.global ? W : c.ksize[1]); ++j) {
            const int64_t h = c.global ? i : p * c.strides[0] - c.paddings[0] + i;
            const int64_t w = c.global ? j : q * c.strides[1] - c.paddings[1] + j;
            ++padded;
            if (h < 0 || h >= H || w < 0 || w >= W) continue;
            const double e = v[static_cast<size_t>((plane * H + h) * W + w)];
            ++inside;
            sum += e;
            top = e > top ? e : top;
          }
        if (inside == 0)
          out.push_back(0);
        else
          out.push_back(type == "max" ? top : sum / (c.exclusive ? inside : padded));
      }
  return out;
}

}  // namespace

TEST_CASE("pool2d", "[ops]") {
  for (const std::string type : {"max", "avg"}) {
    for (const Case& c : cases) {
      CAPTURE(type, c.x, c.ksize, c.strides, c.paddings, c.ceil, c.exclusive);
      for (const DType dtype : {DType::f32, DType::f64}) {
        const OpCase op = op_case(c, type, dtype);
        const Tensor got = run_op(op).at("Out")[0];
        CHECK(got.shape() == Shape{c.x[0], c.x[1], out_length(c, 0), out_length(c, 1)});
        CHECK(difference(got, reference(c, type, op.in[0].second[0])) <
              (dtype == DType::f32 ? 1e-6 : 1e-12));
        CHECK(values_of(run_op(op, 3).at("Out")[0]) == values_of(got));
      }
      if (c.x.numel() < 1000) CHECK(grad_error(op_case(c, type, DType::f64), {"X"}) < 1e-6);
    }
  }
  SECTION("of equal maxima the first takes the gradient") {
    const Tensor x = Tensor::of<float>({1, 1, 2, 4}, {1, 1, 2, 0, 1, 1, 2, 3});
    const Tensor y = Tensor::of<float>({1, 1, 1, 2}, {1, 3}),
                 dy = Tensor::of<float>({1, 1, 1, 2}, {5, 7});
    const OpCase c{"pool2d_grad",
                   {{"X", {x}}, {"Out", {y}}, {"Out@GRAD", {dy}}},
                   {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}}};
    CHECK(values_of(run_op(c).at("X@GRAD")[0]) == std::vector<double>{5, 0, 0, 0, 0, 0, 0, 7});
    OpCase wide = c;  // the general path
    wide.attrs.set("strides", Ints{2, 3});
    wide.in[1].second[0] = Tensor::of<float>({1, 1, 1, 1}, {1});
    wide.in[2].second[0] = Tensor::of<float>({1, 1, 1, 1}, {5});
    CHECK(values_of(run_op(wide).at("X@GRAD")[0]) == std::vector<double>{5, 0, 0, 0, 0, 0, 0, 0});
  }
  SECTION("a large batch splits over threads") {
    const Case c{{16, 20, 24, 24}};
    const OpCase op = op_case(c, "max", DType::f32);
    CHECK(values_of(run_op(op, 3).at("Out")[0]) == reference(c, "max", op.in[0].second[0]));
  }
}

TEST_CASE("pool2d refuses what has no windows", "[ops]") {
  const auto run = [](const Case& c, const std::string& type = "max") {
    return run_op(op_case(c, type, DType::f32));
  };
  CHECK_THROWS_WITH(run({{2, 3, 5}}), Contains("pool2d") && Contains("X (X_0) [2, 3, 5]"));
  CHECK_THROWS_WITH(run({{2, 3, 1, 5}}), Contains("X (X_0) [2, 3, 1, 5]") && Contains("[2, 2]"));
  CHECK_THROWS_WITH(run({{2, 3, 5, 5}, {2, 2}, {2, 2}, {2, 2}}), Contains("smaller than ksize"));
  CHECK_THROWS_WITH(run({{2, 3, 5, 5}, {2, 2}, {0, 2}}), Contains("strides"));
  CHECK_THROWS_WITH(run({{2, 3, 5, 5}}, "median"), Contains("median"));
}

// Windows from floor(p * H / out) to ceil((p + 1) * H / out): they cover all and may overlap.
TEST_CASE("adaptive pool2d", "[ops]") {
  const Shape shape{2, 2, 7, 5};
  for (const Ints& size : {Ints{3, 2}, Ints{1, 1}, Ints{7, 5}, Ints{9, 4}}) {
    const OpCase average{
        "pool2d",
        {{"X", {random_tensor(DType::f64, shape, 3)}}},
        {{"pooling_type", std::string("avg")}, {"ksize", size}, {"adaptive", true}}};
    OpCase largest = average;
    largest.attrs.set("pooling_type", std::string("max"));
    std::vector<double> means, tops;
    const std::vector<double> v = values_of(average.in[0].second[0]);
    for (int64_t plane = 0; plane < 4; ++plane)
      for (int64_t p = 0; p < size[0]; ++p)
        for (int64_t q = 0; q < size[1]; ++q) {
          double sum = 0, top = -1e9, count = 0;
          for (int64_t h = p * 7 / size[0]; h * size[0] < (p + 1) * 7; ++h)
            for (int64_t w = q * 5 / size[1]; w * size[1] < (q + 1) * 5; ++w) {
              const double e = v[static_cast<size_t>((plane * 7 + h) * 5 + w)];
              sum += e;
              top = std::max(top, e);
              ++count;
            }
          means.push_back(sum / count);
          tops.push_back(top);
        }
    const Tensor got = run_op(average).at("Out")[0];
    CHECK(got.shape() == Shape{2, 2, size[0], size[1]});
    CHECK(difference(got, means) < 1e-12);
    CHECK(difference(run_op(largest).at("Out")[0], tops) < 1e-12);
    CHECK(grad_error(average, {"X"}) < 1e-6);
    CHECK(grad_error(largest, {"X"}) < 1e-6);
  }
}
