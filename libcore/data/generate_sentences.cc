#include <algorithm>

#include "base/random.h"
#include "data/generate.h"

namespace paddle {
namespace {

constexpr size_t vocabulary = 2000;

// Rank r gets a share of 1 / (r + 1); drawn by its cumulative sums.
class Zipf {
 public:
  explicit Zipf(size_t n) : sums_(n) {
    double sum = 0;
    for (size_t r = 0; r < n; ++r) sums_[r] = sum += 1.0 / static_cast<double>(r + 1);
  }
  size_t rank(double uniform) const {
    const auto it = std::upper_bound(sums_.begin(), sums_.end(), uniform * sums_.back());
    return std::min(static_cast<size_t>(it - sums_.begin()), sums_.size() - 1);
  }

 private:
  std::vector<double> sums_;
};

// Two or three syllables that spell the rank, so that no two words are alike.
std::string word_of(size_t rank) {
  static constexpr const char* syllables[] = {"ka", "to", "mi", "re", "su", "lo", "ne", "vi",
                                              "da", "po", "fi", "ge", "hu", "jo", "za"};
  std::string out;
  for (size_t left = rank + 15; left > 0; left /= 15) out += syllables[left % 15];
  return out;
}

}  // namespace

// A word is followed, three times out of four, by one of its own four successors, and else by any
// word.
std::vector<std::string> generate_sentences(uint64_t seed, size_t count) {
  const Zipf zipf(vocabulary);
  const RandomStream random(seed, hash_text("sentences")), grammar(seed, hash_text("grammar"));
  std::vector<std::string> out(count);
  uint64_t at = 0;
  for (std::string& line : out) {
    const uint64_t length = 4 + random.below(at++, 13);
    size_t word = zipf.rank(random.uniform_double(at++));
    for (uint64_t i = 0; i < length; ++i) {
      if (i > 0) line += ' ';
      line += word_of(word);
      const bool follows = random.uniform(at++) < 0.75f;
      const uint64_t draw = random.below(at++, 16);
      const uint64_t which = draw < 9 ? 0 : draw < 13 ? 1 : draw < 15 ? 2 : 3;
      const double any = random.uniform_double(at++);
      word = zipf.rank(follows ? grammar.uniform_double(word * 4 + which) : any);
    }
  }
  return out;
}

}  // namespace paddle
