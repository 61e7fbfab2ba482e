// Words and their numbers, by the rules of the n-gram language models: every line brings one <s>
// and one <e>; words that are frequent enough are numbered from the most frequent on, ties in byte
// order; <unk> is the last number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "data/records.h"

namespace paddle {

struct TextHash {  // lets a map of strings be asked with a view
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
using WordMap = std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>>;

class WordCounts {
 public:
  // Counts the words of one line. `file` is for the message about memory.
  void add_line(std::string_view line, MemoryBudget& budget, const std::string& file);
  int64_t lines() const { return lines_; }

  // Keeps words with a count above `min_freq`, and of them at most `dict_size` - 1 (0: all).
  WordMap dictionary(int64_t min_freq, int64_t dict_size) const;

 private:
  void add(std::string_view word, MemoryBudget& budget, const std::string& file);
  WordMap counts_;
  int64_t lines_ = 0;
};

}  // namespace paddle
