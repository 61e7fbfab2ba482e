#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace sequence_conv_test {

OpCase conv_case(int32_t start, int32_t length) {
  Tensor x = random_tensor(DType::f64, {6, 2}, 1);
  x.set_lod({{0, 2, 2, 3, 6}});
  return {"sequence_conv",
          {{"X", {x}}, {"Filter", {random_tensor(DType::f64, {length * 2, 3}, 2)}}},
          {{"contextStart", start}, {"contextLength", length}}};
}

}  // namespace sequence_conv_test

using namespace sequence_conv_test;

TEST_CASE("sequence_conv", "[ops]") {
  const auto [start, length] =
      GENERATE(std::pair{-1, 3}, std::pair{0, 1}, std::pair{-2, 2}, std::pair{1, 4});
  const OpCase c = conv_case(start, length);
  const auto x = values_of(c.in[0].second[0]), filter = values_of(c.in[1].second[0]);
  const std::vector<size_t> begin{0, 0, 2, 3, 3, 3}, end{2, 2, 3, 6, 6, 6};
  std::vector<double> expected;
  for (size_t row = 0; row < 6; ++row)
    for (size_t f = 0; f < 3; ++f) {
      double sum = 0;
      for (int k = 0; k < length; ++k) {
        const int from = static_cast<int>(row) + start + k;
        if (from < static_cast<int>(begin[row]) || from >= static_cast<int>(end[row])) continue;
        for (size_t d = 0; d < 2; ++d)
          sum += x[static_cast<size_t>(from) * 2 + d] *
                 filter[(static_cast<size_t>(k) * 2 + d) * 3 + f];
      }
      expected.push_back(sum);
    }
  const Tensor out = run_op(c).at("Out")[0];
  CHECK(difference(out, expected) < 1e-12);
  CHECK(out.lod() == c.in[0].second[0].lod());
  CHECK(grad_error(c, {"X", "Filter"}) < 1e-6);
}

TEST_CASE("sequence_conv: what does not fit is refused", "[ops]") {
  OpCase c = conv_case(-1, 3);
  c.attrs.set("contextLength", 2);
  CHECK_THROWS_WITH(run_op(c), Contains("2 times as many rows"));
  c = conv_case(-1, 3);
  c.attrs.set("contextStride", 2);
  CHECK_THROWS_WITH(run_op(c), Contains("contextStride must be 1"));
  c = conv_case(-1, 3);
  c.in[0].second[0] = random_tensor(DType::f64, {6, 2}, 1);
  CHECK_THROWS_AS(run_op(c), Error);
}
