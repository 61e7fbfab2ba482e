#include "paddle/job_view.h"

#include <catch2/catch.hpp>

using namespace paddle;

namespace {

event::Progress at(int64_t pass, int64_t batch, int64_t samples, double cost) {
  return {.pass = pass, .passes = 10, .batch = batch, .samples = samples, .cost = cost};
}

}  // namespace

TEST_CASE("view of a job", "[paddle]") {
  JobView view(2, 10);
  CHECK(view.progress(1, 100).empty());

  SECTION("the slowest trainer's place, the mean cost, everybody's samples") {
    view.take(0, at(1, 5, 100, 4));
    CHECK(view.progress(10, 100) == "pass 2/10  batch 5  cost 4.00");
    view.take(1, at(1, 3, 50, 2));
    view.take(0, at(1, 6, 120, 4));
    CHECK(view.progress(11, 100) == "pass 2/10  batch 3  cost 3.00  20.0 samples/s");
    view.take(0, at(2, 0, 200, 3));
    view.take(1, at(2, 0, 150, 1));
    CHECK(view.progress(12, 120).find("pass 3/10  batch 0  cost 2.00  ") == 0);
  }
  SECTION("looks between two events do not lower the rate") {
    view.take(0, at(0, 0, 0, 1));
    view.progress(0, 100);
    CHECK(view.progress(0.1, 100) == "pass 1/10  batch 0  cost 1.00");
    view.take(0, at(0, 2, 100, 1));
    const std::string told = "pass 1/10  batch 2  cost 1.00  500 samples/s";
    CHECK(view.progress(0.2, 100) == told);
    CHECK(view.progress(0.3, 100) == told);
    CHECK(view.samples_per_second() == 500);
    view.progress(3.2, 100);  // it stands still
    CHECK(view.samples_per_second() < 200);
  }
  SECTION("a slow beginning counts as long as it lasted") {
    view.take(0, at(0, 0, 0, 1));
    view.progress(0, 100);
    view.take(0, at(0, 1, 10, 1));
    view.progress(0.1, 100);
    CHECK(view.samples_per_second() == Approx(100));
    view.take(0, at(0, 9, 1000, 1));
    view.progress(0.2, 100);  // 5000 a second since the beginning
    CHECK(view.samples_per_second() > 4900);
    CHECK(view.samples_per_second() < 5300);
  }
  SECTION("of a script the step of the slowest trainer") {
    JobView scripts(2, 0, true);
    scripts.take(0, event::Progress{.step = 30, .samples = 300, .cost = 1});
    scripts.take(1, event::Progress{.step = 28, .samples = 280, .cost = 3});
    CHECK(scripts.progress(1, 100) == "step 28  cost 2.00");
  }
  SECTION("time left by batches where a pass has a known length") {
    event::Progress p = at(0, 0, 0, 1);
    p.batches = 100;
    view.take(0, p);
    view.progress(0, 100);
    p.batch = 10;
    p.samples = 640;
    p.evaluators = {{"error", 0.125}};
    view.take(0, p);
    CHECK(view.progress(1, 100) ==
          "pass 1/10  batch 10/100  cost 1.00  error 0.125  640 samples/s  1:39 left");
  }
  SECTION("what a trainer waits for, until it goes on") {
    view.take(0, at(0, 1, 10, 1));
    view.take(1, event::Waiting{"waiting for pserver 127.0.0.1:7164 (5 s)"});
    CHECK(view.progress(1, 100) == "trainer.1: waiting for pserver 127.0.0.1:7164 (5 s)");
    CHECK(view.progress(1, 20) == "trainer.1: waiting ");
    view.take(1, at(0, 1, 10, 1));
    CHECK(view.progress(2, 100).find("pass 1/10") == 0);
  }
  SECTION("costs of passes; those of a job that went back are replaced") {
    for (int64_t pass = 4; pass < 7; ++pass)
      view.take(0, event::PassEnded{.pass = pass, .cost = static_cast<double>(pass)});
    view.take(1, event::PassEnded{.pass = 7, .cost = 9});
    CHECK(view.first_pass() == 4);
    CHECK(view.costs() == std::vector<double>{4, 5, 6});
    view.take(0, event::PassEnded{.pass = 5, .cost = 5.5});
    CHECK(view.costs() == std::vector<double>{4, 5.5});
    view.take(0, event::PassEnded{.pass = 0, .cost = 1});
    CHECK(view.first_pass() == 0);
    CHECK(view.costs() == std::vector<double>{1});
  }
  SECTION("models, of trainer 0 only") {
    view.take(1, event::Finished{.trainer = 1, .model = "elsewhere"});
    CHECK(view.model().empty());
    view.take(0, event::Saved{.path = "out put/pass-00008"});
    CHECK(view.last_saved() == "out put/pass-00008");
    CHECK(view.model().empty());
    view.take(0, event::Finished{.model = "out put/pass-00009"});
    CHECK(view.model() == "out put/pass-00009");
  }
}
