#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("gather", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {5, 2, 3}, 1);
  const auto gather = [&](const Tensor& index) {
    return OpCase{"gather", {{"X", {x}}, {"Index", {index}}}};
  };
  for (const Tensor& index :
       {Tensor::of<int64_t>({4}, {3, 0, 3, 4}), Tensor::of<int64_t>({1, 1}, {2})}) {
    std::vector<double> expected;
    for (const double id : values_of(index))
      for (int k = 0; k < 6; ++k)
        expected.push_back(x.data<double>()[static_cast<int>(id) * 6 + k]);
    const Tensor out = run_op(gather(index)).at("Out")[0];
    CHECK(out.shape() == Shape{index.shape()[0], 2, 3});
    CHECK(values_of(out) == expected);
    CHECK(grad_error(gather(index), {"X"}) < 1e-6);
  }
  CHECK(values_of(run_op(gather(Tensor::of<int32_t>({2}, {1, 1}))).at("Out")[0]) ==
        values_of(run_op(gather(Tensor::of<int64_t>({2}, {1, 1}))).at("Out")[0]));
  CHECK(grad_error(gather(Tensor::of<int32_t>({3}, {1, 1, 0})), {"X"}) < 1e-6);
  OpCase last = gather(Tensor::of<int32_t>({3}, {1, 1, 0}));
  const std::vector<double> sums = values_of(run_grad(last, {"X"}).at("X")[0]);
  last.attrs.set("overwrite", true);  // the gradient of the second occurrence alone
  const std::vector<double> seconds = values_of(run_grad(last, {"X"}).at("X")[0]);
  CHECK(std::vector<double>(seconds.begin(), seconds.begin() + 6) ==
        std::vector<double>(sums.begin(), sums.begin() + 6));
  CHECK(std::vector<double>(seconds.begin() + 6, seconds.begin() + 12) !=
        std::vector<double>(sums.begin() + 6, sums.begin() + 12));
  CHECK(run_op(gather(Tensor(DType::i64, {0}))).at("Out")[0].shape() == Shape{0, 2, 3});
  const OpCase big{"gather",
                   {{"X", {random_tensor(DType::f32, {100, 50}, 1)}},
                    {"Index", {random_tensor(DType::i64, {3000}, 2, 0, 100)}}}};
  CHECK(values_of(run_op(big, 1).at("Out")[0]) == values_of(run_op(big, 3).at("Out")[0]));
  CHECK_THROWS_WITH(
      run_op(gather(Tensor::of<int64_t>({2}, {0, 5}))),
      Contains("gather") && Contains("entry 1") && Contains("is 5") && Contains("5 rows"));
  CHECK_THROWS_WITH(run_op(gather(Tensor::of<int64_t>({1, 2}, {0, 1}))),
                    Contains("gather") && Contains("[1, 2]"));
  CHECK_THROWS_WITH(run_op(gather(Tensor::of<float>({1}, {0}))),
                    Contains("Index") && Contains("float32"));
}

TEST_CASE("one_hot", "[ops]") {
  const auto one_hot = [](const Tensor& x, int depth) {
    return OpCase{"one_hot", {{"X", {x}}}, {{"depth", depth}}};
  };
  Tensor x = Tensor::of<int64_t>({3, 1}, {2, 0, 3});
  x.set_lod({{0, 1, 3}});
  const Tensor out = run_op(one_hot(x, 4)).at("Out")[0];
  CHECK(out.shape() == Shape{3, 4});
  CHECK(out.dtype() == DType::f32);
  CHECK(out.lod() == x.lod());
  CHECK(values_of(out) == std::vector<double>{0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1});
  CHECK(run_op(one_hot(Tensor::of<int32_t>({1, 2, 1}, {1, 0}), 2)).at("Out")[0].shape() ==
        Shape{1, 2, 2});
  CHECK(run_op(one_hot(Tensor(DType::i64, {0, 1}), 2)).at("Out")[0].shape() == Shape{0, 2});
  CHECK_THROWS_WITH(run_op(one_hot(x, 3)),
                    Contains("one_hot") && Contains("id 3") && Contains("[0, 3)"));
  CHECK_THROWS_WITH(run_op(one_hot(Tensor::of<int64_t>({2}, {0, 1}), 3)), Contains("[2]"));
  CHECK_THROWS_WITH(run_op(one_hot(Tensor::of<int64_t>({1}, {0}), 3)), Contains("[1]"));
  OpCase any = one_hot(x, 3);
  any.attrs.set("allow_out_of_range", true);
  CHECK(run_op(any).at("Out")[0].shape() == Shape{x.shape()[0], 3});
  CHECK_THROWS_WITH(run_op(one_hot(x, 0)), Contains("depth"));
}

TEST_CASE("one_hot_v2 adds a dimension", "[ops]") {
  const auto v2 = [](const Tensor& x, bool any = false) {
    return OpCase{"one_hot_v2", {{"X", {x}}}, {{"depth", 2}, {"allow_out_of_range", any}}};
  };
  const Tensor out = run_op(v2(Tensor::of<int64_t>({3}, {0, 1, 1}))).at("Out")[0];
  CHECK(out.shape() == Shape{3, 2});
  CHECK(values_of(out) == std::vector<double>{1, 0, 0, 1, 0, 1});
  CHECK(run_op(v2(Tensor::of<int32_t>({2, 1}, {0, 1}))).at("Out")[0].shape() == Shape{2, 1, 2});
  const Tensor outside = Tensor::of<int64_t>({3}, {5, 1, -1});
  CHECK_THROWS_WITH(run_op(v2(outside)), Contains("id 5"));
  CHECK(values_of(run_op(v2(outside, true)).at("Out")[0]) == std::vector<double>{0, 0, 0, 1, 0, 0});
}

TEST_CASE("arg_max and arg_min", "[ops]") {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
    const Tensor x = random_tensor(dtype, {3, 4, 5}, 1, -100, 100);
    const std::vector<double> v = values_of(x);
    for (const int axis : {0, 1, 2, -1}) {
      const int a = axis < 0 ? axis + 3 : axis;
      const Shape& s = x.shape();
      const int64_t outer = s.product(0, a), n = s[a], inner = s.product(a + 1, 3);
      std::vector<double> high, low;
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t j = 0; j < inner; ++j) {
          const auto at = [&](int64_t k) {
            return v[static_cast<size_t>((o * n + k) * inner + j)];
          };
          int64_t h = 0, l = 0;
          for (int64_t k = 0; k < n; ++k) {
            if (at(k) > at(h)) h = k;
            if (at(k) < at(l)) l = k;
          }
          high.push_back(static_cast<double>(h));
          low.push_back(static_cast<double>(l));
        }
      const Attrs attrs = {{"axis", int64_t{axis}}};
      const Tensor got = run_op({"arg_max", {{"X", {x}}}, attrs}).at("Out")[0];
      CHECK(got.dtype() == DType::i64);
      CHECK(got.shape().rank() == 2);
      CHECK(values_of(got) == high);
      CHECK(values_of(run_op({"arg_min", {{"X", {x}}}, attrs}, 3).at("Out")[0]) == low);
    }
  }
  const Tensor line = Tensor::of<float>({3}, {1, 7, 7});
  const Tensor best = run_op({"arg_max", {{"X", {line}}}}).at("Out")[0];
  CHECK(best.shape() == Shape{1});
  CHECK(values_of(best)[0] == 1);
  CHECK_THROWS_WITH(run_op({"arg_max", {{"X", {line}}}, {{"axis", int64_t{1}}}}),
                    Contains("arg_max") && Contains("axis 1"));
  CHECK_THROWS_WITH(run_op({"arg_max", {{"X", {Tensor(DType::f32, {2, 0})}}}}), Contains("[2, 0]"));
}

TEST_CASE("top_k", "[ops]") {
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 5}, Shape{2, 2, 9}, Shape{0, 4}}) {
    const Tensor x = random_tensor(DType::f64, shape, 1);
    const int64_t n = shape[shape.rank() - 1];
    for (const int k : {1, 2, static_cast<int>(n)}) {
      if (k > n) continue;
      const OpCase c{"top_k", {{"X", {x}}}, {{"k", k}}};
      const Results r = run_op(c);
      std::vector<double> values, indices;
      for (int64_t row = 0; row < x.numel() / n; ++row) {
        const double* v = x.data<double>() + row * n;
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), int64_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t a, int64_t b) { return v[a] > v[b]; });
        for (int i = 0; i < k; ++i) {
          indices.push_back(static_cast<double>(order[static_cast<size_t>(i)]));
          values.push_back(v[order[static_cast<size_t>(i)]]);
        }
      }
      CHECK(values_of(r.at("Out")[0]) == values);
      CHECK(values_of(r.at("Indices")[0]) == indices);
      CHECK(grad_error(c, {"X"}) < 1e-6);
    }
  }
  SECTION("equal elements come in order, on any number of threads") {
    const Tensor x = random_tensor(DType::i64, {3000, 20}, 1, 0, 5);
    const OpCase c{"top_k", {{"X", {x}}}, {{"k", 3}}};
    const Results one = run_op(c, 1), three = run_op(c, 3);
    CHECK(values_of(one.at("Indices")[0]) == values_of(three.at("Indices")[0]));
    const Tensor same = Tensor::of<float>({1, 4}, {2, 5, 5, 5});
    CHECK(values_of(run_op({"top_k", {{"X", {same}}}, {{"k", 2}}}).at("Indices")[0]) ==
          std::vector<double>{1, 2});
  }
  SECTION("the LoD is passed on, wrong k refused") {
    Tensor x = random_tensor(DType::f32, {3, 2}, 1);
    x.set_lod({{0, 1, 3}});
    CHECK(run_op({"top_k", {{"X", {x}}}}).at("Out")[0].lod() == x.lod());
    CHECK(run_op({"top_k", {{"X", {x}}}}).at("Indices")[0].lod() == x.lod());
    CHECK_THROWS_WITH(run_op({"top_k", {{"X", {x}}}, {{"k", 3}}}),
                      Contains("top_k") && Contains("k is 3") && Contains("[3, 2]"));
  }
}
