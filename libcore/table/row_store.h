// Rows of one size, found by a 64-bit id. The hash of an id names a segment by its first bits (a
// segment is split in two when it is full) and a bucket of the segment's index by later ones.
// A bucket is one cache line: per row one byte of the hash and the row's number in the segment. A
// segment's rows lie side by side in blocks; a row that goes is replaced by the last one. So memory
// grows and shrinks by single blocks, and no step of growth touches more than one segment.
// Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "table/blocks.h"
#include "table/bucket.h"

namespace paddle {

// What every row begins with.
struct __attribute__((packed, aligned(4))) RowHead {
  uint64_t id;
  uint32_t step;   // of the last update
  uint16_t count;  // of updates, up to 65535
  uint16_t flags;  // of the store's owner
};
static_assert(sizeof(RowHead) == 16);

inline RowHead* head_of(std::byte* row) { return reinterpret_cast<RowHead*>(row); }
inline const RowHead* head_of(const std::byte* row) {
  return reinterpret_cast<const RowHead*>(row);
}

// The order of rows in a store. A bijection, so that different ids never have the same.
inline uint64_t row_hash(uint64_t id) { return mix64(id); }

class RowStore {
 public:
  // `row_bytes` with the head, a multiple of 4. The budget outlives the store.
  RowStore(size_t row_bytes, MemoryLimit& budget);
  ~RowStore();

  size_t row_bytes() const { return row_bytes_; }
  size_t size() const { return size_; }
  size_t segments() const { return segments_.size(); }
  // All memory: blocks, free ones too, and the lists of them.
  size_t bytes() const;
  // What bytes() is at most after so many more inserts.
  size_t bytes_bound(size_t more) const;

  // The row, or null. Addresses are good until the next erase() or clear(), or an insert() that
  // changes segments().
  std::byte* find(uint64_t id) const;
  // f(i, row or null) once for each id, in any order, with the memory of rows on its way before it
  // is needed: the first `bytes` of each. f must not insert or erase.
  template <class F>
  void find_each(std::span<const uint64_t> ids, size_t bytes, const F& f) const;
  // A row for an id that has none: the head is set, the rest has any content. Throws Error(config)
  // at the limit of memory, with nothing changed.
  std::byte* insert(uint64_t id);
  bool erase(uint64_t id);
  void clear();
  // So many rows are about to be inserted; does nothing where there are some. Segments and their
  // index get their size at once, and memory for the rows is made by other threads meanwhile.
  void expect(size_t rows);

  // f(row) for the rows of the segment in which `from` lies; then `from` is the first hash of the
  // next one. False if there is no next one. A walk that starts at 0 sees every row that is there
  // all the time exactly once, whatever is inserted and erased between calls; f must do neither.
  template <class F>
  bool visit(uint64_t& from, const F& f) const;
  // The same for at most `most` rows of the segment, those from its row `row` on: `row` starts at 0
  // and moves on with `from`. Where places() has changed since the last call, rows of the segment
  // may be elsewhere, and it has to be seen from its row 0 again.
  template <class F>
  bool visit_some(uint64_t& from, uint32_t& row, size_t most, const F& f) const;
  // Changes when rows that were there change places or go.
  uint64_t places() const { return places_; }

 private:
  // Lookups go through it: no list of its index, whose addresses would be one more thing to wait
  // for, and few addresses of blocks, so that those of all segments stay in the cache.
  struct alignas(64) Segment {
    static constexpr uint32_t most_index_blocks = 16;
    std::vector<std::byte*> blocks;
    uint32_t rows = 0;
    uint32_t buckets = 0;       // whole blocks of them
    uint32_t index_blocks = 0;  // so many of `index`
    int depth = 0;              // so many first bits are the same in all its hashes
    uint64_t first = 0;         // its smallest hash
    Bucket* index[most_index_blocks] = {};
  };
  struct Slot {
    Bucket* bucket = nullptr;
    int slot = 0;
  };
  // Ids of a batch on their way to their rows. Every stage is a short loop over a group: a prefetch
  // whose page is not in the TLB holds up all that follows it, so only what stands within a few
  // hundred instructions waits for memory at the same time.
  struct Group {
    static constexpr size_t most = 64;  // measured with table_bench
    size_t begin = 0, count = 0;        // of the ids
    const Segment* segments[most];
    uint32_t numbers[most];  // of buckets
    const Bucket* buckets[most];
    std::byte* rows[most];  // the first one with the tag of the id, or null
    uint8_t tags[most];
  };
  void start(std::span<const uint64_t> ids, size_t begin, Group& g) const;
  void aim(Group& g, size_t bytes) const;
  std::byte* other_row(const Group& g, size_t k, uint64_t id) const;

  Segment& segment_of(uint64_t hash) const {
    return *directory_[static_cast<size_t>((hash >> 1) >> (63 - depth_))];
  }
  // By bits in the middle of the hash: the first ones may be the same in all rows that come, as in
  // a dump, and the last ones are the tag.
  static uint32_t home(const Segment& s, uint64_t hash) {
    return static_cast<uint32_t>((((hash >> 8) & 0xffffffffu) * s.buckets) >> 32);
  }
  static Bucket& bucket_at(const Segment& s, uint32_t b) {
    return s.index[b / buckets_per_block][b % buckets_per_block];
  }
  std::byte* row_at(const Segment& s, uint32_t row) const {
    return s.blocks[row >> row_shift_] + (row & row_mask_) * row_bytes_;
  }
  static uint32_t next_bucket(uint32_t bucket, uint32_t buckets) {
    return bucket + 1 == buckets ? 0 : bucket + 1;
  }
  Slot slot_of(const Segment& s, uint64_t hash, uint64_t id) const;
  uint32_t split_at(const Segment& s) const;
  void split(Segment& s);
  void reindex(Segment& s, uint32_t rows);
  void rebuild_index(Segment& s);
  void divide_index(Segment& s, Segment& other, Segment& spare);
  uint32_t part_rows(Segment& s, uint64_t bit);
  static void add_slot(Segment& s, uint64_t hash, uint32_t row);
  void release(Segment& s);

  size_t row_bytes_;
  uint32_t row_shift_ = 0, row_mask_ = 0;  // rows per block, a power of 2
  uint32_t most_rows_ = 0;                 // of a segment
  BlockPool index_pool_, row_pool_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::vector<Segment*> directory_;  // by the first depth_ bits of the hash
  int depth_ = 0;
  size_t size_ = 0;
  uint64_t places_ = 0;
};

template <class F>
void RowStore::find_each(std::span<const uint64_t> ids, size_t bytes, const F& f) const {
  if (size_ == 0) {  // only then a segment may have no index
    for (size_t i = 0; i < ids.size(); ++i) f(i, static_cast<std::byte*>(nullptr));
    return;
  }
  Group groups[3];
  size_t late[2 * Group::most], lates = 0;  // those that are neither in their bucket nor behind it
  const auto finish_late = [&] {
    for (size_t k = 0; k < lates; ++k) f(late[k], find(ids[late[k]]));
    lates = 0;
  };
  const auto finish = [&](const Group& g) {
    for (size_t k = 0; k < g.count; ++k) {
      const size_t i = g.begin + k;
      if (g.rows[k] && head_of(g.rows[k])->id == ids[i]) [[likely]]
        f(i, g.rows[k]);
      else if (std::byte* row = other_row(g, k, ids[i]))
        f(i, row);
      else if (g.buckets[k]->passed > 0)
        late[lates++] = i;
      else
        f(i, row);
    }
    if (lates > Group::most) finish_late();
  };
  const size_t count = (ids.size() + Group::most - 1) / Group::most;
  for (size_t turn = 0; turn < count + 2; ++turn) {
    if (turn < count) start(ids, turn * Group::most, groups[turn % 3]);
    if (turn > 0 && turn <= count) aim(groups[(turn - 1) % 3], bytes);
    if (turn > 1) finish(groups[(turn - 2) % 3]);
  }
  finish_late();
}

template <class F>
bool RowStore::visit(uint64_t& from, const F& f) const {
  uint32_t row = 0;
  return visit_some(from, row, ~size_t{0}, f);
}

template <class F>
bool RowStore::visit_some(uint64_t& from, uint32_t& row, size_t most, const F& f) const {
  const Segment& s = segment_of(from);
  for (; row < s.rows && most > 0; ++row, --most) f(static_cast<const std::byte*>(row_at(s, row)));
  if (row < s.rows) return true;
  row = 0;
  from = s.depth == 0 ? 0 : s.first + (uint64_t{1} << (64 - s.depth));
  return from != 0;
}

}  // namespace paddle
