#include <catch2/catch.hpp>
#include <iostream>
#include <sstream>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// What is written to std::cout while it lives.
class Captured {
 public:
  Captured() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~Captured() { std::cout.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

OpCase print(const Tensor& x, Attrs attrs = {}) {
  return {"print", {{"In", {x}}}, std::move(attrs)};
}

std::string printed(const OpCase& c) {
  const Captured out;
  run_op(c);
  return out.text();
}

}  // namespace

TEST_CASE("print", "[ops]") {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2.5f, -3, 4});
  SECTION("passes its input on and shows it") {
    const Captured out;
    const Tensor same = run_op(print(x, {{"message", std::string("look")}})).at("Out")[0];
    CHECK(values_of(same) == values_of(x));
    CHECK_THAT(out.text(), Contains("look\nTensor[") &&
                               Contains("\tshape: [2, 2]\n\tdtype: float32\n") &&
                               Contains("\tdata: 1, 2.5, -3, 4\n"));
  }
  SECTION("shows what it is asked for") {
    CHECK(printed(print(x, {{"print_tensor_name", false},
                            {"print_tensor_shape", false},
                            {"print_tensor_type", false},
                            {"summarize", 2}})) == "Tensor\n\tdata: 1, 2.5, ...\n");
    Tensor sequences = Tensor::of<int64_t>({3, 1}, {7, 8, 9});
    sequences.set_lod({{0, 2, 3}});
    CHECK_THAT(printed(print(sequences)),
               Contains("\tLoD: [0, 2, 3]\n") && Contains("data: 7, 8, 9\n"));
    CHECK(printed(print(x, {{"print_phase", std::string("BACKWARD")}})) == "");
    CHECK_THROWS_WITH(printed(print(x, {{"print_phase", std::string("once")}})),
                      Contains("FORWARD, BACKWARD or BOTH"));
  }
  SECTION("shows the gradient") {
    const Captured out;
    CHECK(grad_error(print(x), {"In"}) < 1e-9);
    CHECK_THAT(out.text(), Contains("@GRAD]"));
  }
  SECTION("runs where nothing reads its result, first_n times") {
    Program p;
    p.global().create({.name = "x", .shape = {-1}});
    p.global().append({.type = "print",
                       .in = {{"In", {"x"}}},
                       .out = {{"Out", {"y"}}},
                       .attrs = {{"first_n", 2}}});
    Executor executor;
    Scope scope;
    const Captured out;
    for (const float v : {1.0f, 2.0f, 3.0f})
      executor.run(p, scope, {{"x", Tensor::of<float>({1}, {v})}}, {});
    CHECK_THAT(out.text(), Contains("data: 1\n") && Contains("data: 2\n"));
    CHECK_THAT(out.text(), !Contains("data: 3"));
  }
}
