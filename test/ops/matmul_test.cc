#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace matmul_test {

using Values = std::vector<double>;

// [m, k] by [k, n] of plain values.
Values product(const Values& a, const Values& b, size_t m, size_t k, size_t n) {
  Values out(m * n, 0.0);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t l = 0; l < k; ++l) out[i * n + j] += a[i * k + l] * b[l * n + j];
  return out;
}

Values transposed(const Values& a, size_t rows, size_t cols) {
  Values out(a.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < cols; ++j) out[j * rows + i] = a[i * cols + j];
  return out;
}

Values part(const Values& a, size_t index, size_t size) {
  const auto from = a.begin() + static_cast<long>(index * size);
  return {from, from + static_cast<long>(size)};
}

struct MulForm {
  Shape x, y;
  int x_cols, y_cols;
  Shape out;
  size_t m, k, n;
};

// A matmul of stored matrices: b of them on each side, or one (b_x, b_y = 1) for all.
struct MatmulForm {
  Shape x, y, out;
  size_t b_x, b_y, m, k, n;
};

TEST_CASE("mul flattens its operands to matrices", "[ops]") {
  const auto f = GENERATE(values<MulForm>({
      {{1, 1}, {1, 1}, 1, 1, {1, 1}, 1, 1, 1},
      {{3, 5}, {5, 7}, 1, 1, {3, 7}, 3, 5, 7},
      {{2, 3, 5}, {15, 4}, 1, 1, {2, 4}, 2, 15, 4},
      {{2, 3, 5}, {5, 4}, 2, 1, {2, 3, 4}, 6, 5, 4},
      {{2, 6}, {2, 3, 4, 2}, 1, 2, {2, 4, 2}, 2, 6, 8},
      {{0, 5}, {5, 7}, 1, 1, {0, 7}, 0, 5, 7},
  }));
  CAPTURE(f.x, f.y);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const OpCase c{"mul",
                   {{"X", {random_tensor(dtype, f.x, 1)}}, {"Y", {random_tensor(dtype, f.y, 2)}}},
                   {{"x_num_col_dims", f.x_cols}, {"y_num_col_dims", f.y_cols}}};
    const Tensor out = run_op(c).at("Out")[0];
    CHECK(out.shape() == f.out);
    const Values want =
        product(values_of(c.in[0].second[0]), values_of(c.in[1].second[0]), f.m, f.k, f.n);
    CHECK(difference(out, want) < (dtype == DType::f32 ? 1e-5 : 1e-12));
    CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
    CHECK(grad_error(c, {"X"}) < 1e-6);
    CHECK(grad_error(c, {"Y"}) < 1e-6);
  }
}

TEST_CASE("mul passes on the LoD of X and gives the same with any number of threads", "[ops]") {
  Tensor x = random_tensor(DType::f32, {300, 100}, 1);
  x.set_lod({{0, 100, 300}});
  const OpCase c{"mul", {{"X", {x}}, {"Y", {random_tensor(DType::f32, {100, 120}, 2)}}}};
  const Tensor one = run_op(c, 1).at("Out")[0], three = run_op(c, 3).at("Out")[0];
  CHECK(one.lod() == x.lod());
  CHECK(difference(one, values_of(three)) < 1e-5);
}

TEST_CASE("mul refuses what does not fit", "[ops]") {
  const auto run = [](const Shape& x, const Shape& y, int x_cols, DType y_type = DType::f32) {
    return run_op({"mul",
                   {{"X", {random_tensor(DType::f32, x, 1)}}, {"Y", {random_tensor(y_type, y, 2)}}},
                   {{"x_num_col_dims", x_cols}}});
  };
  CHECK_THROWS_WITH(run({2, 3}, {4, 5}, 1),
                    Contains("op mul") && Contains("X (X_0) [2, 3]") && Contains("Y (Y_0) [4, 5]"));
  CHECK_THROWS_WITH(run({2, 3}, {3, 5}, 2), Contains("x_num_col_dims is 2"));
  CHECK_THROWS_WITH(run({2, 3}, {3, 5}, 1, DType::f64), Contains("float64"));
}

TEST_CASE("matmul of vectors, matrices and batches", "[ops]") {
  // Shapes as they are without transposition; the test turns the last two dimensions for the rest.
  const auto f = GENERATE(values<MatmulForm>({
      {{5}, {5}, {1}, 1, 1, 1, 5, 1},
      {{5}, {5, 3}, {3}, 1, 1, 1, 5, 3},
      {{4, 5}, {5}, {4}, 1, 1, 4, 5, 1},
      {{4, 5}, {5, 3}, {4, 3}, 1, 1, 4, 5, 3},
      {{2, 4, 5}, {2, 5, 3}, {2, 4, 3}, 2, 2, 4, 5, 3},
      {{2, 3, 4, 5}, {2, 3, 5, 3}, {2, 3, 4, 3}, 6, 6, 4, 5, 3},
      {{3, 4, 5}, {5, 2}, {3, 4, 2}, 3, 1, 4, 5, 2},
      {{4, 5}, {3, 5, 2}, {3, 4, 2}, 1, 3, 4, 5, 2},
      {{3, 4, 5}, {5}, {3, 4}, 3, 1, 4, 5, 1},
      {{5}, {3, 5, 2}, {3, 2}, 1, 3, 1, 5, 2},
      {{0, 4, 5}, {5, 2}, {0, 4, 2}, 0, 1, 4, 5, 2},
      {{4, 5}, {0, 5, 2}, {0, 4, 2}, 1, 0, 4, 5, 2},
  }));
  const bool tx = GENERATE(false, true), ty = GENERATE(false, true);
  if ((tx && f.x.rank() == 1) || (ty && f.y.rank() == 1)) return;
  const auto turn = [](Shape s, bool t) {
    if (t) std::swap(s[s.rank() - 2], s[s.rank() - 1]);
    return s;
  };
  CAPTURE(f.x, f.y, tx, ty);
  const OpCase c{"matmul",
                 {{"X", {random_tensor(DType::f64, turn(f.x, tx), 1)}},
                  {"Y", {random_tensor(DType::f64, turn(f.y, ty), 2)}}},
                 {{"transpose_X", tx}, {"transpose_Y", ty}, {"alpha", 0.5f}}};
  const Values x = values_of(c.in[0].second[0]), y = values_of(c.in[1].second[0]);
  Values want;
  const size_t batch = f.b_x == 0 || f.b_y == 0 ? 0 : std::max(f.b_x, f.b_y);
  for (size_t b = 0; b < batch; ++b) {
    Values xb = part(x, f.b_x > 1 ? b : 0, f.m * f.k), yb = part(y, f.b_y > 1 ? b : 0, f.k * f.n);
    if (tx) xb = transposed(xb, f.k, f.m);
    if (ty) yb = transposed(yb, f.n, f.k);
    for (const double v : product(xb, yb, f.m, f.k, f.n)) want.push_back(0.5 * v);
  }
  const Tensor out = run_op(c, 3).at("Out")[0];
  CHECK(out.shape() == f.out);
  CHECK(difference(out, want) < 1e-12);
  CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
}

TEST_CASE("matmul of two vectors may be an outer product", "[ops]") {
  const OpCase c{
      "matmul",
      {{"X", {random_tensor(DType::f64, {3}, 1)}}, {"Y", {random_tensor(DType::f64, {2}, 2)}}},
      {{"transpose_X", true}, {"transpose_Y", true}}};
  const Tensor out = run_op(c).at("Out")[0];
  CHECK(out.shape() == Shape{3, 2});
  CHECK(difference(out, product(values_of(c.in[0].second[0]), values_of(c.in[1].second[0]), 3, 1,
                                2)) < 1e-14);
  CHECK(grad_error(c, {"X", "Y"}) < 1e-6);
}

TEST_CASE("matmul refuses what does not fit", "[ops]") {
  const auto run = [](const Shape& x, const Shape& y, bool tx = false) {
    return run_op(
        {"matmul",
         {{"X", {random_tensor(DType::f32, x, 1)}}, {"Y", {random_tensor(DType::f32, y, 2)}}},
         {{"transpose_X", tx}}});
  };
  CHECK_THROWS_WITH(run({2, 3}, {4, 5}), Contains("op matmul") && Contains("X (X_0) [2, 3]") &&
                                             Contains("Y (Y_0) [4, 5]"));
  CHECK_THROWS_WITH(run({2, 3}, {3, 5}, true), Contains("X (X_0) [2, 3] (transposed) is 2 wide"));
  CHECK_THROWS_WITH(run({2, 4, 3}, {3, 3, 5}), Contains("2 and 3 matrices"));
}

}  // namespace matmul_test
