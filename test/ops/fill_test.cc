#include <catch2/catch.hpp>
#include <random>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;

TEST_CASE("fill_constant", "[ops]") {
  const auto dtype =
      GENERATE(DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::u8);
  const Results r =
      run_op({"fill_constant",
              {},
              {{"shape", Longs{2, 3}}, {"value", 1.0f}, {"dtype", static_cast<int32_t>(dtype)}}});
  CHECK(r.at("Out")[0].dtype() == dtype);
  CHECK(difference(r.at("Out")[0], std::vector<double>(6, 1.0)) == 0);
}

TEST_CASE("fill_constant_batch_size_like", "[ops]") {
  const Results r = run_op({"fill_constant_batch_size_like",
                            {{"Input", {random_tensor(DType::f32, {5, 2}, 1)}}},
                            {{"shape", Longs{-1, 3}}, {"value", 2.5f}}});
  CHECK(r.at("Out")[0].shape() == Shape{5, 3});
  CHECK(difference(r.at("Out")[0], std::vector<double>(15, 2.5)) == 0);

  // A batch of sequences is as long as there are sequences; other dimensions are as they are.
  Tensor sequences = random_tensor(DType::f32, {5, 2}, 1);
  sequences.set_lod({{0, 2}, {0, 2, 5}});
  OpCase c{"fill_constant_batch_size_like", {{"Input", {sequences}}}, {{"shape", Longs{-1, 3}}}};
  CHECK(run_op(c).at("Out")[0].shape() == Shape{2, 3});
  c.attrs.set("input_dim_idx", 1);
  c.attrs.set("output_dim_idx", 1);
  c.attrs.set("shape", Longs{4, -1});
  CHECK(run_op(c).at("Out")[0].shape() == Shape{4, 2});
}

TEST_CASE("fill_zeros_like", "[ops]") {
  const Results r = run_op({"fill_zeros_like", {{"X", {random_tensor(DType::f64, {4}, 1)}}}});
  CHECK(difference(r.at("Out")[0], std::vector<double>(4, 0.0)) == 0);
}

TEST_CASE("random fills draw from the documented engine", "[ops]") {
  std::minstd_rand engine(42);
  SECTION("uniform") {
    std::uniform_real_distribution<float> dist(-2, 3);
    std::vector<double> expected;
    for (int i = 0; i < 10; ++i) expected.push_back(dist(engine));
    const Results r =
        run_op({"uniform_random",
                {},
                {{"shape", Longs{2, 5}}, {"min", -2.0f}, {"max", 3.0f}, {"seed", 42}}});
    CHECK(difference(r.at("Out")[0], expected) == 0);
  }
  SECTION("gaussian") {
    std::normal_distribution<float> dist(1, 2);
    std::vector<double> expected;
    for (int i = 0; i < 9; ++i) expected.push_back(dist(engine));
    const Results r = run_op({"gaussian_random",
                              {},
                              {{"shape", Longs{9}}, {"mean", 1.0f}, {"std", 2.0f}, {"seed", 42}}});
    CHECK(difference(r.at("Out")[0], expected) == 0);
  }
  SECTION("without a seed of its own the op takes the program's") {
    const OpCase c{"uniform_random", {}, {{"shape", Longs{4}}}};
    CHECK(difference(run_op(c).at("Out")[0], values_of(run_op(c).at("Out")[0])) == 0);
  }
}
