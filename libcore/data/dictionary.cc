#include "data/dictionary.h"

#include <algorithm>

#include "data/byte_source.h"

namespace paddle {

void WordCounts::add_line(std::string_view line, MemoryBudget& budget, const std::string& file) {
  ++lines_;
  add("<s>", budget, file);
  add("<e>", budget, file);
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line))
    add(word, budget, file);
}

void WordCounts::add(std::string_view word, MemoryBudget& budget, const std::string& file) {
  const auto it = counts_.find(word);
  if (it != counts_.end()) {
    ++it->second;
    return;
  }
  budget.take(word.size() + sizeof(WordMap::value_type) + 2 * sizeof(void*), file);
  counts_.emplace(word, 1);
}

WordMap WordCounts::dictionary(int64_t min_freq, int64_t dict_size) const {
  std::vector<std::pair<int64_t, std::string_view>> kept;
  for (const auto& [word, count] : counts_)
    if (count > min_freq && word != "<unk>") kept.emplace_back(-count, word);
  std::sort(kept.begin(), kept.end());
  if (dict_size > 0 && kept.size() >= static_cast<size_t>(dict_size))
    kept.resize(static_cast<size_t>(dict_size) - 1);
  WordMap out;
  for (const auto& [count, word] : kept) out.emplace(word, static_cast<int64_t>(out.size()));
  out.emplace("<unk>", static_cast<int64_t>(out.size()));
  return out;
}

}  // namespace paddle
