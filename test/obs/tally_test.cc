#include "obs/tally.h"

#include <catch2/catch.hpp>

#include "base/random.h"

using namespace paddle;

namespace tally_test {

using Counts = std::vector<int64_t>;

struct Dense {
  Counts positive, negative;
};
Dense random_counts(size_t bins, uint64_t seed, uint64_t most) {
  const RandomStream random(seed, 0);
  Dense h;
  for (size_t b = 0; b < bins; ++b) {
    const bool empty = random.below(3 * b, 3) == 0;
    h.positive.push_back(empty ? 0 : static_cast<int64_t>(random.below(3 * b + 1, most)));
    h.negative.push_back(empty ? 0 : static_cast<int64_t>(random.below(3 * b + 2, most)));
  }
  return h;
}
Histogram sparse(const Dense& h) { return histogram_of(h.positive, h.negative); }

TEST_CASE("histograms are added and subtracted", "[obs]") {
  const size_t bins = GENERATE(0u, 1u, 2u, 100u, 4096u);
  const uint64_t most = GENERATE(uint64_t{2}, uint64_t{40}, uint64_t{1} << 55);
  const Dense a = random_counts(bins, 1, most), b = random_counts(bins, 2, most);
  Dense both = a;
  for (size_t k = 0; k < bins; ++k) {
    both.positive[k] += b.positive[k];
    both.negative[k] += b.negative[k];
  }
  Histogram sum = sparse(a);
  CHECK(well_formed(sum));
  add(sparse(b), sum);
  CHECK(sum == sparse(both));
  CHECK(subtract(sparse(a), sum));
  CHECK(sum == sparse(b));
  CHECK(subtract(sparse(b), sum));
  CHECK(sum.empty());
}

TEST_CASE("more than there is cannot be subtracted", "[obs]") {
  const Histogram h{{3, 2, 1}, {9, 0, 4}};
  for (const Histogram& more :
       {Histogram{{3, 3, 1}}, Histogram{{9, 0, 5}}, Histogram{{4, 1, 0}}, Histogram{{10, 1, 0}},
        Histogram{{3, 2, 1}, {9, 0, 4}, {11, 1, 1}}}) {
    Histogram from = h;
    CHECK_FALSE(subtract(more, from));
    CHECK(from == h);
  }
}

TEST_CASE("histograms of peers are checked", "[obs]") {
  CHECK(well_formed({}));
  CHECK(well_formed({{0, 1, 0}, {5, 0, 1}}));
  CHECK_FALSE(well_formed({{0, 0, 0}}));
  CHECK_FALSE(well_formed({{5, 1, 0}, {5, 1, 0}}));
  CHECK_FALSE(well_formed({{5, 1, 0}, {4, 1, 0}}));
}

TEST_CASE("the area under the curve", "[obs]") {
  const auto area = [](Counts positive, Counts negative) {
    return roc_area(histogram_of(positive, negative));
  };
  CHECK(area({0, 3}, {5, 0}) == 1);
  CHECK(area({3, 0}, {0, 5}) == 0);
  CHECK(area({2, 2}, {2, 2}) == 0.5);
  CHECK(area({1, 1, 2}, {2, 1, 0}) == Approx((0 + 1 + 0 + 2 + 0.5 + 6) / 12));
  CHECK(area({1}, {0}) == 0);
}

}  // namespace tally_test
