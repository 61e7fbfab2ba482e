#include "base/run_main.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>

#include "base/error.h"
#include "base/log.h"
#include "support/child.h"
#include "support/pseudo_terminal.h"

using namespace paddle;
using Catch::Contains;

TEST_CASE("run_main", "[base]") {
  Pipe pipe;
  start_log({.descriptor = pipe.device()});
  const auto run = [](const std::function<int()>& body) { return run_main("paddle train", body); };

  SECTION("returns what the body returns") {
    CHECK(run([] { return 0; }) == 0);
    CHECK(run([] { return 3; }) == 3);
    CHECK(pipe.read().empty());
  }
  SECTION("turns every kind of error into its code and sentence") {
    using K = Error::Kind;
    const std::pair<K, int> codes[] = {{K::config, 2},  {K::data, 3},     {K::io, 4},
                                       {K::numeric, 5}, {K::protocol, 6}, {K::peer, 7}};
    for (const auto& [kind, code] : codes) {
      const K thrown = kind;
      CHECK(run([thrown]() -> int { throw Error(thrown, "it is so").within("reading x"); }) ==
            code);
      CHECK(pipe.read() == "paddle train: it is so\n  while reading x\n");
    }
  }
  SECTION("knows what else may be thrown") {
    CHECK(run([]() -> int { throw std::bad_alloc(); }) == 4);
    CHECK_THAT(pipe.read(), Contains("paddle train: out of memory"));
    CHECK(run([]() -> int { throw std::out_of_range("vector"); }) == 1);
    CHECK_THAT(pipe.read(), Contains("unexpected error: vector"));
    CHECK(run([]() -> int { throw 3; }) == 1);
    CHECK_THAT(pipe.read(), Contains("unknown kind"));
  }
  SECTION("stops at the first signal and is killed by the second") {
    const int signal = GENERATE(SIGINT, SIGTERM);
    const auto quiet = [](const std::function<int()>& body) {
      return in_child([&] {
        ::close(2);
        return run_main("x", body);
      });
    };
    CHECK(quiet([&] {
            ::raise(signal);
            return stop_signal() == signal ? 0 : 50;
          }) == 128 + signal);
    CHECK(quiet([&]() -> int {
            ::raise(signal);
            throw Error(Error::Kind::peer, "gone");
          }) == 128 + signal);
    CHECK(quiet([&] {  // as timeout(1) does: to the process and to its group
            ::raise(signal);
            ::raise(signal);
            return 0;
          }) == 128 + signal);
    CHECK(quiet([&] {
            ::raise(signal);
            ::poll(nullptr, 0, 300);  // a person
            ::raise(signal);
            return 0;
          }) == -signal);
    CHECK(quiet([&] {
            ::raise(signal);
            stopped_cleanly();
            return 0;
          }) == 0);
    CHECK(quiet([] { return stop_signal() == 0 ? 0 : 50; }) == 0);
  }
  start_log({});
}
