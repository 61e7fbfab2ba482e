#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;

namespace {

double activate(const std::string& act, double x) {
  if (act == "relu") return x > 0 ? x : 0;
  if (act == "tanh") return std::tanh(x);
  if (act == "sigmoid") return 1 / (1 + std::exp(-x));
  return x;
}

std::vector<double> fc_reference(const Tensor& x, const Tensor& w, const Tensor& b,
                                 const std::string& act) {
  const auto xv = values_of(x), wv = values_of(w), bv = values_of(b);
  const auto k = static_cast<size_t>(w.shape()[0]), n = static_cast<size_t>(w.shape()[1]);
  std::vector<double> out;
  for (size_t i = 0; i < xv.size() / k; ++i)
    for (size_t j = 0; j < n; ++j) {
      double s = bv[j];
      for (size_t c = 0; c < k; ++c) s += xv[i * k + c] * wv[c * n + j];
      out.push_back(activate(act, s));
    }
  return out;
}

}  // namespace

TEST_CASE("fused_fc", "[ops]") {
  const std::string act = GENERATE("", "relu", "tanh", "sigmoid");
  const auto [m, k, n] =
      GENERATE(std::array<int64_t, 3>{1, 1, 1}, std::array<int64_t, 3>{20, 13, 1},
               std::array<int64_t, 3>{7, 5, 33});
  const int threads = GENERATE(1, 3);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor(dtype, {m, k}, 1), w = random_tensor(dtype, {k, n}, 2),
                 b = random_tensor(dtype, {n}, 3);
    const Results r =
        run_op({"fused_fc", {{"X", {x}}, {"W", {w}}, {"Bias", {b}}}, {{"act", act}}}, threads);
    CHECK(difference(r.at("Out")[0], fc_reference(x, w, b, act)) <
          (dtype == DType::f32 ? 1e-5 : 1e-12));
  }
}

TEST_CASE("fused_fc_grad is the gradient of fused_fc", "[ops]") {
  const std::string act = GENERATE("", "tanh", "sigmoid", "relu");
  const Tensor x = random_tensor(DType::f64, {4, 3}, 1), w = random_tensor(DType::f64, {3, 5}, 2),
               b = random_tensor(DType::f64, {5}, 3), dy = random_tensor(DType::f64, {4, 5}, 4);
  const auto objective = [&](const Tensor& x1, const Tensor& w1, const Tensor& b1) {
    const auto out = fc_reference(x1, w1, b1, act), weight = values_of(dy);
    double s = 0;
    for (size_t i = 0; i < out.size(); ++i) s += out[i] * weight[i];
    return s;
  };
  Tensor y(DType::f64, {4, 5});
  const auto forward = fc_reference(x, w, b, act);
  std::copy(forward.begin(), forward.end(), y.data<double>());
  const Results r =
      run_op({"fused_fc_grad",
              {{"X", {x}}, {"W", {w}}, {"Bias", {b}}, {"Out", {y}}, {"Out@GRAD", {dy}}},
              {{"act", act}},
              {{"X@GRAD", 1}, {"W@GRAD", 1}, {"Bias@GRAD", 1}}});
  const auto numeric = [&](const Tensor& of) {
    std::vector<double> g;
    for (int64_t i = 0; i < of.numel(); ++i) {
      double& v = of.data<double>()[i];
      const double old = v, eps = 1e-6;
      v = old + eps;
      const double up = objective(x, w, b);
      v = old - eps;
      const double down = objective(x, w, b);
      v = old;
      g.push_back((up - down) / (2 * eps));
    }
    return g;
  };
  CHECK(difference(r.at("X@GRAD")[0], numeric(x)) < 1e-6);
  CHECK(difference(r.at("W@GRAD")[0], numeric(w)) < 1e-6);
  CHECK(difference(r.at("Bias@GRAD")[0], numeric(b)) < 1e-6);
}

TEST_CASE("fused_embedding_seq_pool", "[ops]") {
  const std::string type = GENERATE("SUM", "AVERAGE", "SQRT");
  const int64_t padding = GENERATE(-1, 2);
  const Tensor w = random_tensor(DType::f64, {4, 3}, 1);
  Tensor ids = Tensor::of<int64_t>({6, 1}, {0, 2, 3, 3, 1, 2});
  ids.set_lod({{0, 2, 2, 6}});  // the second sequence is empty
  std::vector<double> expected(9, 0), grad(12, 0);
  const Tensor dy = random_tensor(DType::f64, {3, 3}, 5);
  const std::vector<size_t> offsets = ids.lod()[0];
  for (size_t s = 0; s < 3; ++s) {
    const double length = static_cast<double>(offsets[s + 1] - offsets[s]);
    const double scale = length == 0 || type == "SUM" ? 1
                         : type == "AVERAGE"          ? 1 / length
                                                      : 1 / std::sqrt(length);
    for (size_t e = offsets[s]; e < offsets[s + 1]; ++e) {
      const auto id = static_cast<size_t>(ids.data<int64_t>()[e]);
      if (static_cast<int64_t>(id) == padding) continue;
      for (size_t c = 0; c < 3; ++c) {
        expected[s * 3 + c] += scale * w.data<double>()[id * 3 + c];
        grad[id * 3 + c] += scale * dy.data<double>()[s * 3 + c];
      }
    }
  }
  const Attrs attrs = {{"pooltype", type}, {"padding_idx", padding}};
  CHECK(difference(
            run_op({"fused_embedding_seq_pool", {{"W", {w}}, {"Ids", {ids}}}, attrs}).at("Out")[0],
            expected) < 1e-12);
  CHECK(difference(run_op({"fused_embedding_seq_pool_grad",
                           {{"W", {w}}, {"Ids", {ids}}, {"Out@GRAD", {dy}}},
                           attrs})
                       .at("W@GRAD")[0],
                   grad) < 1e-12);
  SECTION("an id outside of the table is refused") {
    Tensor bad = Tensor::of<int64_t>({1, 1}, {4});
    bad.set_lod({{0, 1}});
    CHECK_THROWS_WITH(run_op({"fused_embedding_seq_pool", {{"W", {w}}, {"Ids", {bad}}}, attrs}),
                      Catch::Matchers::Contains("id 4") && Catch::Matchers::Contains("4 rows"));
  }
}
