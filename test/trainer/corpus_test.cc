// Replays the seeds of the fuzz target for job files, and damaged forms of each.
#include <catch2/catch.hpp>

#include "fuzz/entries.h"
#include "trainer/support.h"

using namespace paddle;
using namespace paddle::test;

namespace {

// Inverts every `step`-th byte, and cuts the text off there.
void replay(const std::string& source, size_t step) {
  CHECK(fuzz::job_file(source));
  for (size_t i = 0; i < source.size(); i += step) {
    std::string bad = source;
    bad[i] = static_cast<char>(~bad[i]);
    CHECK_NOTHROW(fuzz::job_file(bad));
    bad.erase(i);
    CHECK_NOTHROW(fuzz::job_file(bad));
  }
}

}  // namespace

TEST_CASE("fuzz seeds of job files and damaged forms of them do no harm", "[trainer][fuzz]") {
  const auto [dir, step] = GENERATE(table<std::string, size_t>(
      {{"/test/fuzz/corpus/job_file", size_t{1}}, {"/configs", size_t{29}}}));
  const std::vector<std::string> seeds = list_directory(source_root() + dir);
  REQUIRE_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    const std::string path = source_root() + dir + "/" + seed;
    if (dir == "/configs" && !seed.ends_with(".json")) continue;
    INFO(path);
    replay(read_file(path, 1 << 20), step);
  }
}
