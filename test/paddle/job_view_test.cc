#include "paddle/job_view.h"

#include <catch2/catch.hpp>

using namespace paddle;

namespace {
const std::string prefix = "I1116 09:10:17.123121    50 train.cc:122] ";
}

TEST_CASE("number in a line", "[paddle]") {
  const std::string line = " Pass=3 Batch=20 samples=1280 AvgCost=1.5e-2 Eval: error=0.1";
  CHECK(number_in(line, "Pass", -1) == 3);
  CHECK(number_in(line, "AvgCost", -1) == 0.015);
  CHECK(number_in(line, "error", -1) == 0.1);
  CHECK(number_in(line, "Cost", -1) == -1);
  CHECK(number_in(" Pass=", "Pass", -1) == -1);
}

TEST_CASE("view of a job", "[paddle]") {
  JobView view(2, 10);
  CHECK(view.progress(100).empty());

  SECTION("passes, costs, rates") {
    view.take(0, prefix + " Pass=0 Batch=10 samples=100 AvgCost=4 Eval: ", 10);
    CHECK(view.progress(100) == "pass 2/10  batch 0  cost 4");
    view.take(1, prefix + " Pass=0 Batch=10 samples=100 AvgCost=2 Eval: ", 11);
    CHECK(view.progress(100) == "pass 2/10  batch 0  cost 3");  // a rate needs two reports of one
    view.take(0, prefix + " Pass=1 Batch=10 samples=100 AvgCost=3 Eval: ", 12);
    CHECK(view.progress(100) == "pass 2/10  batch 0  cost 2.5  50.0 samples/s");
    view.take(1, prefix + " Pass=1 Batch=10 samples=100 AvgCost=1 Eval: ", 12);
    CHECK(view.progress(100) == "pass 3/10  batch 0  cost 2  100 samples/s  16 s left");
    CHECK(view.costs() == std::vector<double>{4, 3});
    CHECK(view.first_pass() == 0);
  }
  SECTION("batches") {
    view.take(0, prefix + " Batch=20 samples=1280 AvgCost=4 CurrentCost=4 Eval: ", 1);
    view.take(0, prefix + " Batch=40 samples=2560 AvgCost=3 CurrentCost=3 Eval: ", 2);
    CHECK(view.progress(100) == "pass 1/10  batch 40  cost 3  1280 samples/s");
    CHECK(view.costs().empty());
  }
  SECTION("what trainers tell the pservers moves it between lines of the log") {
    view.take(0, prefix + " Batch=20 samples=1280 AvgCost=4 CurrentCost=4 Eval: ", 1);
    view.take(TrainerStatus{.id = 0, .pass = 0, .batch = 40, .samples = 2560, .cost = 3}, 2);
    CHECK(view.progress(100) == "pass 1/10  batch 40  cost 3  1280 samples/s");
    view.take(TrainerStatus{.id = 0, .pass = 0, .batch = 30, .samples = 1920, .cost = 9}, 3);
    view.take(TrainerStatus{.id = 1}, 3);  // has not begun
    view.take(TrainerStatus{.id = 7, .samples = 5}, 3);
    CHECK(view.progress(100) == "pass 1/10  batch 40  cost 3  1280 samples/s");
    CHECK(view.costs().empty());
  }
  SECTION("a resumed job starts where it does") {
    view.take(0, prefix + " Pass=4 Batch=10 samples=100 AvgCost=4 Eval: ", 10);
    CHECK(view.first_pass() == 4);
  }
  SECTION("the model, of trainer 0 only, and lines of others") {
    view.take(1, prefix + "the model is in elsewhere", 1);
    view.take(0, " Pass=0 AvgCost=1", 1);
    view.take(0, prefix + " Test samples=10 cost=4 Eval: ", 1);
    CHECK(view.model().empty());
    CHECK(view.progress(100).empty());
    view.take(0, prefix + "the model is in out put/pass-00009", 1);
    CHECK(view.model() == "out put/pass-00009");
  }
}
