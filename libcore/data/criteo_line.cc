#include "data/criteo_line.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/random.h"

namespace paddle {
namespace {

constexpr int64_t tabled_logs = 16384;

// The ranges of PaddlePaddle's criteo_reader.py, of its sample of the logs.
constexpr std::array<double, criteo_numbers> least{0, -3};
constexpr std::array<double, criteo_numbers> range{20, 603, 100, 50, 64000, 500, 100,
                                                   50, 500, 10,  10, 10,    50};

uint64_t column_key(size_t column, uint64_t seed) { return mix64(mix64(seed) ^ (column + 1)); }

// Bytes of `word` from `at` on, in the order of little-endian machines, with zeros behind its end.
uint64_t load_bytes(std::string_view word, size_t at) {
  uint64_t out = 0;
  for (size_t i = 0; i < 8 && at + i < word.size(); ++i)
    out |= uint64_t{static_cast<unsigned char>(word[at + i])} << (8 * i);
  return out;
}

[[gnu::always_inline]] inline uint64_t hash_with(uint64_t key, std::string_view word) {
  if (word.size() == 8) {  // nearly all are
    uint64_t bytes = 0;
    if constexpr (std::endian::native == std::endian::little)
      std::memcpy(&bytes, word.data(), 8);
    else
      bytes = load_bytes(word, 0);
    return mix64(key ^ bytes);
  }
  uint64_t h = mix64(key + word.size() + 1);
  for (size_t at = 0; at < word.size(); at += 8) h = mix64(h ^ load_bytes(word, at));
  return h;
}

// Where the tabs are, and behind them the end of the line; returns how many tabs the line has. At
// most criteo_columns places are written.
[[gnu::always_inline]] inline size_t find_tabs(std::string_view line,
                                               std::array<uint32_t, criteo_columns>& ends) {
  size_t n = 0, at = 0;
  const auto found = [&](size_t place) {
    if (n < criteo_columns) ends[n] = static_cast<uint32_t>(place);
    ++n;
  };
#ifdef __SSE2__
  const __m128i tab = _mm_set1_epi8('\t');
  for (; at + 16 <= line.size(); at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line.data() + at));
    auto mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, tab)));
    for (; mask != 0; mask &= mask - 1) found(at + static_cast<size_t>(std::countr_zero(mask)));
  }
#endif
  for (; at < line.size(); ++at)
    if (line[at] == '\t') found(at);
  if (n < criteo_columns) ends[n] = static_cast<uint32_t>(line.size());
  return n;
}

// Up to 15 digits with a sign; false for anything else.
[[gnu::always_inline]] inline bool short_integer(std::string_view word, int64_t& value) {
  const bool minus = word[0] == '-';
  if (word.size() > 15 || word.size() == size_t{minus}) return false;
  int64_t sum = 0;
  for (size_t i = minus; i < word.size(); ++i) {
    const auto digit = static_cast<unsigned char>(word[i] - '0');
    if (digit > 9) return false;
    sum = sum * 10 + digit;
  }
  value = minus ? -sum : sum;
  return true;
}

}  // namespace

uint64_t criteo_hash(std::string_view category, size_t column, uint64_t seed) {
  return hash_with(column_key(column, seed), category);
}

CriteoParser::CriteoParser(const CriteoRules& rules) : rules_(rules) {
  for (size_t k = 0; k < criteo_categories; ++k) keys_[k] = column_key(k, rules.seed);
  if (rules.hash_size > 0) inverse_ = ~uint64_t{0} / static_cast<uint64_t>(rules.hash_size);
  if (rules.scale != CriteoRules::Scale::log) return;
  for (int64_t x = 0; x < tabled_logs; ++x)
    logs_.push_back(static_cast<float>(std::log1p(static_cast<double>(x))));
}

[[gnu::always_inline]] inline float CriteoParser::scaled(size_t column, int64_t value) const {
  const auto x = static_cast<double>(value);
  switch (rules_.scale) {
    case CriteoRules::Scale::log:
      if (value < tabled_logs) return logs_[static_cast<size_t>(std::max<int64_t>(value, 0))];
      return static_cast<float>(std::log1p(x));
    case CriteoRules::Scale::min_max:
      return static_cast<float>((x - least[column]) / range[column]);
    case CriteoRules::Scale::none: break;
  }
  return static_cast<float>(x);
}

[[gnu::always_inline]] inline float CriteoParser::number(std::string_view word, size_t column,
                                                         const LineReader& at) const {
  if (word.empty()) return 0;
  int64_t value = 0;
  if (!short_integer(word, value))
    at.fail(text("a whole number of at most 15 digits, or nothing, in column ", column + 2),
            quoted(word), "correct or remove the line");
  return scaled(column, value);
}

// The modulo by a product with the inverse, which is at most 2 too small: a division takes five
// times as long.
[[gnu::always_inline]] inline int64_t CriteoParser::id(std::string_view word, size_t column) const {
  const uint64_t hash = hash_with(keys_[column], word);
  if (inverse_ == 0) return static_cast<int64_t>(hash);
  const auto size = static_cast<uint64_t>(rules_.hash_size);
  const auto product = static_cast<unsigned __int128>(hash) * inverse_;
  uint64_t rest = hash - static_cast<uint64_t>(product >> 64) * size;
  rest = std::min(rest, rest - size);  // the smaller one, as the other wraps around
  rest = std::min(rest, rest - size);
  return static_cast<int64_t>(rest);
}

void CriteoParser::parse(std::string_view line, const LineReader& at, CriteoRecord& to) const {
  std::array<uint32_t, criteo_columns> ends;
  const size_t tabs = find_tabs(line, ends);
  if (tabs + 1 != criteo_columns)
    at.fail("40 columns (label, 13 numbers, 26 categories) with a tab between them",
            text(tabs + 1, " in ", quoted(line)), "correct or remove the line");
  const auto column = [&](size_t i) {
    return line.substr(ends[i - 1] + 1, ends[i] - ends[i - 1] - 1);
  };
  const std::string_view label = line.substr(0, ends[0]);
  if (label != "0" && label != "1")
    at.fail("a label of 0 or 1 in column 1", quoted(label), "correct or remove the line");
  to.label = label[0] - '0';
  for (size_t i = 0; i < criteo_numbers; ++i) to.numbers[i] = number(column(1 + i), i, at);
  for (size_t k = 0; k < criteo_categories; ++k) to.ids[k] = id(column(1 + criteo_numbers + k), k);
}

}  // namespace paddle
