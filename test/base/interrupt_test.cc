#include "base/interrupt.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "base/error.h"

using namespace paddle;

TEST_CASE("a host can end a loop that never ends", "[base]") {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 1000; ++i) check_interrupt();  // nobody asks, nothing happens

  int asked = 0;
  set_interrupt_check([&] {
    if (++asked == 3) throw Error(Error::Kind::peer, "enough");
  });
  const auto start = Clock::now();
  uint64_t calls = 0;
  const auto loop = [&] {
    while (Clock::now() - start < std::chrono::seconds(20)) {
      check_interrupt();
      ++calls;
    }
  };
  CHECK_THROWS_WITH(loop(), "enough");
  const auto took = Clock::now() - start;
  set_interrupt_check(nullptr);
  CHECK(asked == 3);
  CHECK(calls > 3);  // it is asked by time, not by call
  CHECK(took >= std::chrono::milliseconds(200));
  check_interrupt();
  CHECK(asked == 3);
}
