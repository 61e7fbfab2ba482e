#include "obs/tally.h"

#include <catch2/catch.hpp>

#include "base/random.h"

using namespace paddle;

namespace tally_test {

Histogram random_histogram(size_t bins, uint64_t seed, uint64_t most) {
  const RandomStream random(seed, 0);
  Histogram h;
  for (size_t b = 0; b < bins; ++b) {
    const bool empty = random.below(3 * b, 3) == 0;
    h.positive.push_back(empty ? 0 : static_cast<int64_t>(random.below(3 * b + 1, most)));
    h.negative.push_back(empty ? 0 : static_cast<int64_t>(random.below(3 * b + 2, most)));
  }
  return h;
}

Histogram zeros(size_t bins) { return {std::vector<int64_t>(bins), std::vector<int64_t>(bins)}; }

}  // namespace tally_test

using namespace tally_test;

TEST_CASE("histograms as texts", "[obs]") {
  const size_t bins = GENERATE(1u, 2u, 100u, 4096u);
  const uint64_t most = GENERATE(uint64_t{2}, uint64_t{40}, uint64_t{1} << 55);
  const Histogram a = random_histogram(bins, 1, most), b = random_histogram(bins, 2, most);
  Histogram sum = zeros(bins);
  for (const Histogram* h : {&a, &b})
    for (const std::string& text : histogram_texts(h->positive, h->negative)) {
      CHECK(text.size() < 1000);
      CHECK(add_histogram_text(text, sum));
    }
  for (size_t k = 0; k < bins; ++k) {
    CHECK(sum.positive[k] == a.positive[k] + b.positive[k]);
    CHECK(sum.negative[k] == a.negative[k] + b.negative[k]);
  }
}

TEST_CASE("damaged texts add nothing", "[obs]") {
  const Histogram h = random_histogram(50, 3, 1000);
  const std::string whole = histogram_texts(h.positive, h.negative)[0];
  Histogram sum = zeros(50);
  for (const std::string& bad : {whole.substr(0, whole.size() - 1), whole + "A", whole + "é",
                                 std::string("_"), std::string(40, '_'), whole + whole})
    CHECK_FALSE(add_histogram_text(bad, sum));
  CHECK(sum == zeros(50));
  Histogram fewer = zeros(10);
  CHECK_FALSE(add_histogram_text(whole, fewer));
  CHECK(fewer == zeros(10));
}

TEST_CASE("the area under the curve", "[obs]") {
  CHECK(roc_area({{0, 3}, {5, 0}}) == 1);
  CHECK(roc_area({{3, 0}, {0, 5}}) == 0);
  CHECK(roc_area({{2, 2}, {2, 2}}) == 0.5);
  CHECK(roc_area({{1, 1, 2}, {2, 1, 0}}) == Approx((0 + 1 + 0 + 2 + 0.5 + 6) / 12));
  CHECK(roc_area({{1}, {0}}) == 0);
}
