// What a model computed, as lines of text.
#include "paddle/prediction_text.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tensor/tensor.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace prediction_text_test {
namespace {

View view_of(const Tensor& t) {
  View v;
  v.data = t.raw();
  v.dtype = t.dtype();
  v.shape = t.shape();
  if (!t.lod().empty()) v.lod = &t.lod();
  return v;
}

std::string lines(const std::vector<Prediction>& outputs, int64_t samples, PredictionForm form) {
  std::string out;
  add_predictions(outputs, samples, 1, form, out);
  return out;
}

}  // namespace

TEST_CASE("predictions are lines, one for each record", "[paddle]") {
  const Tensor p = Tensor::of<float>({2, 2}, {0.25f, 0.75f, 0.1f, 0.9f});
  const Tensor k = Tensor::of<int64_t>({2, 1}, {7, -8});
  const View pv = view_of(p), kv = view_of(k);
  const std::vector<Prediction> both{{"p", &pv}, {"a \"b\"", &kv}};
  CHECK(prediction_header(both) == "p.0,p.1,a \"b\"\n");
  CHECK(lines(both, 2, PredictionForm::csv) == "0.25,0.75,7\n0.1,0.9,-8\n");
  CHECK(lines(both, 2, PredictionForm::json) ==
        "{\"p\":[0.25,0.75],\"a \\\"b\\\"\":7}\n{\"p\":[0.1,0.9],\"a \\\"b\\\"\":-8}\n");
}

TEST_CASE("a sequence is one column", "[paddle]") {
  Tensor s = Tensor::of<float>({3, 1}, {1, 2, 3});
  s.set_lod({{0, 2, 2, 3}});
  const View v = view_of(s);
  const std::vector<Prediction> one{{"s", &v}};
  CHECK(prediction_header(one) == "s\n");
  CHECK(lines(one, 3, PredictionForm::csv) == "1 2\n\n3\n");
  CHECK(lines(one, 3, PredictionForm::json) == "{\"s\":[1,2]}\n{\"s\":[]}\n{\"s\":[3]}\n");
}

TEST_CASE("an output that is no prediction is refused", "[paddle]") {
  const Tensor mean = Tensor::of<float>({1}, {0.5f});
  const View v = view_of(mean);
  CHECK_THROWS_WITH(lines({{"cost", &v}}, 3, PredictionForm::csv),
                    Contains("'cost' has 1 rows for 3 records"));
  const Tensor bad = Tensor::of<float>({2, 1}, {0.5f, std::nanf("")});
  const View b = view_of(bad);
  CHECK_THROWS_WITH(lines({{"p", &b}}, 2, PredictionForm::csv), Contains("'p' of record 2"));
}

}  // namespace prediction_text_test
