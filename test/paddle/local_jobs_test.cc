#include "paddle/local_jobs.h"

#include <unistd.h>

#include <catch2/catch.hpp>

using namespace paddle;
using Words = std::vector<std::string>;

namespace local_jobs_test {
namespace {

SeenProcess seen(int64_t id, Words words, Environment environment = {}) {
  return {id, std::move(words), std::move(environment), "/srv/a"};
}

}  // namespace

TEST_CASE("local jobs", "[paddle]") {
  SECTION("are found by their trainers, with their tokens") {
    const auto jobs = jobs_of({
        seen(5, {"/usr/bin/paddle", "trainer", "--pservers=127.0.0.1:81,127.0.0.1:82",
                 "--workspace=ws", "--token_file=ws/log/token.4"}),
        seen(6, {"paddle_trainer", "--pservers", "127.0.0.1:81,127.0.0.1:82", "--workspace=ws"}),
        seen(2, {"paddle", "pserver", "--port=0", "--token_file=/srv/a/ws/log/token.4"}),
        seen(3, {"paddle", "pserver", "--port=82"}),
    });
    REQUIRE(jobs.size() == 1);
    CHECK(jobs[0].workspace == "/srv/a/ws");
    CHECK(jobs[0].options.at("token_file") == "/srv/a/ws/log/token.4");
    CHECK(describe(jobs[0]) ==
          "/srv/a/ws: pservers 127.0.0.1:81,127.0.0.1:82, trainer processes 5 and 6, pserver "
          "processes 2 and 3");
  }
  SECTION("may have Python trainers, which get variables") {
    const auto jobs =
        jobs_of({seen(9, {"/usr/bin/python3", "train.py"},
                      {{"PADDLE_INIT_PSERVERS", "h:1"}, {"PADDLE_INIT_WORKSPACE", "/data/ws/"}})});
    REQUIRE(jobs.size() == 1);
    CHECK(jobs[0].pservers == "h:1");
    CHECK(jobs[0].workspace == "/data/ws");
  }
  SECTION("may have no trainer yet") {
    const auto jobs = jobs_of({seen(2, {"paddle", "pserver"}),
                               seen(3, {"paddle", "pserver", "--port=90", "--host=0.0.0.0"}),
                               seen(4, {"paddle", "pserver", "--port=0"})});
    REQUIRE(jobs.size() == 2);
    CHECK(jobs[0].pservers == "127.0.0.1:7164");
    CHECK(jobs[1].pservers == "127.0.0.1:90");
    CHECK(jobs[1].servers == std::vector<int64_t>{3});
  }
  SECTION("other programs are none") {
    CHECK(jobs_of({seen(1, {}), seen(2, {"paddle", "status", "--pservers=h:1"}),
                   seen(3, {"paddle", "train", "--config=x"}), seen(4, {"python3", "-c", "1"}),
                   seen(5, {"grep", "--pservers=h:1"})})
              .empty());
  }
  SECTION("of one process have no pservers") {
    const auto runs = runs_of({seen(1, {"paddle", "train", "--config=x", "--workspace=ws/"}),
                               seen(2, {"/usr/bin/paddle_trainer", "--config=y"}),
                               seen(3, {"paddle", "trainer", "--pservers=h:1"}),
                               seen(4, {"python3", "x.py"}), seen(5, {"paddle", "status"})});
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].workspace == "/srv/a/ws");
    CHECK(runs[0].process == 1);
    CHECK(runs[1].workspace == "/srv/a");
    CHECK(last_logged(0).empty());
  }
}

TEST_CASE("the processes of this user", "[paddle]") {
  for (const SeenProcess& p : own_processes())
    if (p.id == ::getpid()) {
      CHECK(p.words[0].find("test_paddle") != std::string::npos);
      CHECK(!p.directory.empty());
      return;
    }
  FAIL("this process is not among them");
}

}  // namespace local_jobs_test
