#include "graph/slicing.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/suggest.h"

namespace paddle {
namespace {

// Which shards hold a slice of the parameter that is being placed.
class Taken {
 public:
  Taken(const std::vector<SliceSpec>& slices, size_t shards)
      : shards_(shards),
        taken_(slices.empty() ? 0 : static_cast<size_t>(slices.back().param_index + 1) * shards) {}

  bool at(const SliceSpec& s, size_t shard) const { return taken_[place(s, shard)]; }
  void set(const SliceSpec& s) { taken_[place(s, s.shard)] = true; }

 private:
  size_t place(const SliceSpec& s, size_t shard) const {
    return static_cast<size_t>(s.param_index) * shards_ + shard;
  }
  size_t shards_;
  std::vector<bool> taken_;
};

// Largest first, each to the shard with the fewest bytes: never more than 4/3 of the best there is.
void place_by_bytes(std::vector<SliceSpec>& slices, size_t shards) {
  std::vector<size_t> order(slices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return slices[a].bytes() > slices[b].bytes(); });
  std::vector<int64_t> load(shards, 0);
  Taken taken(slices, shards);
  for (const size_t i : order) {
    SliceSpec& s = slices[i];
    size_t best = shards;
    for (size_t k = 0; k < shards; ++k)
      if (!taken.at(s, k) && (best == shards || load[k] < load[best])) best = k;
    assert(best < shards);
    s.shard = best;
    load[best] += s.bytes();
    taken.set(s);
  }
}

// By name, and to the next shard where that one has a slice of the same parameter.
void place_by_hash(std::vector<SliceSpec>& slices, size_t shards) {
  Taken taken(slices, shards);
  for (SliceSpec& s : slices) {
    s.shard = hash_text(s.name) % shards;
    while (taken.at(s, s.shard)) s.shard = (s.shard + 1) % shards;
    taken.set(s);
  }
}

std::string padded(const std::string& s, size_t width, bool right) {
  const std::string blanks(s.size() < width ? width - s.size() : 0, ' ');
  return right ? blanks + s : s + blanks;
}

std::string with_digits(double value, int digits) {
  char out[64];
  std::snprintf(out, sizeof out, "%.*f", digits, value);
  return out;
}

}  // namespace

SplitMethod split_method_of(std::string_view word) {
  if (word == "bytes") return SplitMethod::by_bytes;
  if (word == "round_robin") return SplitMethod::round_robin;
  if (word == "hash") return SplitMethod::hash_name;
  const std::vector<std::string> known = {"bytes", "round_robin", "hash"};
  throw Error(Error::Kind::config, "there is no way '", word, "' to place slices on shards",
              did_you_mean(word, known), ": choose one of ", listed(known));
}

std::vector<int64_t> slice_rows(const Shape& shape, int64_t count, int64_t min_block_size) {
  const int64_t elements = shape.numel(), rows = shape.rank() > 0 ? shape[0] : 1;
  if (elements <= 0) return {rows};
  const auto divided = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t width = elements / rows;
  const int64_t most = std::max<int64_t>(elements / min_block_size, 1);
  const int64_t block = divided(elements, std::min(count, most));
  const int64_t block_rows = divided(block, width);
  std::vector<int64_t> out;
  for (int64_t first = 0; first < rows; first += block_rows)
    out.push_back(std::min(block_rows, rows - first));
  return out;
}

void place_slices(std::vector<SliceSpec>& slices, size_t shards, SplitMethod method) {
  switch (method) {
    case SplitMethod::by_bytes: return place_by_bytes(slices, shards);
    case SplitMethod::hash_name: return place_by_hash(slices, shards);
    case SplitMethod::round_robin:
      for (size_t i = 0; i < slices.size(); ++i) slices[i].shard = i % shards;
  }
}

std::string placement_table(const Cut& cut, const Names& endpoints) {
  std::vector<int64_t> bytes(endpoints.size(), 0), count(endpoints.size(), 0);
  for (const SliceSpec& s : cut.slices) {
    bytes[s.shard] += s.bytes();
    ++count[s.shard];
  }
  const auto total = static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), int64_t{0}));
  const double mean = total / static_cast<double>(endpoints.size());
  const auto share = [&](int64_t b) { return mean > 0 ? static_cast<double>(b) / mean : 1; };
  size_t width = 8;  // of the heading
  for (const std::string& e : endpoints) width = std::max(width, e.size());

  std::string out =
      text("shard  ", padded("endpoint", width, false), "  slices         bytes  % of mean\n");
  Names idle;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    out += text(padded(std::to_string(i), 5, true), "  ", padded(endpoints[i], width, false), "  ",
                padded(std::to_string(count[i]), 6, true), "  ",
                padded(std::to_string(bytes[i]), 12, true), "  ",
                padded(with_digits(100 * share(bytes[i]), 0), 9, true), "\n");
    if (count[i] == 0) idle.push_back(endpoints[i]);
  }
  const int64_t most = *std::max_element(bytes.begin(), bytes.end());
  out +=
      text("imbalance: the fullest shard holds ", with_digits(share(most), 2), " times the mean\n");
  if (!idle.empty())
    out += text(listed(idle), idle.size() == 1 ? " holds" : " hold",
                " nothing: there are more shards than slices, lower ports_num or the number of "
                "pservers\n");
  return out;
}

}  // namespace paddle
