// One line of Criteo's click logs: label, 13 numbers, 26 categories, separated by tabs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace paddle {

constexpr int64_t criteo_numbers = 13;
constexpr size_t criteo_categories = 26;
constexpr size_t criteo_columns = 1 + criteo_numbers + criteo_categories;

struct CriteoRules {
  enum class Scale { log, min_max, none } scale = Scale::log;
  int64_t hash_size = 1000001;  // ids lie below; 0 = all 64 bits
  uint64_t seed = 0;            // of the hash
};

struct CriteoRecord {
  std::array<float, criteo_numbers> numbers;
  std::array<int64_t, criteo_categories> ids;
  int64_t label;
};

// The 64-bit hash of a category, of any text, in a column (0 to 25). Depends on nothing else, so
// that every process and machine gives the same id. Two texts of 8 bytes in one column never get
// the same 64 bits.
uint64_t criteo_hash(std::string_view category, size_t column, uint64_t seed);

class CriteoParser {
 public:
  explicit CriteoParser(const CriteoRules& rules);
  // Throws Error(data) with the place and the column of what is wrong.
  void parse(std::string_view line, const LineReader& at, CriteoRecord& to) const;

 private:
  float scaled(size_t column, int64_t value) const;
  float number(std::string_view word, size_t column, const LineReader& at) const;
  int64_t id(std::string_view word, size_t column) const;

  CriteoRules rules_;
  uint64_t inverse_ = 0;                          // 2^64 / hash_size, for the modulo
  std::array<uint64_t, criteo_categories> keys_;  // of the hash
  std::vector<float> logs_;                       // log(1 + x) of small x
};

}  // namespace paddle
