#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

Tensor sequences(DType dtype, const Shape& shape, Lod lod) {
  Tensor t = random_tensor(dtype, shape, 11);
  t.set_lod(std::move(lod));
  return t;
}

double pooled(const std::string& type, const std::vector<double>& values, double pad) {
  if (values.empty()) return pad;
  const auto n = static_cast<double>(values.size());
  double sum = 0, top = values[0];
  for (const double v : values) sum += v, top = v > top ? v : top;
  if (type == "AVERAGE") return sum / n;
  if (type == "SUM") return sum;
  if (type == "SQRT") return sum / std::sqrt(n);
  if (type == "LAST") return values.back();
  if (type == "FIRST") return values.front();
  return top;
}

std::vector<double> pool_reference(const Tensor& x, const std::string& type, double pad) {
  const std::vector<size_t>& offsets = x.lod().back();
  const std::vector<double> v = values_of(x);
  const size_t width = v.size() / static_cast<size_t>(x.shape()[0]);
  std::vector<double> out;
  for (size_t s = 0; s + 1 < offsets.size(); ++s)
    for (size_t k = 0; k < width; ++k) {
      std::vector<double> column;
      for (size_t r = offsets[s]; r < offsets[s + 1]; ++r) column.push_back(v[r * width + k]);
      out.push_back(pooled(type, column, pad));
    }
  return out;
}

const std::string pool_types[] = {"AVERAGE", "SUM", "SQRT", "LAST", "FIRST", "MAX"};
const Lod with_empty{{0, 0, 2, 3, 3, 7, 7}};
const Lod two_levels{{0, 2, 2, 4}, {0, 3, 3, 4, 7}};

}  // namespace

TEST_CASE("sequence_pool", "[ops]") {
  for (const std::string& type : pool_types) {
    DYNAMIC_SECTION(type) {
      for (const Lod& lod : {Lod{{0, 7}}, Lod{{0, 1, 4, 7}}, with_empty, two_levels}) {
        for (const Shape& shape : {Shape{7, 1}, Shape{7, 5}, Shape{7, 2, 9}}) {
          for (const DType dtype : {DType::f32, DType::f64}) {
            const OpCase c{"sequence_pool",
                           {{"X", {sequences(dtype, shape, lod)}}},
                           {{"pooltype", type}, {"pad_value", 0.5f}}};
            const Tensor out = run_op(c).at("Out")[0];
            CHECK(out.shape()[0] == static_cast<int64_t>(lod.back().size()) - 1);
            CHECK(out.lod() == Lod(lod.begin(), lod.end() - 1));
            CHECK(difference(out, pool_reference(c.in[0].second[0], type, 0.5)) <
                  (dtype == DType::f32 ? 1e-6 : 1e-12));
            CHECK(values_of(run_op(c, 3).at("Out")[0]) == values_of(out));
          }
        }
        CHECK(grad_error({"sequence_pool",
                          {{"X", {sequences(DType::f64, {7, 3}, lod)}}},
                          {{"pooltype", type}}},
                         {"X"}) < 1e-6);
      }
    }
  }
  SECTION("many sequences, split over threads") {
    Lod lod{{0}};
    for (size_t s = 0; s < 3000; ++s) lod[0].push_back(lod[0].back() + s % 5);
    const Tensor x = sequences(DType::f32, {static_cast<int64_t>(lod[0].back()), 10}, lod);
    for (const std::string& type : pool_types) {
      const OpCase c{"sequence_pool", {{"X", {x}}}, {{"pooltype", type}}};
      const Tensor out = run_op(c, 3).at("Out")[0];
      CHECK(values_of(run_op(c).at("Out")[0]) == values_of(out));
      CHECK(difference(out, pool_reference(x, type, 0)) < 1e-6);
    }
  }
  SECTION("where each maximum stands") {
    Tensor x = Tensor::of<float>({4, 2}, {1, 9, 5, 2, 5, 3, 0, 4});
    x.set_lod({{0, 3, 3, 4}});
    const OpCase c{"sequence_pool", {{"X", {x}}}, {{"pooltype", "MAX"}}};
    CHECK(values_of(run_op(c).at("MaxIndex")[0]) == std::vector<double>{1, 0, -1, -1, 3, 3});
  }
  SECTION("is_test gives the same values") {
    const Tensor x = sequences(DType::f32, {7, 2}, with_empty);
    const OpCase c{
        "sequence_pool", {{"X", {x}}}, {{"pooltype", "MAX"}, {"is_test", true}}, {{"Out", 1}}};
    CHECK(difference(run_op(c).at("Out")[0], pool_reference(x, "MAX", 0)) == 0);
  }
}

// A plan is kept over batches: the same number of sequences of other lengths must be seen.
TEST_CASE("sequence_pool follows the offsets of each batch", "[ops]") {
  Program program;
  Block& block = program.global();
  block.create({.name = "x", .dtype = DType::f64, .shape = {-1, 2}, .lod_level = 2});
  for (const auto& [from, to] : {std::pair{"x", "inner"}, std::pair{"inner", "outer"}})
    block.append({.type = "sequence_pool",
                  .in = {{"X", {from}}},
                  .out = {{"Out", {to}}},
                  .attrs = {{"pooltype", "SUM"}}});
  CHECK(block.var("inner").lod_level == 1);
  CHECK(block.var("outer").lod_level == 0);
  CHECK(block.var("outer").shape == Shape{-1, 2});
  Scope scope;
  ThreadPool pool(1);
  Plan plan(program, 0, scope, {"x"}, {"outer", "inner"}, pool, {});
  for (const Lod& lod : {Lod{{0, 1, 3}, {0, 1, 2, 5}}, Lod{{0, 2, 3}, {0, 1, 2, 5}},
                         Lod{{0, 2, 3}, {0, 3, 3, 5}}, Lod{{0, 1, 1, 2}, {0, 4, 5}}}) {
    const Tensor x = sequences(DType::f64, {5, 2}, lod);
    plan.feed(0, x);
    plan.run(0);
    Tensor inner(DType::f64, {static_cast<int64_t>(lod[1].size()) - 1, 2});
    const std::vector<double> sums = pool_reference(x, "SUM", 0);
    std::copy(sums.begin(), sums.end(), inner.data<double>());
    inner.set_lod({lod[0]});
    CHECK(plan.fetch(1).lod() == inner.lod());
    CHECK(difference(plan.fetch(0), pool_reference(inner, "SUM", 0)) < 1e-12);
  }
}

TEST_CASE("sequence_softmax", "[ops]") {
  for (const Lod& lod : {Lod{{0, 7}}, with_empty, two_levels}) {
    const Tensor x = sequences(DType::f64, {7, 1}, lod);
    const std::vector<double> v = values_of(x);
    std::vector<double> expected(v.size());
    for (size_t s = 0; s + 1 < lod.back().size(); ++s) {
      double sum = 0;
      for (size_t r = lod.back()[s]; r < lod.back()[s + 1]; ++r) sum += std::exp(v[r]);
      for (size_t r = lod.back()[s]; r < lod.back()[s + 1]; ++r) expected[r] = std::exp(v[r]) / sum;
    }
    const Results got = run_op({"sequence_softmax", {{"X", {x}}}});
    CHECK(difference(got.at("Out")[0], expected) < 1e-12);
    CHECK(got.at("Out")[0].lod() == lod);
    CHECK(grad_error({"sequence_softmax", {{"X", {x}}}}, {"X"}) < 1e-6);
  }
}

TEST_CASE("sequence ops refuse what is no sequence", "[ops]") {
  const Tensor x = random_tensor(DType::f32, {4, 2}, 1);
  CHECK_THROWS_WITH(run_op({"sequence_pool", {{"X", {x}}}}),
                    Contains("sequence_pool") && Contains("X (X_0) [4, 2]"));
  CHECK_THROWS_WITH(run_op({"sequence_pool",
                            {{"X", {sequences(DType::f32, {7, 2}, with_empty)}}},
                            {{"pooltype", "MEDIAN"}}}),
                    Contains("MEDIAN") && Contains("AVERAGE"));
  CHECK_THROWS_WITH(
      run_op({"sequence_softmax", {{"X", {sequences(DType::f32, {7, 2}, with_empty)}}}}),
      Contains("X (X_0) [7, 2]"));
}
