#include "base/suggest.h"

#include <algorithm>
#include <cctype>

namespace paddle {
namespace {

// Damerau-Levenshtein, restricted: a swap of neighbours counts one, as typing mistakes often are
// one.
int distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int change = same(a[i - 1], b[j - 1]) ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

size_t common_prefix(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < std::min(a.size(), b.size()) && a[n] == b[n]) ++n;
  return n;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  if (word.size() > 200) return "";
  std::string best;
  // A third of the letters may be wrong; of a word of one letter nothing would be left.
  int best_distance =
      word.size() < 2 ? 1 : static_cast<int>(std::max<size_t>(1, word.size() / 3)) + 1;
  for (const std::string& name : known) {
    const int d = distance(word, name);
    // Of several the one that begins as the word does: first letters are seldom wrong.
    if (d < best_distance || (d == best_distance && !best.empty() &&
                              common_prefix(word, name) > common_prefix(word, best))) {
      best_distance = d;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string guess = nearest(word, known);
  return guess.empty() ? "" : " (did you mean '" + guess + "'?)";
}

std::string joined(std::span<const std::string> words, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += between;
    out += words[i];
  }
  return out;
}

std::string listed(std::span<const std::string> words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace paddle
