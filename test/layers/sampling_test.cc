// Layers of outputs with many classes, filters over sequences, sums over batches: names, ops,
// shapes, and that they learn.
#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace sampling_test {

Names types_of(const Program& p) {
  Names out;
  for (const auto& op : p.global().ops()) out.push_back(op->type);
  return out;
}

}  // namespace sampling_test

using namespace sampling_test;

TEST_CASE("nce: parameters, ops and shape", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {4}), y = data(c.b, "y", {1}, {.dtype = DType::i64});
  const std::string cost = nce(c.b, x, y, 7, {.num_neg_samples = 3, .sampler = "log_uniform"});
  CHECK(c.b.var("nce_0.w_0").shape == Shape{7, 4});
  CHECK(c.b.var("nce_0.b_0").shape == Shape{7, 1});
  CHECK(c.b.var(cost).shape == Shape{-1, 1});
  CHECK(types_of(c.b.main()) == Names{"nce", "scale"});
  CHECK_THROWS_WITH(nce(c.b, x, y, 7, {.sampler = "custom_dist"}),
                    Contains("sampler must be uniform or log_uniform"));
}

TEST_CASE("sampled_softmax_with_cross_entropy: several classes share the label", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {5}), y = data(c.b, "y", {2}, {.dtype = DType::i64});
  const std::string cost = sampled_softmax_with_cross_entropy(c.b, x, y, 3, {.num_true = 2});
  CHECK(c.b.var(cost).shape == Shape{-1, 1});
  c.start();
  const Tensor scores = Tensor::of<float>({1, 5}, {0, 0, 0, 0, 0});
  const auto found =
      values_of(c.run({{"x", scores}, {"y", Tensor::of<int64_t>({1, 2}, {1, 4})}}, {cost})[0]);
  CHECK(found[0] > 0.3);  // two classes of up to five with equal scores: between log 2 and log 5
  CHECK(found[0] < 3);
}

TEST_CASE("hsigmoid: parameters, ops and shape", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {4}), y = data(c.b, "y", {1}, {.dtype = DType::i64});
  const std::string cost = hsigmoid(c.b, x, y, 6, {.bias_attr = ParamAttr::none()});
  CHECK(c.b.var("hierarchical_sigmoid_0.w_0").shape == Shape{5, 4});
  CHECK(c.b.var(cost).shape == Shape{-1, 1});
  CHECK(types_of(c.b.main()) == Names{"hierarchical_sigmoid"});
  CHECK_THROWS_WITH(hsigmoid(c.b, x, y, 1), Contains("num_classes must be at least 2"));
}

TEST_CASE("sequence_conv and data_norm: parameters, ops and shape", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {4}, {.lod_level = 1});
  const std::string y = sequence_conv(c.b, x, 5, {.filter_size = 3, .act = "tanh"});
  CHECK(c.b.var("sequence_conv_0.w_0").shape == Shape{12, 5});
  CHECK(c.b.var("sequence_conv_0.b_0").shape == Shape{5});
  CHECK(c.b.var(y).shape == Shape{-1, 5});
  CHECK(types_of(c.b.main()) == Names{"sequence_conv", "elementwise_add", "tanh"});
  CHECK_THROWS_WITH(sequence_conv(c.b, x, 5, {.filter_stride = 2}), Contains("filter_stride 1"));
  const std::string z = data_norm(c.b, data(c.b, "z", {3}), {.name = "norm"});
  CHECK(c.b.var("norm.batch_size").shape == Shape{3});
  CHECK(c.b.var("norm.batch_square_sum").shape == Shape{3});
  CHECK(c.b.var(z).shape == Shape{-1, 3});
}
