#include "table/row_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/error.h"

namespace paddle {
namespace {

constexpr size_t block_target = size_t{16} << 10;    // bytes of a block of rows, at least
constexpr size_t segment_target = size_t{12} << 20;  // bytes of a segment, at most
constexpr int deepest = 22;  // of a segment: the directory has at most 4 M entries
constexpr uint32_t block_slots = buckets_per_block * slots_per_bucket;

// Rows that an index of so many buckets may hold: 95 % of its slots.
uint32_t most_indexed(uint32_t buckets) { return buckets * slots_per_bucket * 95 / 100; }

// Blocks of index for so many rows, with a fifteenth to grow.
uint32_t index_blocks(uint32_t rows) {
  const uint64_t slots = uint64_t{rows} * 107 / 95 + 1;
  return static_cast<uint32_t>((slots + block_slots - 1) / block_slots);
}

uint32_t shift_for(size_t row_bytes) {
  uint32_t shift = 0;
  while ((row_bytes << shift) < block_target) ++shift;
  return shift;
}

}  // namespace

RowStore::RowStore(size_t row_bytes, MemoryLimit& budget)
    : row_bytes_(row_bytes),
      row_shift_(shift_for(row_bytes)),
      row_mask_((1u << row_shift_) - 1),
      most_rows_(static_cast<uint32_t>(
          std::clamp<size_t>(segment_target / row_bytes, 256, size_t{1} << 16))),
      index_pool_(buckets_per_block * sizeof(Bucket), budget),
      row_pool_(row_bytes << row_shift_, budget) {
  assert(row_bytes % 4 == 0 && row_bytes >= sizeof(RowHead));
  clear();
}

RowStore::~RowStore() = default;

size_t RowStore::bytes() const {
  size_t lists =
      directory_.capacity() * sizeof(Segment*) + segments_.capacity() * sizeof(segments_[0]);
  for (const auto& s : segments_) lists += sizeof *s + s->blocks.capacity() * sizeof(void*);
  return index_pool_.bytes() + row_pool_.bytes() + lists;
}

// Every segment may have a block of rows and of index that it fills by a row only, and a pool takes
// memory by steps. Segments hold a quarter of most_rows_ or more where there are several.
size_t RowStore::bytes_bound(size_t more) const {
  const size_t rows = size_ + more, splits = rows / (most_rows_ / 4) + segments_.size() + 2;
  const size_t index = rows * sizeof(Bucket) / slots_per_bucket * 107 / 95 + rows / 4;
  const size_t blocks = row_pool_.block_bytes() + 2 * index_pool_.block_bytes() + 512;
  const size_t steps = 2 * ((size_t{2} << 20) + row_pool_.block_bytes());
  return std::max(bytes(), rows * row_bytes_ + index + splits * blocks + steps);
}

void RowStore::clear() {
  for (const auto& s : segments_) release(*s);
  segments_.clear();
  segments_.push_back(std::make_unique<Segment>());
  directory_.assign(1, segments_[0].get());
  depth_ = 0;
  size_ = 0;
  ++places_;
}

// Segments of so many rows are split only where they get many more.
void RowStore::expect(size_t rows) {
  if (size_ > 0 || rows == 0) return;
  int depth = 0;
  while ((rows >> depth) > most_rows_ / 2 && depth < deepest) ++depth;
  const size_t count = size_t{1} << depth;
  const auto each = static_cast<uint32_t>(rows >> depth);
  clear();
  if (depth == 0) return;
  std::vector<std::unique_ptr<Segment>> made(count);
  std::vector<Segment*> directory(count);
  for (size_t k = 0; k < count; ++k) {
    made[k] = std::make_unique<Segment>();
    made[k]->depth = depth;
    made[k]->first = uint64_t{k} << (64 - depth);
    directory[k] = made[k].get();
  }
  segments_ = std::move(made);
  directory_ = std::move(directory);
  depth_ = depth;
  for (const auto& s : segments_) reindex(*s, each);
  row_pool_.expect(rows >> row_shift_);
}

void RowStore::release(Segment& s) {
  for (; s.index_blocks > 0; --s.index_blocks)
    index_pool_.give(reinterpret_cast<std::byte*>(s.index[s.index_blocks - 1]));
  for (std::byte* b : s.blocks) row_pool_.give(b);
}

std::byte* RowStore::find(uint64_t id) const {
  const uint64_t hash = row_hash(id);
  const Segment& s = segment_of(hash);
  const Slot at = slot_of(s, hash, id);
  return at.bucket ? row_at(s, at.bucket->rows[at.slot]) : nullptr;
}

// Between half of most_rows_ and all of it, another number for every segment: hashes fill all
// segments alike, and they must not all be split in the same moment.
uint32_t RowStore::split_at(const Segment& s) const {
  const uint64_t bits = mix64(s.first + static_cast<uint64_t>(s.depth)) >> 40;
  return most_rows_ / 2 + static_cast<uint32_t>(bits * (most_rows_ / 2) >> 24);
}

std::byte* RowStore::insert(uint64_t id) {
  const uint64_t hash = row_hash(id);
  Segment* s = &segment_of(hash);
  while (s->rows >= split_at(*s)) {
    require(s->depth < deepest, Error::Kind::data, "more than ", s->rows,
            " ids of a table have hashes with the same first ", deepest,
            " bits: such ids were chosen on purpose; the id ", id, " is refused");
    split(*s);
    s = &segment_of(hash);
  }
  if (s->rows + 1 > most_indexed(s->buckets)) reindex(*s, s->rows + 1);
  if (s->rows == s->blocks.size() << row_shift_) {
    s->blocks.reserve(s->blocks.size() + 1);
    s->blocks.push_back(row_pool_.take());
  }
  const uint32_t row = s->rows++;
  add_slot(*s, hash, row);
  ++size_;
  std::byte* made = row_at(*s, row);
  *head_of(made) = {id, 0, 0, 0};
  return made;
}

void RowStore::add_slot(Segment& s, uint64_t hash, uint32_t row) {
  for (uint32_t bucket = home(s, hash);; bucket = next_bucket(bucket, s.buckets)) {
    Bucket& b = bucket_at(s, bucket);
    if (const uint32_t empty = slots_with(b, 0)) {
      const int slot = std::countr_zero(empty);
      b.tags[slot] = tag_of(hash);
      b.rows[slot] = static_cast<uint16_t>(row);
      return;
    }
    if (b.passed < 255) ++b.passed;
  }
}

// An index for `rows` rows and a fifteenth more, made of the rows themselves, so that it needs only
// as many new blocks as it grows by. They are taken before anything changes.
void RowStore::reindex(Segment& s, uint32_t rows) {
  const uint32_t blocks = index_blocks(rows), had = s.index_blocks;
  const auto keep = [&](uint32_t count) {
    for (; s.index_blocks > count; --s.index_blocks)
      index_pool_.give(reinterpret_cast<std::byte*>(s.index[s.index_blocks - 1]));
  };
  assert(blocks <= Segment::most_index_blocks);
  try {
    for (; s.index_blocks < blocks; ++s.index_blocks)
      s.index[s.index_blocks] = reinterpret_cast<Bucket*>(index_pool_.take());
  } catch (...) {
    keep(had);
    throw;
  }
  keep(blocks);
  rebuild_index(s);
}

// Of the blocks that the segment has.
void RowStore::rebuild_index(Segment& s) {
  for (uint32_t k = 0; k < s.index_blocks; ++k)
    std::memset(static_cast<void*>(s.index[k]), 0, buckets_per_block * sizeof(Bucket));
  s.buckets = s.index_blocks * buckets_per_block;
  for (uint32_t r = 0; r < s.rows; ++r) add_slot(s, row_hash(head_of(row_at(s, r))->id), r);
}

// The rows whose hash has the bit move behind the others; returns how many others there are.
uint32_t RowStore::part_rows(Segment& s, uint64_t bit) {
  const auto goes = [&](uint32_t r) { return (row_hash(head_of(row_at(s, r))->id) & bit) != 0; };
  uint32_t begin = 0, end = s.rows;
  for (;; ++begin, --end) {
    while (begin < end && !goes(begin)) ++begin;
    while (begin < end && goes(end - 1)) --end;
    if (begin == end) return begin;
    std::byte* row = row_at(s, begin);
    std::swap_ranges(row, row + row_bytes_, row_at(s, end - 1));
  }
}

// The blocks of index that `s` and `spare` have, as `s` and `other` need them.
void RowStore::divide_index(Segment& s, Segment& other, Segment& spare) {
  const auto move_to = [](Segment& from, Segment& to) {
    to.index[to.index_blocks++] = from.index[--from.index_blocks];
  };
  const uint32_t own = index_blocks(s.rows), others = index_blocks(other.rows);
  while (s.index_blocks < own) move_to(spare, s);
  while (other.index_blocks < others) move_to(s.index_blocks > own ? s : spare, other);
  while (s.index_blocks > own) move_to(s, spare);
  rebuild_index(s);
  rebuild_index(other);
}

// The rows with the next bit of the hash go to a segment of their own. It gets the blocks in which
// they lie after they have changed places, so a split takes at most one block of rows and a few of
// index, which are there before anything changes.
void RowStore::split(Segment& s) {
  const uint64_t bit = uint64_t{1} << (63 - s.depth);
  auto other = std::make_unique<Segment>();
  other->first = s.first | bit;
  other->depth = s.depth + 1;
  other->blocks.reserve(s.blocks.size() + 1);
  segments_.reserve(segments_.size() + 1);
  Segment spare;  // what the two need in any case, beside what there is
  try {
    spare.blocks.push_back(row_pool_.take());
    for (; s.index_blocks + spare.index_blocks < index_blocks(s.rows) + 1; ++spare.index_blocks)
      spare.index[spare.index_blocks] = reinterpret_cast<Bucket*>(index_pool_.take());
    if (s.depth == depth_) {  // the directory doubles
      std::vector<Segment*> larger;
      larger.reserve(2 * directory_.size());
      for (Segment* d : directory_) larger.insert(larger.end(), 2, d);
      directory_ = std::move(larger);
      ++depth_;
    }
  } catch (...) {
    release(spare);
    throw;
  }
  ++places_;
  const uint32_t all = s.rows, kept = part_rows(s, bit);
  const auto blocks = static_cast<long>((kept + row_mask_) >> row_shift_);
  const uint32_t end = std::min(all, static_cast<uint32_t>(blocks) << row_shift_);
  other->blocks.assign(s.blocks.begin() + blocks, s.blocks.end());
  other->rows = all - end;
  for (uint32_t r = kept; r < end; ++r) {  // in the last block of the others
    if (other->rows == other->blocks.size() << row_shift_) {
      other->blocks.push_back(spare.blocks.back());
      spare.blocks.pop_back();
    }
    std::memcpy(row_at(*other, other->rows++), row_at(s, r), row_bytes_);
  }
  s.blocks.resize(static_cast<size_t>(blocks));
  s.rows = kept;
  ++s.depth;
  divide_index(s, *other, spare);
  release(spare);
  const size_t places = size_t{1} << (depth_ - other->depth);
  std::fill_n(directory_.begin() + static_cast<long>((other->first >> 1) >> (63 - depth_)), places,
              other.get());
  segments_.push_back(std::move(other));
}

// Where the index names the row of an id; null if there is none.
RowStore::Slot RowStore::slot_of(const Segment& s, uint64_t hash, uint64_t id) const {
  uint32_t bucket = home(s, hash);
  for (uint32_t tried = 0; tried < s.buckets; ++tried, bucket = next_bucket(bucket, s.buckets)) {
    Bucket& b = bucket_at(s, bucket);
    for (uint32_t found = slots_with(b, tag_of(hash)); found; found &= found - 1) {
      const int slot = std::countr_zero(found);
      if (head_of(row_at(s, b.rows[slot]))->id == id) return {&b, slot};
    }
    if (b.passed == 0) break;
  }
  return {};
}

// The lines of the index.
void RowStore::start(std::span<const uint64_t> ids, size_t begin, Group& g) const {
  g.begin = begin;
  g.count = std::min(Group::most, ids.size() - begin);
  for (size_t k = 0; k < g.count; ++k) {
    const uint64_t hash = row_hash(ids[begin + k]);
    const Segment& s = segment_of(hash);
    g.segments[k] = &s;
    g.numbers[k] = home(s, hash);
    g.buckets[k] = &bucket_at(s, g.numbers[k]);
    g.tags[k] = tag_of(hash);
  }
  for (size_t k = 0; k < g.count; ++k) prefetch_line(g.buckets[k]);
}

// The first `bytes` of the rows. For ids whose bucket was full (every twentieth), the bucket behind
// it is asked for first; if two rows of a bucket have the tag, both are asked for.
void RowStore::aim(Group& g, size_t bytes) const {
  const std::byte* asked[2 * Group::most];
  size_t count = 0, behind[Group::most], behinds = 0;
  const auto ask = [&](size_t k) {
    const Segment& s = *g.segments[k];
    const Bucket& b = *g.buckets[k];
    const uint32_t found = slots_with(b, g.tags[k]);
    g.rows[k] = nullptr;
    if (found) [[likely]] {
      asked[count++] = g.rows[k] = row_at(s, b.rows[std::countr_zero(found)]);
      if (const uint32_t others = found & (found - 1))
        asked[count++] = row_at(s, b.rows[std::countr_zero(others)]);
    } else if (s.rows < s.blocks.size() << row_shift_) {  // the place that it would get
      asked[count++] = row_at(s, s.rows);
    }
    return found != 0 || b.passed == 0;
  };
  const auto fetch = [&] {
    const size_t lines_end = (bytes - 1) / 64 * 64, alignment = row_bytes_ & (~row_bytes_ + 1);
    for (size_t at = 0; at <= lines_end; at += 64)
      for (size_t k = 0; k < count; ++k) prefetch_line(asked[k] + at);
    if (bytes - lines_end > alignment)  // the last byte may lie on another line
      for (size_t k = 0; k < count; ++k) prefetch_line(asked[k] + bytes - 1);
    count = 0;
  };
  for (size_t k = 0; k < g.count; ++k) {
    if (ask(k)) [[likely]]
      continue;
    g.numbers[k] = next_bucket(g.numbers[k], g.segments[k]->buckets);
    g.buckets[k] = &bucket_at(*g.segments[k], g.numbers[k]);
    prefetch_line(g.buckets[k]);
    behind[behinds++] = k;
  }
  fetch();
  for (size_t k = 0; k < behinds; ++k) ask(behind[k]);
  fetch();
}

// The row of an id that is not rows[k] but has the same tag and is in the same bucket, or null.
std::byte* RowStore::other_row(const Group& g, size_t k, uint64_t id) const {
  const Bucket& b = *g.buckets[k];
  uint32_t found = slots_with(b, g.tags[k]);
  while ((found &= found - 1) != 0) {
    std::byte* row = row_at(*g.segments[k], b.rows[std::countr_zero(found)]);
    if (head_of(row)->id == id) return row;
  }
  return nullptr;
}

bool RowStore::erase(uint64_t id) {
  const uint64_t hash = row_hash(id);
  Segment& s = segment_of(hash);
  const Slot at = slot_of(s, hash, id);
  if (!at.bucket) return false;
  const uint32_t number = at.bucket->rows[at.slot], last = s.rows - 1;
  at.bucket->tags[at.slot] = 0;
  for (uint32_t k = home(s, hash); &bucket_at(s, k) != at.bucket; k = next_bucket(k, s.buckets))
    if (Bucket& passed = bucket_at(s, k); passed.passed < 255) --passed.passed;
  if (number != last) {
    const std::byte* moved = row_at(s, last);
    const Slot of_moved = slot_of(s, row_hash(head_of(moved)->id), head_of(moved)->id);
    of_moved.bucket->rows[of_moved.slot] = static_cast<uint16_t>(number);
    std::memcpy(row_at(s, number), moved, row_bytes_);
  }
  ++places_;  // also of the last row: one that comes next may stand where a walk has been
  --s.rows;
  --size_;
  if (s.blocks.size() > (s.rows + row_mask_) >> row_shift_) {
    row_pool_.give(s.blocks.back());
    s.blocks.pop_back();
  }
  if (s.buckets > buckets_per_block && s.rows < most_indexed(s.buckets) / 2) reindex(s, s.rows);
  return true;
}

}  // namespace paddle
