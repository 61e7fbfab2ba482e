#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace rearrange_test {
using Values = std::vector<double>;
}  // namespace rearrange_test

using namespace rearrange_test;

TEST_CASE("expand_as", "[ops]") {
  const Tensor x = Tensor::of<double>({2, 1}, {1, 2}), like = random_tensor(DType::f32, {4, 3}, 1);
  const OpCase c{"expand_as", {{"X", {x}}, {"target_tensor", {like}}}};
  CHECK(values_of(run_op(c).at("Out")[0]) == Values{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
  CHECK(grad_error(c, {"X"}) < 1e-6);
  CHECK_THROWS_WITH(
      run_op(
          {"expand_as", {{"X", {x}}, {"target_tensor", {random_tensor(DType::f32, {3, 3}, 1)}}}}),
      Contains("no multiple"));
}

TEST_CASE("cumsum", "[ops]") {
  const Tensor x = Tensor::of<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  struct Case {
    int axis;
    bool exclusive, reverse;
    Values expected;
  };
  const Case cases[] = {{1, false, false, {1, 3, 6, 4, 9, 15}},
                        {0, false, false, {1, 2, 3, 5, 7, 9}},
                        {-1, true, false, {0, 1, 3, 0, 4, 9}},
                        {1, false, true, {6, 5, 3, 15, 11, 6}},
                        {1, true, true, {5, 3, 0, 11, 6, 0}}};
  for (const Case& k : cases) {
    const OpCase c{"cumsum",
                   {{"X", {x}}},
                   {{"axis", k.axis}, {"exclusive", k.exclusive}, {"reverse", k.reverse}}};
    CHECK(values_of(run_op(c).at("Out")[0]) == k.expected);
    CHECK(grad_error(c, {"X"}) < 1e-6);
  }
  CHECK(
      values_of(run_op({"cumsum", {{"X", {Tensor::of<int64_t>({3}, {1, 2, 3})}}}}).at("Out")[0]) ==
      Values{1, 3, 6});
}

TEST_CASE("scatter", "[ops]") {
  const Tensor x = Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor ids = Tensor::of<int64_t>({2}, {2, 0}),
               updates = Tensor::of<double>({2, 2}, {10, 20, 30, 40});
  OpCase c{"scatter", {{"X", {x}}, {"Ids", {ids}}, {"Updates", {updates}}}};
  CHECK(values_of(run_op(c).at("Out")[0]) == Values{30, 40, 3, 4, 10, 20});
  CHECK(grad_error(c, {"X", "Updates"}) < 1e-6);
  c.attrs.set("overwrite", false);
  c.in[1].second = {Tensor::of<int32_t>({2}, {1, 1})};
  CHECK(values_of(run_op(c).at("Out")[0]) == Values{1, 2, 40, 60, 5, 6});
  CHECK(grad_error(c, {"X", "Updates"}) < 1e-6);
  c.in[1].second = {Tensor::of<int32_t>({2}, {1, 3})};
  CHECK_THROWS_WITH(run_op(c), Contains("entry 1") && Contains("3 rows"));
}

TEST_CASE("gather_nd", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {2, 3, 4}, 1);
  const Values v = values_of(x);
  const OpCase rows{"gather_nd",
                    {{"X", {x}}, {"Index", {Tensor::of<int64_t>({3, 2}, {1, 0, 0, 2, 1, 0})}}}};
  Values expected;
  for (const size_t at : {12u, 8u, 12u})
    expected.insert(expected.end(), v.begin() + static_cast<long>(at),
                    v.begin() + static_cast<long>(at) + 4);
  CHECK(values_of(run_op(rows).at("Out")[0]) == expected);
  CHECK(run_op(rows).at("Out")[0].shape() == Shape{3, 4});
  CHECK(grad_error(rows, {"X"}) < 1e-6);
  const OpCase ones{"gather_nd",
                    {{"X", {x}}, {"Index", {Tensor::of<int32_t>({2, 3}, {1, 2, 3, 0, 0, 1})}}}};
  CHECK(values_of(run_op(ones).at("Out")[0]) == Values{v[23], v[1]});
  CHECK(grad_error(ones, {"X"}) < 1e-6);
  CHECK_THROWS_WITH(
      run_op({"gather_nd", {{"X", {x}}, {"Index", {Tensor::of<int64_t>({1, 2}, {1, 3})}}}}),
      Contains("entry 0") && Contains("outside"));
}

TEST_CASE("unstack", "[ops]") {
  const Tensor x = random_tensor(DType::f64, {2, 3, 2}, 1);
  const Values v = values_of(x);
  const OpCase c{"unstack", {{"X", {x}}}, {{"axis", 1}, {"num", 3}}, {{"Y", 3}}};
  const Results got = run_op(c);
  for (size_t k = 0; k < 3; ++k) {
    CHECK(got.at("Y")[k].shape() == Shape{2, 2});
    CHECK(values_of(got.at("Y")[k]) ==
          Values{v[2 * k], v[2 * k + 1], v[6 + 2 * k], v[6 + 2 * k + 1]});
  }
  CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  const OpCase back{"unstack_grad", {{"Y@GRAD", got.at("Y")}}, {{"axis", 1}}};
  CHECK(values_of(run_op(back).at("X@GRAD")[0]) == v);
  CHECK_THROWS_WITH(run_op({"unstack", {{"X", {x}}}, {{"axis", 1}}, {{"Y", 2}}}),
                    Contains("length 3") && Contains("2 outputs"));
}

TEST_CASE("shard_index", "[ops]") {
  const Tensor x = Tensor::of<int64_t>({4, 1}, {1, 6, 12, 19});
  const auto shard = [&](int id) {
    return OpCase{"shard_index",
                  {{"X", {x}}},
                  {{"index_num", 20}, {"nshards", 2}, {"shard_id", id}, {"ignore_value", -1}}};
  };
  CHECK(values_of(run_op(shard(0)).at("Out")[0]) == Values{1, 6, -1, -1});
  CHECK(values_of(run_op(shard(1)).at("Out")[0]) == Values{-1, -1, 2, 9});
  CHECK_THROWS_WITH(run_op(shard(2)), Contains("shard_id"));
}
