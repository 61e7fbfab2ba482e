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

  // The row, or null. Addresses are good until the next insert(), erase() or clear().
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

  // f(row) for the rows of the segment in which `from` lies; then `from` is the first hash of the
  // next one. False if there is no next one. A walk that starts at 0 sees every row that is there
  // all the time exactly once, whatever is inserted and erased between calls; f must do neither.
  template <class F>
  bool visit(uint64_t& from, const F& f) const;

 private:
  struct alignas(64) Segment {  // what a lookup reads comes first
    std::vector<Bucket*> index;
    std::vector<std::byte*> blocks;
    uint32_t buckets = 0;  // whole blocks of them
    uint32_t rows = 0;
    uint64_t first = 0;  // its smallest hash
    int depth = 0;       // so many first bits are the same in all its hashes
  };
  struct Slot {
    Bucket* bucket = nullptr;
    int slot = 0;
  };
  struct Probe {  // of find_each(), on its way
    const Segment* segment;
    std::byte* row;
    uint32_t bucket;
    uint8_t tag;
  };

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
  void aim_behind(uint64_t id) const;
  uint32_t split_at(const Segment& s) const;
  void split(Segment& s);
  void reindex(Segment& s, uint32_t rows);
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
};

template <class F>
void RowStore::find_each(std::span<const uint64_t> ids, size_t bytes, const F& f) const {
  if (size_ == 0) {  // only then a segment may have no index
    for (size_t i = 0; i < ids.size(); ++i) f(i, static_cast<std::byte*>(nullptr));
    return;
  }
  constexpr size_t ring = 128, ahead = 24, row_ahead = 24;  // measured with table_bench
  Probe probes[ring];
  // Whether the last byte may lie on another line than the byte `bytes` rounded down to lines.
  const size_t lines_end = (bytes - 1) / 64 * 64, alignment = row_bytes_ & (~row_bytes_ + 1);
  const bool tail = bytes - lines_end > alignment;
  const auto start = [&](size_t i) {
    const uint64_t hash = row_hash(ids[i]);
    Probe& p = probes[i % ring];
    const Segment& s = segment_of(hash);
    p.segment = &s;
    p.bucket = home(s, hash);
    p.tag = tag_of(hash);
    prefetch_line(&bucket_at(s, p.bucket));
  };
  const auto aim = [&](size_t i) {
    Probe& p = probes[i % ring];
    const Bucket& b = bucket_at(*p.segment, p.bucket);
    const uint32_t found = slots_with(b, p.tag);
    p.row = found ? row_at(*p.segment, b.rows[std::countr_zero(found)]) : nullptr;
    if (!p.row) {  // the place that it would get
      if (const Segment& g = *p.segment; g.rows < g.blocks.size() << row_shift_)
        prefetch_line(row_at(g, g.rows));
      return;
    }
    for (size_t k = 0; k <= lines_end; k += 64) prefetch_line(p.row + k);
    if (tail) prefetch_line(p.row + bytes - 1);
  };
  // Where the first slot with the tag is not the one (every tenth row), the next place is asked for
  // and the row is looked up when some more of its kind are there.
  size_t late[64], lates = 0;
  const auto finish_late = [&] {
    for (size_t k = 0; k < lates; ++k) aim_behind(ids[late[k]]);
    for (size_t k = 0; k < lates; ++k) f(late[k], find(ids[late[k]]));
    lates = 0;
  };
  const auto finish = [&](size_t i) {
    const Probe& p = probes[i % ring];
    if (p.row && head_of(p.row)->id == ids[i]) [[likely]]
      return f(i, p.row);
    const Bucket& b = bucket_at(*p.segment, p.bucket);
    const uint32_t found = slots_with(b, p.tag), others = found & (found - 1);
    if (others)
      prefetch_line(row_at(*p.segment, b.rows[std::countr_zero(others)]));
    else if (b.passed > 0)
      prefetch_line(&bucket_at(*p.segment, next_bucket(p.bucket, p.segment->buckets)));
    else
      return f(i, static_cast<std::byte*>(nullptr));
    late[lates++] = i;
    if (lates == std::size(late)) finish_late();
  };
  const size_t n = ids.size();
  size_t started = 0, aimed = 0;
  while (started < n && started < ahead + row_ahead) {
    start(started++);
    if (started > ahead) aim(aimed++);
  }
  for (size_t i = 0; i < n; ++i) {
    if (started < n) start(started++);
    if (aimed < n) aim(aimed++);
    finish(i);
  }
  finish_late();
}

template <class F>
bool RowStore::visit(uint64_t& from, const F& f) const {
  const Segment& s = segment_of(from);
  for (uint32_t r = 0; r < s.rows; ++r) f(static_cast<const std::byte*>(row_at(s, r)));
  from = s.depth == 0 ? 0 : s.first + (uint64_t{1} << (64 - s.depth));
  return from != 0;
}

}  // namespace paddle
