#include "obs/tally.h"

#include <array>
#include <optional>

namespace paddle {
namespace {

// Numbers in groups of 5 bits, the lowest first; all but the last are marked by 32.
constexpr std::string_view tally_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t longest_part = 1000, longest_entry = 3 * 13;

void put_count(uint64_t value, std::string& to) {
  for (; value >= 32; value >>= 5) to += tally_letters[32 + (value & 31)];
  to += tally_letters[value];
}

// Takes a number off the front; nothing where there is none.
std::optional<uint64_t> take_count(std::string_view& from) {
  uint64_t value = 0;
  for (int shift = 0; shift < 60 && !from.empty(); shift += 5) {
    const size_t letter = tally_letters.find(from.front());
    if (letter == std::string_view::npos) return std::nullopt;
    from.remove_prefix(1);
    value |= static_cast<uint64_t>(letter & 31) << shift;
    if (letter < 32) return value;
  }
  return std::nullopt;
}

}  // namespace

// Entries of bin, positives and negatives; a bin is counted from the one before it in the text.
std::vector<std::string> histogram_texts(std::span<const int64_t> positive,
                                         std::span<const int64_t> negative) {
  std::vector<std::string> out;
  size_t next = 0;
  for (size_t b = 0; b < positive.size(); ++b) {
    if (positive[b] == 0 && negative[b] == 0) continue;
    if (out.empty() || out.back().size() + longest_entry > longest_part) {
      out.emplace_back();
      next = 0;
    }
    put_count(b - next, out.back());
    put_count(static_cast<uint64_t>(positive[b]), out.back());
    put_count(static_cast<uint64_t>(negative[b]), out.back());
    next = b + 1;
  }
  return out;
}

bool add_histogram_text(std::string_view text, Histogram& to) {
  struct Entry {
    size_t bin;
    int64_t positive, negative;
  };
  std::vector<Entry> entries;
  for (size_t next = 0; !text.empty();) {
    const auto gap = take_count(text), positive = take_count(text), negative = take_count(text);
    if (!gap || !positive || !negative || *gap >= to.positive.size() - next) return false;
    entries.push_back(
        {next + *gap, static_cast<int64_t>(*positive), static_cast<int64_t>(*negative)});
    next += *gap + 1;
  }
  for (const Entry& e : entries) {
    to.positive[e.bin] += e.positive;
    to.negative[e.bin] += e.negative;
  }
  return true;
}

double roc_area(const Histogram& counts) {
  double area = 0, positive = 0, negative = 0;
  for (size_t b = counts.positive.size(); b-- > 0;) {
    const auto up = static_cast<double>(counts.positive[b]),
               right = static_cast<double>(counts.negative[b]);
    area += right * (positive + positive + up) / 2;
    positive += up;
    negative += right;
  }
  return positive > 0 && negative > 0 ? area / positive / negative : 0;
}

}  // namespace paddle
