// Replays the seeds of the fuzz targets for tokens and handshakes, and damaged forms of each. Those
// of handshakes were computed apart, with Python: they are also a check of the bytes.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/file.h"
#include "fuzz/entries.h"

using namespace paddle;

namespace proof_corpus_test {

template <class Entry>
void replay(const std::string& name, const Entry& entry, bool damage_counts) {
  const std::string directory =
      std::string(std::getenv("PADDLE_TEST_SOURCE")) + "/test/fuzz/corpus/" + name;
  const std::vector<std::string> seeds = list_directory(directory);
  REQUIRE_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    INFO(seed);
    const std::string source = read_file(directory + "/" + seed, 1 << 20);
    CHECK(entry(source));
    for (size_t i = 1; i < source.size(); ++i) {
      std::string bad = source;
      bad[i] = static_cast<char>(~bad[i]);
      const bool taken = entry(bad);
      if (damage_counts) CHECK_FALSE(taken);
      bad.erase(i);
      const bool cut = entry(bad);
      if (damage_counts) CHECK_FALSE(cut);
    }
  }
}

}  // namespace proof_corpus_test

TEST_CASE("seeds of tokens and damaged forms of them do no harm", "[wire][fuzz]") {
  proof_corpus_test::replay("token_file", fuzz::token_file, false);
}

TEST_CASE("seeds of handshakes prove, and damaged forms of them do not", "[wire][fuzz]") {
  proof_corpus_test::replay("handshake", fuzz::handshake, true);
}
