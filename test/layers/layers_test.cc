// Layers run: shapes, values, first values, and what they say when they are used wrongly.
#include <cmath>
#include <set>

#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

std::vector<double> run_one(NetCase& c, const Feeds& feeds, const std::string& fetch) {
  c.start();
  return values_of(c.run(feeds, {fetch})[0]);
}

Tensor row(std::initializer_list<float> values) {
  return Tensor::of<float>({1, static_cast<int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("data puts the batch in front", "[layers]") {
  NetCase c;
  data(c.b, "x", {3, 4});
  data(c.b, "y", {-1, 4});
  data(c.b, "z", {4}, {.append_batch_size = false, .dtype = DType::i64, .lod_level = 1});
  CHECK(c.b.var("x").shape == Shape{-1, 3, 4});
  CHECK(c.b.var("y").shape == Shape{-1, 4});
  CHECK(c.b.var("z").shape == Shape{4});
  CHECK(c.b.var("z").lod_level == 1);
  CHECK_THROWS_WITH(data(c.b, "x", {5}), Contains("'x' is declared twice"));
}

TEST_CASE("fc multiplies, adds and activates", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {2}), z = data(c.b, "z", {1});
  const std::string y = fc(c.b, {x, z}, 2,
                           {.param_attr = {.initializer = init::Constant{2}},
                            .bias_attr = {.initializer = init::Values{{1, -100}}},
                            .act = "relu"});
  CHECK(run_one(c, {{"x", row({1, 2})}, {"z", row({3})}}, y) == std::vector<double>{13, 0});
}

TEST_CASE("fc takes one attribute per input", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {2}), z = data(c.b, "z", {1});
  const std::string y = fc(c.b, {x, z}, 1,
                           {.bias_attr = ParamAttr::none(),
                            .param_attrs = {{.name = "a", .initializer = init::Constant{2}},
                                            {.name = "b", .initializer = init::Constant{3}}}});
  CHECK(run_one(c, {{"x", row({1, 2})}, {"z", row({3})}}, y) == std::vector<double>{15});
  CHECK(parameter_names(c.net.main) == Names{"a", "b"});
  CHECK_THROWS_WITH(fc(c.b, x, 1, {.param_attrs = {{}, {}}}),
                    Contains("2 parameter attributes for 1 inputs"));
}

TEST_CASE("fc says what is wrong", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {2}), open = data(c.b, "open", {-1, 2, -1});
  CHECK_THROWS_WITH(fc(c.b, x, 0), Contains("size must be positive"));
  CHECK_THROWS_WITH(fc(c.b, x, 1, {.num_flatten_dims = 2}), Contains("num_flatten_dims 2"));
  CHECK_THROWS_WITH(fc(c.b, x, 1, {.act = "rellu"}), Contains("did you mean 'relu'?"));
  CHECK_THROWS_WITH(fc(c.b, "xx", 1), Contains("there is no variable 'xx'"));
  CHECK_THROWS_WITH(fc(c.b, open, 1), Contains("unknown length -1"));
  CHECK_THROWS_WITH(fc(c.b, x, 1, {.param_attr = ParamAttr::none()}), Contains("needs its weight"));
}

TEST_CASE("first values are what was asked for", "[layers]") {
  NetCase c;
  c.net.startup.random_seed = 3;
  const auto make = [&](const std::string& name, const Initializer& how, const Shape& shape) {
    create_parameter(c.b, shape, {.name = name, .attr = {.initializer = how}});
  };
  make("constant", init::Constant{1.5f}, {3});
  make("uniform", init::Uniform{2, 3}, {200});
  make("normal", init::Normal{10, 0.5f}, {4000});
  make("xavier", init::Xavier{}, {100, 50});
  make("xavier_normal", init::Xavier{.uniform = false}, {100, 50});
  make("msra", init::Msra{}, {8, 4, 3, 3});
  make("truncated", init::TruncatedNormal{1, 0.5f}, {4000});
  make("values", init::Values{{1, 2, 3, 4}}, {2, 2});
  make("bilinear", init::Bilinear{}, {1, 1, 4, 4});
  c.start();

  const auto range = [&](const std::string& name) {
    const std::vector<double> v = c.values(name);
    return std::pair(*std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end()));
  };
  const auto spread = [&](const std::string& name) {
    double sum = 0, squares = 0;
    for (const double v : c.values(name)) {
      sum += v;
      squares += v * v;
    }
    const auto n = static_cast<double>(c.values(name).size());
    return std::sqrt(squares / n - sum / n * (sum / n));
  };
  CHECK(c.values("constant") == std::vector<double>{1.5, 1.5, 1.5});
  CHECK(range("uniform").first >= 2);
  CHECK(range("uniform").second <= 3);
  CHECK(spread("uniform") > 0.2);
  CHECK(spread("normal") == Approx(0.5).epsilon(0.05));
  const double limit = std::sqrt(6.0 / 150);
  CHECK(range("xavier").second <= limit);
  CHECK(range("xavier").second > 0.95 * limit);
  CHECK(spread("xavier_normal") == Approx(std::sqrt(2.0 / 150)).epsilon(0.05));
  CHECK(range("msra").second <= std::sqrt(6.0 / 36));
  CHECK(range("msra").second > 0.9 * std::sqrt(6.0 / 36));
  CHECK(range("truncated").first >= 0);
  CHECK(range("truncated").second <= 2);
  CHECK(spread("truncated") == Approx(0.44).epsilon(0.05));
  CHECK(c.values("values") == std::vector<double>{1, 2, 3, 4});
  CHECK(c.values("bilinear")[0] == Approx(0.0625));
  CHECK(c.values("bilinear")[5] == Approx(0.5625));
  CHECK_THROWS_WITH(make("short", init::Values{{1}}, {2, 2}), Contains("needs 4 first values"));
}

TEST_CASE("layers give their shapes and values", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {4});
  const Feeds feeds = {{"x", Tensor::of<float>({2, 4}, {1, -2, 3, -4, 5, -6, 7, -8})}};
  using V = std::vector<double>;

  SECTION("reduce") {
    CHECK(run_one(c, feeds, reduce_sum(c.b, x)) == V{-4});
    CHECK(run_one(c, feeds, reduce_max(c.b, x, {.dim = {1}})) == V{3, 7});
  }
  SECTION("reshape and transpose") {
    const std::string y = transpose(c.b, reshape(c.b, x, {-1, 2, 2}), {0, 2, 1});
    CHECK(c.b.var(y).shape == Shape{-1, 2, 2});
    CHECK(run_one(c, feeds, y) == V{1, 3, -2, -4, 5, 7, -6, -8});
  }
  SECTION("split and concat") {
    const Names parts = split(c.b, x, {1, 3}, 1);
    REQUIRE(parts.size() == 2);
    CHECK(run_one(c, feeds, concat(c.b, {parts[1], parts[0]}, 1)) == V{-2, 3, -4, 1, -6, 7, -8, 5});
    CHECK_THROWS_WITH(split(c.b, x, 2, 5), Contains("dim 5 is outside"));
  }
  SECTION("scale, clip, cast, activations") {
    CHECK(run_one(c, feeds, reduce_sum(c.b, scale(c.b, x, {.scale = 2, .bias = 1}))) == V{0});
    CHECK(run_one(c, feeds, clip(c.b, x, -1, 2)) == V{1, -1, 2, -1, 2, -1, 2, -1});
    CHECK(run_one(c, feeds, cast(c.b, relu(c.b, x), DType::i64)) == V{1, 0, 3, 0, 5, 0, 7, 0});
    CHECK(run_one(c, feeds, leaky_relu(c.b, x, 0.5f)) == V{1, -1, 3, -2, 5, -3, 7, -4});
  }
  SECTION("slice, squeeze, stack") {
    const std::string column = slice(c.b, x, {1}, {1}, {2});
    CHECK(run_one(c, feeds, column) == V{-2, -6});
    CHECK(c.b.var(squeeze(c.b, column, {1})).shape == Shape{-1});
    CHECK(c.b.var(stack(c.b, {x, x}, 1)).shape == Shape{-1, 2, 4});
  }
  SECTION("top k and argmax") {
    const TopK top = topk(c.b, x, 2);
    CHECK(run_one(c, feeds, top.values) == V{3, 1, 7, 5});
    CHECK(values_of(c.run(feeds, {top.indices})[0]) == V{2, 0, 2, 0});
    CHECK(values_of(c.run(feeds, {argmax(c.b, x, 1)})[0]) == V{2, 2});
  }
}

TEST_CASE("losses and accuracy run", "[layers]") {
  NetCase c;
  const std::string x = data(c.b, "x", {3}), label = data(c.b, "label", {1}, {.dtype = DType::i64});
  const std::string p = softmax(c.b, x);
  const std::string loss = cross_entropy(c.b, p, label);
  const LossAndSoftmax both = softmax_with_cross_entropy(c.b, x, label);
  const std::string right = accuracy(c.b, p, label);
  c.start();
  const Feeds feeds = {{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 3, 2, 1})},
                       {"label", Tensor::of<int64_t>({2, 1}, {2, 1})}};
  const auto got = c.run(feeds, {loss, both.loss, right});
  const double total = std::exp(1) + std::exp(2) + std::exp(3);
  CHECK(values_of(got[0])[0] == Approx(std::log(total) - 3));
  CHECK(values_of(got[1])[1] == Approx(std::log(total) - 2));
  CHECK(values_of(got[2]) == std::vector<double>{0.5});
  CHECK(loss == "cross_entropy2_0.tmp_0");
}

TEST_CASE("a convolutional net builds and trains", "[layers]") {
  NetCase c;
  c.net.startup.random_seed = c.net.main.random_seed = 5;
  const std::string image = data(c.b, "image", {1, 8, 8});
  const std::string label = data(c.b, "label", {1}, {.dtype = DType::i64});
  const std::string conv =
      simple_img_conv_pool(c.b, image, 4, {3, 3}, {2, 2}, {2, 2}, {.act = "relu"});
  CHECK(c.b.var(conv).shape == Shape{-1, 4, 3, 3});
  CHECK(c.b.var("conv2d_0.w_0").shape == Shape{4, 1, 3, 3});
  CHECK(c.b.var("conv2d_0.b_0").shape == Shape{4});
  const std::string norm = batch_norm(c.b, conv);
  CHECK(c.b.var("batch_norm_0.w_1").stop_gradient);
  CHECK_FALSE(c.b.var("batch_norm_0.w_2").param->trainable);
  const std::string out = fc(c.b, dropout(c.b, norm, 0.2f), 3, {.act = "softmax"});
  const std::string loss = mean(c.b, cross_entropy(c.b, out, label));
  minimize(c.b, loss, Optimizer("momentum", 0.1));
  c.start();
  const Feeds feeds = {{"image", random_tensor(DType::f32, {6, 1, 8, 8}, 1)},
                       {"label", Tensor::of<int64_t>({6, 1}, {0, 1, 2, 0, 1, 2})}};
  const double first = values_of(c.run(feeds, {loss})[0])[0];
  double last = first;
  for (int i = 0; i < 30; ++i) last = values_of(c.run(feeds, {loss})[0])[0];
  CHECK(last < 0.5 * first);
}
