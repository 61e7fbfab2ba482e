// Replays the seeds of the fuzz targets, and damaged forms of each, through the same functions.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "fuzz/entries.h"

using namespace paddle;

namespace {

std::string corpus() {
  const char* source = std::getenv("PADDLE_TEST_SOURCE");
  for (const std::string root : {source ? source : ".", "..", "../.."})
    if (is_directory(root + "/test/fuzz/corpus")) return root + "/test/fuzz/corpus";
  throw Error(Error::Kind::config, "run this test inside the source tree");
}

}  // namespace

TEST_CASE("fuzz seeds and damaged forms of them do no harm", "[io][fuzz]") {
  struct Target {
    const char* name;
    bool (*run)(std::string_view);
  };
  const Target t = GENERATE(
      Target{"tensor_file", fuzz::tensor_file}, Target{"model_file", fuzz::model_file},
      Target{"program_buffer", fuzz::program_buffer}, Target{"train_state", fuzz::train_state});
  const std::string dir = corpus() + "/" + t.name;
  const std::vector<std::string> seeds = list_directory(dir);
  REQUIRE_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    const std::string bytes = read_file(dir + "/" + seed, 1 << 20);
    INFO(t.name << "/" << seed);
    CHECK(t.run(bytes));
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(~bad[i]);
      CHECK_NOTHROW(t.run(bad));
      bad.erase(i);
      CHECK_NOTHROW(t.run(bad));
    }
  }
}
