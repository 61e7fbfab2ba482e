#include "paddle/job_totals.h"

#include <catch2/catch.hpp>

using namespace paddle;
using Catch::Matchers::Contains;

namespace job_totals_test {

event::PassEnded ended(int64_t trainer, int64_t pass, int64_t samples, double cost,
                       event::Evaluators evaluators) {
  return {trainer, pass, 1, samples, cost, std::move(evaluators)};
}

event::Tally auc_part(int64_t pass, int64_t part, int64_t parts, const std::string& counts) {
  event::Tally out{.pass = pass, .part = part, .parts = parts, .bins = 4};
  out.evaluator = "auc";
  out.counts = counts;
  return out;
}

// In four bins.
std::string counts(std::vector<int64_t> positive, std::vector<int64_t> negative) {
  return histogram_texts(positive, negative)[0];
}

}  // namespace job_totals_test

using namespace job_totals_test;

TEST_CASE("totals of a pass", "[paddle]") {
  JobTotals totals(2);
  SECTION("means count by samples") {
    CHECK_FALSE(totals.take(0, ended(0, 0, 30, 1.0, {{"accuracy", 0.5}})));
    CHECK_FALSE(totals.take(0, event::Progress{}));
    const auto total = totals.take(1, ended(1, 0, 10, 2.0, {{"accuracy", 0.9}}));
    REQUIRE(total);
    CHECK(total_text(*total) == "pass 1 of all trainers: 40 samples, cost 1.25, accuracy 0.6");
  }
  SECTION("an AUC is that of all counts, not the mean of the trainers'") {
    totals.take(0, auc_part(0, 0, 1, counts({0, 0, 0, 2}, {1, 0, 0, 0})));
    totals.take(0, ended(0, 0, 3, 1, {{"auc", 1}}));
    totals.take(1, auc_part(0, 0, 2, counts({1, 0, 0, 0}, {0, 0, 0, 0})));
    totals.take(1, auc_part(0, 1, 2, counts({0, 0, 0, 0}, {0, 0, 0, 3})));
    const auto total = totals.take(1, ended(1, 0, 4, 1, {{"auc", 0}}));
    REQUIRE(total);
    const Histogram all{{1, 0, 0, 2}, {1, 0, 0, 3}};
    CHECK(total->evaluators[0].second == roc_area(all));
  }
  SECTION("a ratio is that of the sums") {
    event::Tally t{.parts = 1, .over = 2, .under = 4};
    t.evaluator = "calibration";
    totals.take(0, t);
    totals.take(0, ended(0, 0, 10, 1, {{"calibration", 0.5}}));
    t.over = 3;
    t.under = 1;
    totals.take(1, t);
    const auto total = totals.take(1, ended(1, 0, 10, 1, {{"calibration", 3}}));
    REQUIRE(total);
    CHECK(total->evaluators[0].second == 1);
  }
  SECTION("counts that were lost give no number") {
    totals.take(0, auc_part(0, 0, 2, counts({0, 0, 0, 2}, {1, 0, 0, 0})));
    totals.take(0, ended(0, 0, 3, 1, {{"auc", 1}}));
    totals.take(1, auc_part(0, 0, 1, counts({1, 0, 0, 0}, {0, 0, 0, 0})));
    const auto total = totals.take(1, ended(1, 0, 4, 1, {{"auc", 0}}));
    REQUIRE(total);
    CHECK(total->evaluators.empty());
    CHECK_THAT(total_text(*total), Contains("(auc not known: some events were lost)"));
  }
  SECTION("passes are apart, and one that is done again counts anew") {
    totals.take(0, ended(0, 0, 30, 1, {}));
    totals.take(0, ended(0, 1, 30, 5, {}));
    CHECK(totals.take(1, ended(1, 0, 30, 3, {}))->cost == 2);
    totals.take(1, ended(1, 1, 30, 7, {}));
    CHECK(totals.take(0, ended(0, 1, 30, 9, {}))->cost == 8);
  }
}
