// An indexed list of ops finds what a search from the start after each match finds.
#include "exec/op_list.h"

#include <catch2/catch.hpp>
#include <random>

using namespace paddle;

namespace op_list_test {
namespace {

Op op(std::string type, const Names& in, const std::string& out) {
  return {.type = std::move(type), .in = {{"X", in}}, .out = {{"Out", {out}}}};
}

std::vector<std::string> texts(const std::vector<Op>& ops) {
  std::vector<std::string> out;
  for (const Op& o : ops) out.push_back(op_text(o));
  return out;
}

// The pattern: an op "t" and the op that writes its first input, which nobody else reads, become
// one, where nothing between them writes what that one reads or reads what "t" writes.
Op fused(const Op& writer, const Op& reader) {
  Names in = writer.in["X"];
  in.insert(in.end(), reader.in["X"].begin() + 1, reader.in["X"].end());
  return op("t", in, reader.out["Out"][0]);
}

std::vector<Op> by_index(std::vector<Op> ops) {
  OpList list(std::move(ops));
  list.match_all("t", [&](int i) {
    const std::string x = list[i].in["X"][0];
    const int w = list.writer(x, i);
    if (w == OpList::none || list.only_reader(x) != i) return;
    for (const std::string& n : list[w].in["X"])
      if (list.writes_between(w, i, n, {})) return;
    if (list.reads_between(w, i, list[i].out["Out"][0], {})) return;
    list.replace(i, fused(list[w], list[i]));
    list.erase(w);
  });
  return std::move(list).take();
}

bool match_by_search(std::vector<Op>& ops, size_t i) {
  if (ops[i].type != "t") return false;
  const std::string x = ops[i].in["X"][0], out = ops[i].out["Out"][0];
  size_t w = i;
  while (w > 0 && !ops[w - 1].out.uses(x)) --w;
  if (w-- == 0) return false;
  for (size_t k = 0; k < ops.size(); ++k)
    if (ops[k].in.uses(x) != (k == i)) return false;
  for (size_t k = w + 1; k < i; ++k) {
    if (ops[k].in.uses(out)) return false;
    for (const std::string& n : ops[w].in["X"])
      if (ops[k].out.uses(n)) return false;
  }
  ops[i] = fused(ops[w], ops[i]);
  ops.erase(ops.begin() + static_cast<ptrdiff_t>(w));
  return true;
}

std::vector<Op> by_search(std::vector<Op> ops) {
  for (size_t i = 0; i < ops.size();) i = match_by_search(ops, i) ? 0 : i + 1;
  return ops;
}

}  // namespace

TEST_CASE("an indexed list matches in the order of a search from the start", "[exec]") {
  std::mt19937 random(7);
  const auto name = [&](unsigned names) {
    std::string n = "v";
    return n += std::to_string(random() % names);
  };
  size_t fewer = 0;
  for (int round = 0; round < 2000; ++round) {
    const unsigned names = 3 + random() % 12;
    std::vector<Op> ops;
    for (unsigned i = 2 + random() % 15; i > 0; --i) {
      Names in = {name(names)};
      if (random() % 3 == 0) in.push_back(name(names));
      ops.push_back(op(random() % 4 ? "t" : "other", in, name(names)));
    }
    const std::vector<Op> expected = by_search(ops);
    if (expected.size() < ops.size()) ++fewer;
    REQUIRE(texts(by_index(ops)) == texts(expected));
  }
  CHECK(fewer > 200);
}

TEST_CASE("a list of ops answers questions about those that are left", "[exec]") {
  OpList list({op("a", {"x"}, "y"), op("b", {"y", "x"}, "z"), op("a", {"z", "z"}, "y")});
  CHECK(list.writer("y", 0) == OpList::none);
  CHECK(list.writer("y", 2) == 0);
  CHECK(list.writer("y", 3) == 2);
  CHECK(list.only_reader("x") == OpList::none);
  CHECK(list.only_reader("z") == 2);
  CHECK(list.writes_between(0, 2, "z", {}));
  CHECK_FALSE(list.writes_between(0, 2, "z", {1}));
  CHECK_FALSE(list.reads_between(0, 1, "y", {}));
  list.erase(0);
  CHECK(list.erased(0));
  CHECK(list.only_reader("x") == 1);
  CHECK(list.writer("y", 2) == OpList::none);
  list.replace(1, op("c", {"w"}, "z"));
  CHECK_FALSE(list.is_read("x"));
  CHECK(texts(std::move(list).take()) ==
        std::vector<std::string>{"c: Out=[z] <- X=[w]", "a: Out=[y] <- X=[z, z]"});
}

}  // namespace op_list_test
