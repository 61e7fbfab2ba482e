#include "wire/spin.h"

#include <sched.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace paddle;
using namespace std::chrono_literals;

namespace {

// Whether work that is ready is done by a look, without sleeping.
bool looks(wire::Spin& spin) {
  asio::io_context io(1);
  bool ran = false;
  asio::post(io, [&] { ran = true; });
  const bool done = spin.look(io, [&] { return ran; });
  CHECK(done == ran);
  return ran;
}

// A look at a context where nothing happens.
void look_without_result(wire::Spin& spin) {
  asio::io_context io(1);
  const auto work = asio::make_work_guard(io);
  CHECK_FALSE(spin.look(io, [] { return false; }));
}

}  // namespace

TEST_CASE("looking before sleeping", "[wire]") {
  SECTION("0 never looks, other numbers always do") {
    wire::Spin never(0), always(20);
    never.slept(1us);
    CHECK_FALSE(looks(never));
    always.slept(1h);
    look_without_result(always);
    CHECK(looks(always));
  }
  SECTION("by experience it looks after short waits only") {
    wire::Spin spin(-1);
    CHECK_FALSE(looks(spin));
    spin.slept(10us);
    CHECK(looks(spin));
    CHECK(looks(spin));
    spin.slept(1ms);
    CHECK_FALSE(looks(spin));
  }
  SECTION("a look without result is the last one until a wait is short again") {
    // Where others compute on this processor during the first look, it does not look again either.
    bool looked = false;
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!looked && std::chrono::steady_clock::now() < end) {
      wire::Spin spin(-1);
      spin.slept(10us);
      look_without_result(spin);
      CHECK_FALSE(looks(spin));
      spin.slept(10us);
      looked = looks(spin);
    }
    CHECK(looked);
  }
  SECTION("what holds already needs no look") {
    asio::io_context io(1);
    wire::Spin spin(0);
    CHECK(spin.look(io, [] { return true; }));
  }
}

// Somebody who computes on the only processor of this thread takes milliseconds when let in.
TEST_CASE("looks end where others compute", "[wire]") {
  cpu_set_t before, one;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) {
    }
  });
  wire::Spin spin(-1);
  bool crowded = false;
  for (int i = 0; i < 1000 && !crowded; ++i) {
    spin.slept(10us);
    look_without_result(spin);
    spin.slept(10us);
    crowded = !looks(spin);
  }
  ends = true;
  other.join();
  CHECK(crowded);
  REQUIRE(::sched_setaffinity(0, sizeof before, &before) == 0);
}
