#include "trainer/meter.h"

#include <catch2/catch.hpp>

using namespace paddle;

TEST_CASE("meters of a pass", "[trainer]") {
  const std::vector<Evaluator> none;
  PassMeters m(none);
  m.enter(0, 10, 0, true);
  m.add(10, 4, 1.0, {});
  m.add(11, 4, 3.0, {});
  CHECK(m.whole.samples() == 8);
  CHECK(m.whole.cost() == 2.0);

  SECTION("count a step once that is computed again") {
    CHECK_FALSE(m.enter(0, 11, 1, false));
    CHECK_FALSE(m.counts(11));
    CHECK(m.counts(12));
    CHECK(m.first_batch() == 0);
    m.add(11, 4, 3.0, {});
    CHECK(m.whole.samples() == 8);
    m.add(12, 4, 5.0, {});
    CHECK(m.whole.samples() == 12);
    CHECK(m.whole.cost() == 3.0);
  }
  SECTION("begin anew with another pass, and where a pass starts again") {
    CHECK_FALSE(m.enter(1, 12, 0, true));
    CHECK(m.whole.samples() == 0);
    m.add(12, 4, 5.0, {});
    m.enter(1, 12, 0, true);
    CHECK(m.period.samples() == 0);
    m.add(12, 4, 7.0, {});
    CHECK(m.whole.cost() == 7.0);
  }
  SECTION("begin anew in the middle of a pass that all have gone back to") {
    m.enter(1, 12, 0, true);
    m.add(12, 4, 5.0, {});
    CHECK(m.enter(0, 11, 1, false));  // evaluators have to begin anew as well
    CHECK(m.first_batch() == 1);
    CHECK(m.counts(11));
    m.add(11, 4, 7.0, {});
    CHECK(m.whole.cost() == 7.0);
  }
  SECTION("keep the period apart from the pass") {
    m.period.clear();
    m.add(12, 2, 5.0, {});
    CHECK(m.period.samples() == 2);
    CHECK(m.period.cost() == 5.0);
    CHECK(m.whole.samples() == 10);
  }
}

TEST_CASE("a meter that begins in the middle of a pass", "[trainer]") {
  const std::vector<Evaluator> none;
  PassMeters m(none);
  CHECK_FALSE(m.enter(3, 40, 7, false));  // of a model that was loaded
  CHECK(m.first_batch() == 7);
}

TEST_CASE("a share that is reported inverted is summed inverted", "[trainer]") {
  std::vector<Evaluator> error(1);
  error[0].inverted = true;
  Meter m(error);
  m.add(10, 1, std::vector<double>{0.75});
  CHECK(m.value(0) == 0.25);
  CHECK(m.sum(0) == 2.5);
}

TEST_CASE("meters of evaluators with one number and with two", "[trainer]") {
  std::vector<Evaluator> all(3);
  all[0].name = "accuracy";
  all[1].name = "calibration";
  all[1].under = "clicks";
  all[2].name = "auc";
  all[2].running = true;
  Meter m(all);
  m.add(10, 1, std::vector<double>{0.5, 0.2, 0.4, 0.7});
  m.add(30, 1, std::vector<double>{0.9, 0.4, 0.2, 0.8});
  CHECK(m.value(0) == Approx(0.8));
  CHECK(m.value(1) == Approx((2 + 12) / (4.0 + 6)));
  CHECK(m.ratio(1).first == Approx(14));
  CHECK(m.sum(0) == Approx(0.5 * 10 + 0.9 * 30));
  CHECK(m.cost_sum() == 40);
  CHECK(m.value(2) == 0.8);
  CHECK(m.evaluators_text() == "accuracy=0.8  calibration=1.4  auc=0.8");
  m.clear();
  CHECK(m.value(1) == 0);
}
