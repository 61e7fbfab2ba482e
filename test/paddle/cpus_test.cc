#include "paddle/cpus.h"

#include <catch2/catch.hpp>

#include "paddle/process.h"

using namespace paddle;
using Cpus = std::vector<int>;

TEST_CASE("shares of processors", "[paddle]") {
  const Cpus all{0, 1, 2, 5, 6, 7, 9};
  SECTION("cover all of them without overlap") {
    CHECK(cpu_share(all, 0, 2, 1) == Cpus{0, 1, 2});
    CHECK(cpu_share(all, 1, 2, 1) == Cpus{5, 6, 7, 9});
    CHECK(cpu_share(all, 6, 7, 1) == Cpus{9});
  }
  SECTION("are not made where there are too few, or for one process alone") {
    CHECK(cpu_share(all, 0, 8, 1).empty());
    CHECK(cpu_share(all, 0, 2, 4).empty());
    CHECK(cpu_share(all, 0, 1, 1).empty());
  }
  SECTION("are where a process starts, and it may use no others") {
    const Cpus mine = own_cpus();
    REQUIRE(!mine.empty());
    ProcessGroup group;
    std::string said;
    const Process& p =
        group.start({.name = "sh",
                     .arguments = {"/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status"},
                     .output = [&](std::string_view b) { said += b; },
                     .cpus = {mine.back()}});
    while (p.running()) group.wait(std::chrono::seconds(10));
    CHECK(said == "Cpus_allowed_list:\t" + std::to_string(mine.back()) + "\n");
    CHECK(own_cpus() == mine);
  }
}
