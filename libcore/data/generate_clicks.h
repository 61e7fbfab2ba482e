// Click logs like Criteo's, of any size, from a known truth: the probability of a click is a
// function of the record, so that the best AUC that any model can reach is known.
//
// A record has 13 numbers with heavy tails and 26 categories of 3 to 1,000,000 values, which follow
// Zipf's law (s = 1.1). The log-odds of a click are a bias, a weight times log(1 + x) of six
// numbers, a weight of each category's value (0 for the rare ones, of which a model sees too few),
// and a weight of two pairs of categories. Record i depends on the seed and i alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/byte_source.h"
#include "data/criteo_line.h"

namespace paddle {

struct Click {
  std::array<std::optional<int64_t>, criteo_numbers> numbers;
  std::array<uint32_t, criteo_categories> ranks;  // of the values, from 1; 0 = missing
  double probability;
  bool label;
};

class ClickModel {
 public:
  explicit ClickModel(uint64_t seed) : seed_(seed) {}
  Click record(uint64_t i) const;
  // As a line of Criteo's logs, with its end.
  void append_line(const Click& click, std::string& to) const;

 private:
  double log_odds(const Click& click) const;

  uint64_t seed_;
};

// `count` lines of the log, from record `first` on.
std::unique_ptr<ByteSource> click_log(uint64_t seed, uint64_t first, uint64_t count);

// The AUC that the true probabilities reach on labels drawn from them, in expectation: no model
// reaches more on such records.
double expected_auc(std::vector<double> probabilities);
// Of `count` records from `first` on.
double attainable_auc(uint64_t seed, uint64_t first, uint64_t count);

}  // namespace paddle
