// Replays the seeds of the fuzz target for messages, and damaged forms of them.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "fuzz/entries.h"

using namespace paddle;

TEST_CASE("messages and damaged forms of them do no harm", "[pserver][fuzz]") {
  const char* source = std::getenv("PADDLE_TEST_SOURCE");
  const std::string dir = std::string(source ? source : ".") + "/test/fuzz/corpus/message";
  for (const std::string& seed : list_directory(dir)) {
    const std::string bytes = read_file(dir + "/" + seed, 1 << 20);
    INFO(seed);
    CHECK(fuzz::message(bytes));
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(~bad[i]);
      CHECK_NOTHROW(fuzz::message(bad));
      if (i % 8 == 0) CHECK_NOTHROW(fuzz::message(bytes.substr(0, i)));
    }
  }
  fuzz::end_messages();
}
