// Rows of tables in a plan: distinct ids in the order of their first occurrence, gradients summed
// in the order of positions.
#include <catch2/catch.hpp>

#include "support/op_check.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

// Rows hold their id; remembers what it was asked for.
class RowKeeper : public Remote {
 public:
  void push(int32_t, const View&, uint64_t) override {}
  void pull(int32_t, const View&, uint64_t) override {}
  void pull_rows(int32_t table, std::span<const uint64_t> ids, float* rows, uint64_t) override {
    CHECK(table == 3);
    pulled.assign(ids.begin(), ids.end());
    for (size_t i = 0; i < ids.size(); ++i)
      rows[2 * i] = rows[2 * i + 1] = static_cast<float>(ids[i]);
  }
  void push_rows(int32_t table, std::span<const uint64_t> ids, const float* grads,
                 uint64_t) override {
    CHECK(table == 3);
    pushed.assign(ids.begin(), ids.end());
    sums.assign(grads, grads + 2 * ids.size());
  }
  std::vector<uint64_t> pulled, pushed;
  std::vector<float> sums;
};

Program look_up_twice(int64_t height) {
  Program p;
  Block& b = p.global();
  for (const char* name : {"a", "b"})
    b.create({.name = name, .dtype = DType::i64, .shape = {-1, 1}});
  b.append({.type = "pull_rows",
            .in = {{"Ids", {"a", "b"}}},
            .out = {{"Rows", {"rows"}},
                    {"Distinct", {"distinct"}},
                    {"Count", {"count"}},
                    {"Numbers", {"na", "nb"}}},
            .attrs = {{"table", 3},
                      {"width", int64_t{2}},
                      {"height", height},
                      {"name", std::string("emb")},
                      {"paddings", Longs{-1, 9}}}});
  b.append({.type = "lookup_table",
            .in = {{"W", {"rows"}}, {"Ids", {"na"}}},
            .out = {{"Out", {"a_rows"}}}});
  b.append({.type = "lookup_table",
            .in = {{"W", {"rows"}}, {"Ids", {"nb"}}},
            .out = {{"Out", {"b_rows"}}},
            .attrs = {{"padding_idx", int64_t{0}}}});
  b.append({.type = "lookup_table_grad",
            .in = {{"W", {"rows"}}, {"Ids", {"na"}}, {"Out@GRAD", {"a_rows"}}},
            .out = {{"W@GRAD", {"rows@GRAD"}}},
            .attrs = {{"is_sparse", true}}});
  b.append({.type = "push_rows",
            .in = {{"X", {"rows@GRAD"}}, {"Distinct", {"distinct"}}, {"Count", {"count"}}},
            .attrs = {{"table", 3}, {"width", int64_t{2}}}});
  return p;
}

}  // namespace

TEST_CASE("pull_rows numbers ids by their first occurrence", "[ops]") {
  RowKeeper keeper;
  Executor exe({.plan = {.remote = &keeper}});
  Scope scope;
  const Feeds feeds = {{"a", Tensor::of<int64_t>({4, 1}, {7, 2, 7, 9})},
                       {"b", Tensor::of<int64_t>({3, 1}, {9, 5, 2})}};
  const auto out = exe.run(look_up_twice(10), scope, feeds, {"na", "nb", "a_rows", "b_rows"});
  CHECK(keeper.pulled == std::vector<uint64_t>{7, 2, 9, 5});
  CHECK(values_of(out[0]) == std::vector<double>{1, 2, 1, 3});
  CHECK(values_of(out[1]) == std::vector<double>{0, 4, 2});  // 9 is the second list's padding
  CHECK(values_of(out[2]) == std::vector<double>{7, 7, 2, 2, 7, 7, 9, 9});
  CHECK(values_of(out[3]) == std::vector<double>{0, 0, 5, 5, 2, 2});
  CHECK(keeper.pushed == keeper.pulled);
  CHECK(keeper.sums == std::vector<float>{14, 14, 2, 2, 9, 9, 0, 0});  // 5 has no gradient
}

TEST_CASE("pull_rows names ids outside of the table", "[ops]") {
  RowKeeper keeper;
  Executor exe({.plan = {.remote = &keeper}});
  Scope scope;
  const auto run = [&](int64_t height, int64_t id) {
    return exe.run(look_up_twice(height), scope,
                   {{"a", Tensor::of<int64_t>({2, 1}, {0, id})}, {"b", Tensor(DType::i64, {0, 1})}},
                   {"na"});
  };
  CHECK_THROWS_WITH(run(10, 10), Contains("the id 10") && Contains("'emb'"));
  CHECK_THROWS_WITH(run(10, -2), Contains("the id -2") && Contains("position 1"));
  run(10, 9);
  run(-1, -2);
  CHECK(keeper.pulled == std::vector<uint64_t>{0, static_cast<uint64_t>(-2)});
}

TEST_CASE("rows need somebody who keeps them", "[ops]") {
  Scope scope;
  CHECK_THROWS_WITH(Executor().run(look_up_twice(10), scope,
                                   {{"a", Tensor::of<int64_t>({1, 1}, {1})},
                                    {"b", Tensor::of<int64_t>({1, 1}, {1})}},
                                   {"na"}),
                    Contains("--pservers"));
}
