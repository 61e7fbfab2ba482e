#include "obs/pass_lines.h"

#include <catch2/catch.hpp>

using namespace paddle;

namespace pass_lines_test {
namespace {

event::PassEnded ended(int64_t pass) {
  return {.pass = pass, .samples = 6000, .cost = 0.12999, .evaluators = {{"accuracy", 0.96033}}};
}

event::TestResult tested() { return {.cost = 0.2, .evaluators = {{"accuracy", 0.9648}}}; }

}  // namespace

TEST_CASE("line of a pass", "[obs]") {
  PassResult pass{ended(1), 12, 52341, tested()};
  CHECK(pass_line(pass, 80) == "pass 2/12  cost 0.130  accuracy 0.960  test 0.965  52 k samples/s");
  SECTION("what is not known is left out") {
    pass.test.reset();
    pass.samples_per_second = -1;
    pass.passes = 0;
    CHECK(pass_line(pass, 80) == "pass 2  cost 0.130  accuracy 0.960");
  }
  SECTION("a test without evaluators shows its cost") {
    pass.ended.evaluators.clear();
    pass.test->evaluators.clear();
    CHECK(pass_line(pass, 80) == "pass 2/12  cost 0.130  test 0.200  52 k samples/s");
  }
  SECTION("several evaluators") {
    pass.ended.evaluators.push_back({"auc", 0.75});
    pass.test->evaluators.push_back({"auc", 0.7});
    CHECK(pass_line(pass, 100) ==
          "pass 2/12  cost 0.130  accuracy 0.960  auc 0.750  test accuracy 0.965 auc 0.700  52 k "
          "samples/s");
    CHECK(pass_line(pass, 80) ==
          "pass 2/12  cost 0.130  accuracy 0.960  test accuracy 0.965 auc 0.700");
  }
  SECTION("it fits, the least important parts left out first") {
    for (int columns = 2; columns < 100; ++columns)
      CHECK(pass_line(pass, columns).size() < static_cast<size_t>(columns));
    CHECK(pass_line(pass, 45) == "pass 2/12  cost 0.130  test 0.965");
  }
}

TEST_CASE("line of a test", "[obs]") {
  CHECK(test_line({.pass = 1, .samples = 1000, .cost = 0.2, .evaluators = {{"accuracy", 0.9648}}},
                  80) == "pass 2  cost 0.200  accuracy 0.965  1000 samples");
}

TEST_CASE("lines of passes", "[obs]") {
  double time = 0;
  PassLines lines(4, [&] { return time; });
  const auto take = [&](const event::Any& e) { return lines.take(e, -1, 80); };

  SECTION("complete with the test") {
    CHECK(take(ended(0)).empty());
    CHECK(take(tested()) == "pass 1/4  cost 0.130  accuracy 0.960  test 0.965");
    CHECK(take(event::Progress{}).empty());
  }
  SECTION("or when training goes on without one") {
    for (const event::Any& next :
         {event::Any(event::Progress{}), event::Any(event::Saved{}), event::Any(ended(1)),
          event::Any(event::Finished{}), event::Any(event::Exit{})}) {
      time += 5;
      CHECK(take(ended(0)).empty());
      CHECK(take(next) == "pass 1/4  cost 0.130  accuracy 0.960");
      lines.flush(80);
    }
    time += 5;
    take(ended(0));
    CHECK(lines.flush(80) == "pass 1/4  cost 0.130  accuracy 0.960");
    CHECK(lines.flush(80).empty());
  }
  SECTION("the first, the last, and else one a second") {
    std::string shown;
    for (int64_t pass = 0; pass < 4; ++pass, time += 0.3) {
      take(ended(pass));
      shown += lines.flush(80).substr(0, 9);
    }
    CHECK(shown == "pass 1/4 pass 4/4 ");
  }
  SECTION("a test within a pass") {
    event::TestResult result = tested();
    result.pass = 2;
    CHECK(take(result) == "pass 3/4  test 0.965");
  }
  SECTION("a pass that is done again is shown once") {
    take(ended(0));
    CHECK(take(event::RolledBack{}).empty());
    CHECK(take(event::Progress{}).empty());
  }
}

}  // namespace pass_lines_test
