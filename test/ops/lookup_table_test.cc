#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

Tensor ids_tensor(const Shape& shape, std::initializer_list<int64_t> ids) {
  return Tensor::of<int64_t>(shape, ids);
}

std::vector<double> looked_up(const Tensor& table, const Tensor& ids, int64_t padding) {
  const std::vector<double> w = values_of(table);
  const auto width = static_cast<size_t>(table.shape()[1]);
  std::vector<double> out;
  for (const int64_t id : ids.values<int64_t>())
    for (size_t k = 0; k < width; ++k)
      out.push_back(id == padding ? 0 : w[static_cast<size_t>(id) * width + k]);
  return out;
}

// The weights that run_grad() multiplies the first output with.
std::vector<double> scattered(const Tensor& table, const Tensor& ids, int64_t padding) {
  const auto width = static_cast<size_t>(table.shape()[1]);
  const std::vector<double> dout =
      values_of(random_tensor(table.dtype(), {ids.numel(), table.shape()[1]}, 101));
  std::vector<double> grad(static_cast<size_t>(table.numel()), 0);
  size_t at = 0;
  for (const int64_t id : ids.values<int64_t>()) {
    for (size_t k = 0; k < width; ++k)
      if (id != padding) grad[static_cast<size_t>(id) * width + k] += dout[at * width + k];
    ++at;
  }
  return grad;
}

}  // namespace

TEST_CASE("lookup_table", "[ops]") {
  const Tensor ids = ids_tensor({5, 1}, {3, 0, 6, 3, 2});
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t width : {1, 5, 16, 33}) {
      const Tensor table = random_tensor(dtype, {7, width}, 3);
      for (const int64_t padding : {-1, 3}) {
        for (const bool sparse : {false, true}) {
          const OpCase c{"lookup_table",
                         {{"W", {table}}, {"Ids", {ids}}},
                         {{"padding_idx", padding}, {"is_sparse", sparse}}};
          const Tensor out = run_op(c).at("Out")[0];
          CHECK(out.shape() == Shape{5, width});
          CHECK(difference(out, looked_up(table, ids, padding)) == 0);
          const Tensor grad = run_grad(c, {"W"}).at("W")[0];
          CHECK(grad.shape() == table.shape());
          CHECK(difference(grad, scattered(table, ids, padding)) < 1e-6);
          CHECK(values_of(run_op(c, 3).at("Out")[0]) == values_of(out));
        }
      }
    }
  }
  SECTION("gradients agree with differences") {
    const Tensor table = random_tensor(DType::f64, {7, 3}, 3);
    for (const bool sparse : {false, true})
      CHECK(grad_error({"lookup_table", {{"W", {table}}, {"Ids", {ids}}}, {{"is_sparse", sparse}}},
                       {"W"}) < 1e-6);
  }
  SECTION("keeps the leading dimensions and the LoD of Ids") {
    Tensor sequences = ids_tensor({4, 1}, {1, 1, 0, 2});
    sequences.set_lod({{0, 1, 4}});
    const Tensor table = random_tensor(DType::f32, {3, 2}, 3);
    const Tensor out =
        run_op({"lookup_table", {{"W", {table}}, {"Ids", {sequences}}}}).at("Out")[0];
    CHECK(out.lod() == sequences.lod());
    const Tensor ids3 = ids_tensor({2, 2, 1}, {1, 1, 0, 2});
    CHECK(run_op({"lookup_table", {{"W", {table}}, {"Ids", {ids3}}}}).at("Out")[0].shape() ==
          Shape{2, 2, 2});
    const Tensor ids2 = ids_tensor({2, 2}, {1, 1, 0, 2});
    CHECK(run_op({"lookup_table_v2", {{"W", {table}}, {"Ids", {ids2}}}}).at("Out")[0].shape() ==
          Shape{2, 2, 2});
  }
  SECTION("as many ids as rows: a dense gradient that could share memory with Out's") {
    const Tensor table = random_tensor(DType::f64, {5, 2}, 3);
    const Tensor some = ids_tensor({5, 1}, {4, 4, 0, 1, 4});
    CHECK(grad_error({"lookup_table", {{"W", {table}}, {"Ids", {some}}}}, {"W"}) < 1e-6);
  }
}

TEST_CASE("lookup_table refuses what it cannot look up", "[ops]") {
  const Tensor table = random_tensor(DType::f32, {7, 2}, 3);
  const auto run = [&](const Tensor& ids, int64_t padding = -1) {
    return run_op({"lookup_table", {{"W", {table}}, {"Ids", {ids}}}, {{"padding_idx", padding}}});
  };
  for (const int64_t bad : {int64_t{7}, int64_t{-1}, int64_t{1} << 40}) {
    try {
      run(ids_tensor({3, 1}, {0, bad, 1}));
      FAIL("the id " << bad << " was taken");
    } catch (const Error& e) {
      CHECK(e.kind() == Error::Kind::data);
      CHECK_THAT(e.what(), Contains("lookup_table") && Contains(std::to_string(bad)) &&
                               Contains("position 1") && Contains("W_0") && Contains("0 to 6"));
    }
  }
  CHECK_THROWS_WITH(run(ids_tensor({3}, {0, 1, 1})),
                    Contains("lookup_table") && Contains("Ids (Ids_0) [3]") && Contains("[7, 2]"));
  CHECK_THROWS_WITH(run(ids_tensor({1, 1}, {0}), 9), Contains("padding_idx 9"));
  CHECK_THROWS_WITH(run(random_tensor(DType::i32, {2, 1}, 1)), Contains("int32"));
}

// The sparse gradient must cost nothing: its rows are the ids, its values are Out's gradient.
TEST_CASE("lookup_table's sparse gradient points at what is there", "[ops]") {
  Program program;
  Block& block = program.global();
  block.create({.name = "w", .dtype = DType::f32, .shape = {9, 4}});
  block.create({.name = "ids", .dtype = DType::i64, .shape = {-1, 1}});
  block.create({.name = "x", .dtype = DType::f32, .shape = {-1, 4}});
  block.append({.type = "relu", .in = {{"X", {"x"}}}, .out = {{"Out", {"out@GRAD"}}}});
  block.append({.type = "lookup_table_grad",
                .in = {{"W", {"w"}}, {"Ids", {"ids"}}, {"Out@GRAD", {"out@GRAD"}}},
                .out = {{"W@GRAD", {"w@GRAD"}}},
                .attrs = {{"is_sparse", true}}});
  CHECK(block.var("w@GRAD").kind == VarKind::selected_rows);
  CHECK(block.var("w@GRAD").shape == Shape{9, 4});
  const Tensor w = random_tensor(DType::f32, {9, 4}, 1), x = random_tensor(DType::f32, {3, 4}, 2);
  const Tensor ids = ids_tensor({3, 1}, {5, 0, 5});
  Scope scope;
  ThreadPool pool(1);
  Plan plan(program, 0, scope, {"w", "ids", "x"}, {"w@GRAD"}, pool, {});
  plan.feed(0, w);
  plan.feed(1, ids);
  plan.feed(2, x);
  plan.run(0);
  const View& grad = plan.fetched(0);
  CHECK(grad.is_rows);
  CHECK(grad.rows == ids.data<int64_t>());
  CHECK(grad.height == 9);
  CHECK(grad.shape == Shape{3, 4});
  CHECK(plan.arena_bytes() <= 128);  // the values and space for rows; Out's gradient has no other
}
