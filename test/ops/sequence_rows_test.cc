#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace sequence_rows_test {

using Values = std::vector<double>;

Tensor sequences(Tensor t, Lod lod) {
  t.set_lod(std::move(lod));
  return t;
}

const Tensor five = sequences(Tensor::of<double>({5, 1}, {1, 2, 3, 4, 5}), {{0, 2, 2, 5}});

}  // namespace sequence_rows_test

using namespace sequence_rows_test;

TEST_CASE("sequence_reverse", "[ops]") {
  const OpCase c{"sequence_reverse", {{"X", {five}}}};
  CHECK(values_of(run_op(c).at("Y")[0]) == Values{2, 1, 5, 4, 3});
  CHECK(run_op(c).at("Y")[0].lod() == five.lod());
  CHECK(grad_error(c, {"X"}, {"Y"}) < 1e-6);
  CHECK_THROWS_WITH(run_op({"sequence_reverse", {{"X", {random_tensor(DType::f32, {2, 1}, 1)}}}}),
                    Contains("no LoD"));
}

TEST_CASE("sequence_concat", "[ops]") {
  const Tensor other = sequences(Tensor::of<double>({4, 1}, {10, 20, 30, 40}), {{0, 1, 3, 4}});
  const OpCase c{"sequence_concat", {{"X", {five, other}}}};
  const Tensor out = run_op(c).at("Out")[0];
  CHECK(values_of(out) == Values{1, 2, 10, 20, 30, 3, 4, 5, 40});
  CHECK(out.lod() == Lod{{0, 3, 5, 9}});
  CHECK(grad_error(c, {"X"}) < 1e-6);
  const Tensor fewer = sequences(Tensor::of<double>({2, 1}, {1, 2}), {{0, 1, 2}});
  CHECK_THROWS_WITH(run_op({"sequence_concat", {{"X", {five, fewer}}}}),
                    Contains("as many sequences"));
}

TEST_CASE("sequence_expand_as", "[ops]") {
  const Tensor x = Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6});
  const OpCase c{"sequence_expand_as", {{"X", {x}}, {"Y", {five}}}};
  const Tensor out = run_op(c).at("Out")[0];
  CHECK(values_of(out) == Values{1, 2, 1, 2, 5, 6, 5, 6, 5, 6});
  CHECK(out.lod() == five.lod());
  CHECK(grad_error(c, {"X"}) < 1e-6);
  CHECK_THROWS_WITH(run_op({"sequence_expand_as",
                            {{"X", {random_tensor(DType::f32, {2, 2}, 1)}}, {"Y", {five}}}}),
                    Contains("a row for each sequence"));
}

TEST_CASE("sequence_pad and sequence_unpad", "[ops]") {
  const Tensor pad = Tensor::of<double>({1}, {-1});
  OpCase c{"sequence_pad", {{"X", {five}}, {"PadValue", {pad}}}};
  const Results got = run_op(c);
  CHECK(got.at("Out")[0].shape() == Shape{3, 3, 1});
  CHECK(values_of(got.at("Out")[0]) == Values{1, 2, -1, -1, -1, -1, 3, 4, 5});
  CHECK(values_of(got.at("Length")[0]) == Values{2, 0, 3});
  CHECK(grad_error(c, {"X"}) < 1e-6);
  c.attrs.set("padded_length", 4);
  CHECK(run_op(c).at("Out")[0].shape() == Shape{3, 4, 1});
  CHECK(grad_error(c, {"X"}) < 1e-6);
  c.attrs.set("padded_length", 2);
  CHECK_THROWS_WITH(run_op(c), Contains("3 rows") && Contains("padded_length 2"));

  const OpCase back{"sequence_unpad",
                    {{"X", {got.at("Out")[0]}}, {"Length", {got.at("Length")[0]}}}};
  const Tensor again = run_op(back).at("Out")[0];
  CHECK(values_of(again) == values_of(five));
  CHECK(again.lod() == five.lod());
  CHECK(grad_error(back, {"X"}) < 1e-6);
  CHECK_THROWS_WITH(
      run_op({"sequence_unpad",
              {{"X", {got.at("Out")[0]}}, {"Length", {Tensor::of<int64_t>({3}, {1, 4, 1})}}}}),
      Contains("a length is 4"));
}

TEST_CASE("sequence_mask", "[ops]") {
  const Tensor lengths = Tensor::of<int64_t>({3}, {2, 0, 3});
  const auto f32 = static_cast<int32_t>(DType::f32);
  OpCase c{"sequence_mask", {{"X", {lengths}}}, {{"out_dtype", f32}}};
  const Values three{1, 1, 0, 0, 0, 0, 1, 1, 1};
  CHECK(values_of(run_op(c).at("Y")[0]) == three);  // as long as the longest
  CHECK(run_op(c).at("Y")[0].dtype() == DType::f32);
  c.attrs.set("maxlen", 2);
  CHECK(values_of(run_op(c).at("Y")[0]) == Values{1, 1, 0, 0, 1, 1});
  c.in.push_back({"MaxLenTensor", {Tensor::of<int32_t>({1}, {3})}});
  CHECK(values_of(run_op(c).at("Y")[0]) == three);
}
