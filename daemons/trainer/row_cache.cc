#include "trainer/row_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/machine_memory.h"
#include "base/random.h"

namespace paddle {

RowCacheOptions row_cache_options(const Options& o) {
  const std::string& bytes = o.text("row_cache");
  if (bytes == "0") return {};
  return {.bytes = parse_memory(bytes, machine_memory()).value(),
          .steps = static_cast<uint64_t>(o.integer("row_cache_steps"))};
}

void RowCache::Free::operator()(std::byte* block) const { std::free(block); }

// The pages of calloc's memory are taken as they are used.
RowCache::RowCache(uint64_t bytes, size_t row_bytes, uint64_t steps)
    : row_bytes_(row_bytes),
      set_bytes_(sizeof(Set) + (ways * row_bytes + 15) / 16 * 16),
      sets_(bytes / set_bytes_),
      steps_(steps) {
  static_assert(sizeof(Set) % 16 == 0 && std::is_trivial_v<Set>);
  if (sets_ == 0) return;
  block_.reset(static_cast<std::byte*>(std::calloc(sets_, set_bytes_)));
  if (!block_) throw std::bad_alloc();
}

// Not the hash that divides ids among shards, nor the one that orders rows in a table.
RowCache::Set* RowCache::set_of(uint64_t id) const {
  const uint64_t hash = mix64(id ^ 0xc2b2ae3d27d4eb4full);
  const auto set = static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * sets_) >> 64);
  return reinterpret_cast<Set*>(block_.get() + set * set_bytes_);
}

RowCache::Found RowCache::find(uint64_t id, uint64_t step) {
  if (sets_ == 0) return {};
  Set* set = set_of(id);
  if (set->generation != generation_) return {};
  for (size_t w = 0; w < ways; ++w) {
    if (set->ids[w] != id || set->use[w] == empty) continue;
    if (step < set->asked[w] || step - set->asked[w] > steps_) return {};
    set->use[w] = used;
    return {row_of(set, w), set->base[w]};
  }
  return {};
}

// An empty place, else a row that no step from `asked` on may use, else as CLOCK does it.
size_t RowCache::replaced(Set& set, uint64_t asked) {
  for (size_t w = 0; w < ways; ++w)
    if (set.use[w] == empty) {
      ++rows_;
      return w;
    }
  for (size_t w = 0; w < ways; ++w)
    if (asked > set.asked[w] && asked - set.asked[w] > steps_) return w;
  for (;; set.hand = (set.hand + 1) % ways) {
    if (set.use[set.hand] == unused) break;
    set.use[set.hand] = unused;
  }
  return std::exchange(set.hand, (set.hand + 1) % ways);
}

void RowCache::put(uint64_t id, uint64_t asked, int64_t base, const std::byte* row) {
  if (sets_ == 0) return;
  Set* set = set_of(id);
  if (set->generation != generation_) {
    std::fill_n(set->use, ways, empty);
    set->generation = generation_;
    set->hand = 0;
  }
  size_t way = 0;
  while (way < ways && (set->ids[way] != id || set->use[way] == empty)) ++way;
  if (way == ways) {
    way = replaced(*set, asked);
    set->ids[way] = id;
    set->use[way] = unused;
  }
  set->asked[way] = asked;
  set->base[way] = base;
  std::memcpy(row_of(set, way), row, row_bytes_);
}

void RowCache::clear() {
  ++generation_;
  rows_ = 0;
}

}  // namespace paddle
