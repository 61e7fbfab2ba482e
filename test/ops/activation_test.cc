#include <catch2/catch.hpp>
#include <cmath>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {
struct Activation {
  std::string type;
  double (*reference)(double);
  double low = -3, high = 3;
};
const Activation activations[] = {
    {"relu", [](double x) { return x > 0 ? x : 0; }},
    {"tanh", [](double x) { return std::tanh(x); }},
};
}  // namespace

TEST_CASE("activations", "[ops]") {
  for (const Activation& a : activations) {
    DYNAMIC_SECTION(a.type) {
      for (const Shape& shape : {Shape{1}, Shape{3, 5}, Shape{2, 3, 17}}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
          const Tensor x = random_tensor(dtype, shape, 3, a.low, a.high);
          std::vector<double> expected;
          for (const double v : values_of(x)) expected.push_back(a.reference(v));
          const Results got = run_op({a.type, {{"X", {x}}}});
          CHECK(difference(got.at("Out")[0], expected) < (dtype == DType::f32 ? 1e-6 : 1e-12));
        }
        CHECK(grad_error({a.type, {{"X", {random_tensor(DType::f64, shape, 5, a.low, a.high)}}}},
                         {"X"}) < 1e-6);
      }
    }
  }
  SECTION("integers are refused") {
    CHECK_THROWS_WITH(run_op({"tanh", {{"X", {random_tensor(DType::i64, {2}, 1)}}}}),
                      Contains("float32") && Contains("int64"));
  }
}
