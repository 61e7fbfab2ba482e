// A sparse embedding trains as a dense one does.
#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

struct Trained {
  std::vector<double> table, other;
};

// Two lookups in one table (so that sparse gradients are summed, with repeated rows), one of them
// pooled over sequences.
Trained train(bool is_sparse, const Optimizer& optimizer, const ParamAttr& attr = {},
              bool global_clip = false) {
  NetCase c;
  c.net.startup.random_seed = 11;
  const std::string a = data(c.b, "a", {1}, {.dtype = DType::i64});
  const std::string words = data(c.b, "words", {1}, {.dtype = DType::i64, .lod_level = 1});
  const std::string y = data(c.b, "y", {1});
  ParamAttr table = attr;
  table.name = "table";
  table.initializer = init::Uniform{};
  const EmbeddingOptions options{.is_sparse = is_sparse, .param_attr = table};
  const std::string left = embedding(c.b, a, {7, 3}, options);
  const std::string right = sequence_pool(c.b, embedding(c.b, words, {7, 3}, options), "sum");
  const std::string predict = fc(c.b, concat(c.b, {left, right}, 1), 1,
                                 {.param_attr = {.name = "w", .initializer = init::Uniform{}},
                                  .bias_attr = ParamAttr::none()});
  if (global_clip) set_gradient_clip(c.net.main, clip_by_global_norm(0.2f));
  minimize(c.b, mean(c.b, square_error_cost(c.b, predict, y)), optimizer);
  CHECK((c.b.var("table@GRAD").kind == VarKind::selected_rows) == is_sparse);
  c.start();
  Tensor ids = Tensor::of<int64_t>({5, 1}, {3, 1, 3, 6, 3});
  ids.set_lod({{0, 2, 5}});
  for (int step = 0; step < 8; ++step)
    c.run({{"a", Tensor::of<int64_t>({2, 1}, {1, 4})},
           {"words", ids},
           {"y", Tensor::of<float>({2, 1}, {0.7f, -0.4f})}},
          {});
  return {c.values("table"), c.values("w")};
}

void check_same(const Trained& sparse, const Trained& dense) {
  REQUIRE(sparse.table.size() == dense.table.size());
  for (size_t i = 0; i < dense.table.size(); ++i)
    CHECK(sparse.table[i] == Approx(dense.table[i]).margin(1e-6));
  for (size_t i = 0; i < dense.other.size(); ++i)
    CHECK(sparse.other[i] == Approx(dense.other[i]).margin(1e-6));
}

}  // namespace

TEST_CASE("sparse and dense embeddings train alike", "[layers]") {
  const Optimizer sgd = Optimizer("sgd", 0.1);
  SECTION("with sgd") { check_same(train(true, sgd), train(false, sgd)); }
  SECTION("with adagrad") {
    const Optimizer o = Optimizer("adagrad", 0.1);
    check_same(train(true, o), train(false, o));
  }
  SECTION("with adam, whose state decays in all rows") {
    const Optimizer o = Optimizer("adam", 0.1);
    check_same(train(true, o), train(false, o));
  }
  SECTION("with weight decay, which makes the gradient dense") {
    const Optimizer o = Optimizer("sgd", 0.1, l2_decay(0.1f));
    check_same(train(true, o), train(false, o));
  }
  SECTION("clipped by norm") {
    const ParamAttr attr{.gradient_clip = clip_by_norm(0.1f)};
    check_same(train(true, sgd, attr), train(false, sgd, attr));
  }
  SECTION("clipped by global norm") {
    check_same(train(true, sgd, {}, true), train(false, sgd, {}, true));
  }
}

TEST_CASE("a decayed sparse gradient becomes a new dense variable", "[layers]") {
  NetCase c;
  const std::string ids = data(c.b, "ids", {1}, {.dtype = DType::i64});
  const std::string rows = embedding(c.b, ids, {7, 3}, {.is_sparse = true});
  minimize(c.b, mean(c.b, rows), Optimizer("sgd", 0.1, l2_decay(0.1f)));
  const Var& grad = c.b.var("embedding_0.w_0@GRAD@NEWGRAD@");
  CHECK(grad.kind == VarKind::lod_tensor);
  CHECK(grad.shape == Shape{7, 3});
  CHECK(c.net.main.global().ops().back()->in["Grad"] == Names{grad.name});
}
