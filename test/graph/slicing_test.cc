// How parameters are sliced, and where slices go.
#include "graph/slicing.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

using Rows = std::vector<int64_t>;

// Slices of parameters of these shapes, not yet placed.
std::vector<SliceSpec> slices_of(const std::vector<Shape>& shapes, int64_t count, int64_t min) {
  std::vector<SliceSpec> out;
  for (size_t p = 0; p < shapes.size(); ++p) {
    const Rows rows = slice_rows(shapes[p], count, min);
    for (size_t k = 0; k < rows.size(); ++k) {
      SliceSpec s{.param = "p" + std::to_string(p), .grad = {}};
      s.name = s.param + ".block" + std::to_string(k);
      s.param_index = static_cast<int32_t>(p);
      s.shape = shapes[p];
      s.shape[0] = rows[k];
      out.push_back(s);
    }
  }
  return out;
}

std::vector<size_t> shards_of(const std::vector<SliceSpec>& slices) {
  std::vector<size_t> out;
  for (const SliceSpec& s : slices) out.push_back(s.shard);
  return out;
}

void check_distinct(const std::vector<SliceSpec>& slices) {
  std::set<std::pair<int32_t, size_t>> seen;
  for (const SliceSpec& s : slices) CHECK(seen.insert({s.param_index, s.shard}).second);
}

}  // namespace

TEST_CASE("slices are whole rows by Fluid's rule", "[graph]") {
  CHECK(slice_rows({13, 1}, 2, 8192) == Rows{13});
  CHECK(slice_rows({1000, 10}, 2, 8192) == Rows{1000});
  CHECK(slice_rows({784, 200}, 2, 8192) == Rows{392, 392});
  CHECK(slice_rows({784, 200}, 1, 8192) == Rows{784});
  CHECK(slice_rows({1000, 1000}, 3, 8192) == Rows{334, 334, 332});
  // 3 slices of at least 8192 elements fit, not 4.
  CHECK(slice_rows({25000}, 4, 8192) == Rows{8334, 8334, 8332});
  // Blocks are rounded up to rows, so that there may be fewer than asked for.
  CHECK(slice_rows({4, 5}, 3, 1) == Rows{2, 2});
  CHECK(slice_rows({2, 1000000}, 8, 8192) == Rows{1, 1});
  CHECK(slice_rows({3, 4, 5}, 3, 20) == Rows{1, 1, 1});
  CHECK(slice_rows({}, 3, 1) == Rows{1});
  CHECK(slice_rows({0, 3}, 3, 1) == Rows{0});
  for (int64_t n = 1; n < 200; ++n)
    for (const int64_t count : {1, 2, 3, 7}) {
      const Rows rows = slice_rows({n, 3}, count, 8);
      CHECK(std::accumulate(rows.begin(), rows.end(), int64_t{0}) == n);
      CHECK(static_cast<int64_t>(rows.size()) <= count);
    }
}

TEST_CASE("slices are placed", "[graph]") {
  SECTION("by bytes: the largest first, to the shard with the fewest") {
    auto s = slices_of({{10}, {70}, {40}, {30}, {20}}, 1, 1);
    place_slices(s, 2, SplitMethod::by_bytes);
    CHECK(shards_of(s) == std::vector<size_t>{1, 0, 1, 1, 0});
  }
  SECTION("by bytes: slices of one parameter apart, and balanced") {
    auto s = slices_of({{100, 100}, {512}, {33, 7}, {1000, 10}, {64}}, 4, 128);
    place_slices(s, 4, SplitMethod::by_bytes);
    check_distinct(s);
    std::vector<int64_t> load(4, 0);
    for (const SliceSpec& x : s) load[x.shard] += x.bytes();
    const auto [low, high] = std::minmax_element(load.begin(), load.end());
    CHECK(*high - *low <= 4 * 33 * 7);  // the largest that is not sliced
  }
  SECTION("round robin: one after the other, through all parameters") {
    auto s = slices_of({{100}, {1}, {60}}, 3, 20);
    place_slices(s, 3, SplitMethod::round_robin);
    CHECK(shards_of(s) == std::vector<size_t>{0, 1, 2, 0, 1, 2, 0});
    check_distinct(s);
  }
  SECTION("by hash: by the name alone, but never two of one parameter together") {
    auto s = slices_of({{400}, {400}, {400}, {400}}, 4, 1);
    place_slices(s, 4, SplitMethod::hash_name);
    check_distinct(s);
    auto alone = slices_of({{7}}, 1, 1), other = slices_of({{9}, {9}}, 1, 1);
    place_slices(alone, 5, SplitMethod::hash_name);
    place_slices(other, 5, SplitMethod::hash_name);
    CHECK(alone[0].shard == other[0].shard);
  }
}

TEST_CASE("the placement is printed as a table", "[graph]") {
  Cut cut;
  cut.slices = slices_of({{30}, {10}}, 1, 1);
  place_slices(cut.slices, 2, SplitMethod::round_robin);
  CHECK(placement_table(cut, {"host:7164", "host:7165"}) ==
        "shard  endpoint   slices         bytes  % of mean\n"
        "    0  host:7164       1           120        150\n"
        "    1  host:7165       1            40         50\n"
        "imbalance: the fullest shard holds 1.50 times the mean\n");
  cut.slices.pop_back();
  CHECK_THAT(placement_table(cut, {"a:1", "b:1", "c:1"}),
             Contains("b:1 and c:1 hold nothing") && Contains("more shards than slices"));
}
