// Shapes that tensors hold: the plan computes them before it lays out memory, and again whenever
// what they are computed from changes.
#include <catch2/catch.hpp>

#include "exec/networks.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace early_test {

Program with_inputs() {
  Program p;
  p.global().create({.name = "x", .shape = {-1, 4}});
  p.global().create({.name = "n", .dtype = DType::i32, .shape = {2}});
  return p;
}

Op reshape_by(Slots shape) {
  Op op{.type = "reshape2", .in = {{"X", {"x"}}}, .out = {{"Out", {"y"}}, {"XShape", {"xs"}}}};
  for (const auto& [slot, names] : shape) op.in.set(slot, names);
  return op;
}

const Tensor x = Tensor::of<float>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});

}  // namespace early_test

using namespace early_test;

TEST_CASE("a shape that is fed", "[exec]") {
  const bool fuse = GENERATE(true, false);
  Executor executor({.plan = {.fuse = fuse}});
  Scope scope;
  Program p = with_inputs();
  p.global().append(reshape_by({{"Shape", {"n"}}}));
  CHECK(p.global().var("y").shape == Shape{-1, -1});
  const auto run = [&](int32_t a, int32_t b) {
    return executor.run(p, scope, {{"x", x}, {"n", Tensor::of<int32_t>({2}, {a, b})}}, {"y"})[0];
  };
  // The feeds keep their shapes; what they hold decides.
  CHECK(run(4, 2).shape() == Shape{4, 2});
  CHECK(run(8, 1).shape() == Shape{8, 1});
  CHECK(run(-1, 8).shape() == Shape{1, 8});
  CHECK(run(0, -1).shape() == Shape{2, 4});
  CHECK(values_of(run(4, 2)) == values_of(x));
  CHECK_THROWS_WITH(run(3, 2), Contains("reshape2") && Contains("[3, 2]"));
  CHECK(run(4, 2).shape() == Shape{4, 2});  // also after a mistake
}

TEST_CASE("a shape that the program computes", "[exec]") {
  Executor executor;
  Scope scope;
  Program p = with_inputs();
  Block& block = p.global();
  // [rows of x * 2, -1], of the shape of x and of constants.
  block.append({.type = "shape", .in = {{"Input", {"x"}}}, .out = {{"Out", {"lengths"}}}});
  block.append({.type = "slice",
                .in = {{"Input", {"lengths"}}},
                .out = {{"Out", {"rows"}}},
                .attrs = {{"axes", Ints{0}}, {"starts", Ints{0}}, {"ends", Ints{1}}}});
  block.append({.type = "scale",
                .in = {{"X", {"rows"}}},
                .out = {{"Out", {"twice"}}},
                .attrs = {{"scale", 2.0f}}});
  block.append({.type = "fill_constant",
                .out = {{"Out", {"rest"}}},
                .attrs = {{"shape", Longs{1}}, {"value", -1.0f}, {"dtype", 2}}});
  const bool whole = GENERATE(true, false);
  if (whole)
    block.append(
        {.type = "concat", .in = {{"X", {"twice", "rest"}}}, .out = {{"Out", {"wanted"}}}});
  block.append(whole ? reshape_by({{"Shape", {"wanted"}}})
                     : reshape_by({{"ShapeTensor", {"twice", "rest"}}}));
  for (const int64_t rows : {2, 3, 2}) {
    const Tensor batch = random_tensor(DType::f32, {rows, 4}, 1);
    const auto out = executor.run(p, scope, {{"x", batch}}, {"y", "twice"});
    CHECK(out[0].shape() == Shape{2 * rows, 2});
    CHECK(values_of(out[0]) == values_of(batch));
    CHECK(values_of(out[1])[0] == 2 * static_cast<double>(rows));
  }
}

TEST_CASE("a count in a variable of the scope", "[exec]") {
  Executor executor;
  Scope scope;
  Program p = with_inputs();
  p.global().create({.name = "k", .dtype = DType::i64, .shape = {1}, .persistable = true});
  p.global().append({.type = "top_k",
                     .in = {{"X", {"x"}}, {"K", {"k"}}},
                     .out = {{"Out", {"best"}}, {"Indices", {"places"}}}});
  for (const int64_t k : {1, 3, 4, 2}) {
    scope.var("k").tensor = Tensor::of<int64_t>({1}, {k});
    CHECK(executor.run(p, scope, {{"x", x}}, {"best"})[0].shape() == Shape{2, k});
  }
  // In place: the memory stays, its content changes.
  scope.var("k").tensor.data<int64_t>()[0] = 3;
  CHECK(executor.run(p, scope, {{"x", x}}, {"best"})[0].shape() == Shape{2, 3});
  scope.var("k").tensor.data<int64_t>()[0] = 0;
  CHECK_THROWS_WITH(executor.run(p, scope, {{"x", x}}, {"best"}), Contains("k must be above 0"));
}

TEST_CASE("gradients of ops whose numbers are tensors", "[exec]") {
  for (const int32_t times : {1, 3}) {
    const Tensor t = Tensor::of<int32_t>({2}, {times, 2}), in = to_double(x);
    CHECK(grad_error({"expand", {{"X", {in}}, {"ExpandTimes", {t}}}}, {"X"}) < 1e-6);
    const Tensor one = Tensor::of<int32_t>({1}, {times}), two = Tensor::of<int32_t>({1}, {2});
    CHECK(grad_error({"expand", {{"X", {in}}, {"expand_times_tensor", {one, two}}}}, {"X"}) < 1e-6);
    CHECK(grad_error({"top_k", {{"X", {in}}, {"K", {one}}}}, {"X"}) < 1e-6);
    const Tensor from = Tensor::of<int64_t>({1}, {times - 1}), to = Tensor::of<int64_t>({1}, {4});
    const OpCase slice{"slice",
                       {{"Input", {in}}, {"StartsTensor", {from}}, {"EndsTensor", {to}}},
                       {{"axes", Ints{1}}}};
    CHECK(run_op(slice).at("Out")[0].shape() == Shape{2, 5 - times});
    CHECK(grad_error(slice, {"Input"}) < 1e-6);
  }
}

TEST_CASE("shapes that cannot be known early are refused", "[exec]") {
  Executor executor;
  Scope scope;
  SECTION("numbers that are no integers") {
    Program p = with_inputs();
    p.global().var("n").dtype = DType::f32;
    CHECK_THROWS_WITH(p.global().append(reshape_by({{"Shape", {"n"}}})),
                      Contains("int32 or int64") && Contains("float32"));
  }
  SECTION("a result of an op that has an effect") {
    Program p = with_inputs();
    p.global().append({.type = "print", .in = {{"In", {"n"}}}, .out = {{"Out", {"shown"}}}});
    p.global().append(reshape_by({{"Shape", {"shown"}}}));
    const Feeds feeds{{"x", x}, {"n", Tensor::of<int32_t>({2}, {4, 2})}};
    CHECK_THROWS_WITH(executor.run(p, scope, feeds, {"y"}), Contains("op print"));
  }
  SECTION("a variable of many bytes") {
    Program p = with_inputs();
    p.global().append({.type = "shape", .in = {{"Input", {"x"}}}, .out = {{"Out", {"l"}}}});
    p.global().append({.type = "cast",
                       .in = {{"X", {"x"}}},
                       .out = {{"Out", {"whole"}}},
                       .attrs = {{"in_dtype", 5}, {"out_dtype", 2}}});
    p.global().append({.type = "reduce_sum",
                       .in = {{"X", {"whole"}}},
                       .out = {{"Out", {"sum"}}},
                       .attrs = {{"dim", Ints{0}}}});
    p.global().append(reshape_by({{"Shape", {"sum"}}}));
    const Tensor big = random_tensor(DType::f32, {100000, 4}, 1);
    CHECK_THROWS_WITH(executor.run(p, scope, {{"x", big}}, {"y"}),
                      Contains("depends on 'x'") && Contains("bytes"));
  }
}
