#include "table/row_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/error.h"

namespace paddle {
namespace {

constexpr size_t block_target = size_t{8} << 10;     // bytes of a block of rows, at least
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

uint32_t most_rows_for(size_t blocks) {
  return static_cast<uint32_t>((blocks * block_slots - 1) * 95 / 107);
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
  for (const auto& s : segments_)
    lists += sizeof *s + (s->index.capacity() + s->blocks.capacity()) * sizeof(void*);
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
}

void RowStore::release(Segment& s) {
  for (Bucket* b : s.index) index_pool_.give(reinterpret_cast<std::byte*>(b));
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
  const uint32_t blocks = index_blocks(rows), had = static_cast<uint32_t>(s.index.size());
  const auto keep = [&](uint32_t count) {
    for (; s.index.size() > count; s.index.pop_back())
      index_pool_.give(reinterpret_cast<std::byte*>(s.index.back()));
  };
  s.index.reserve(blocks);
  try {
    while (s.index.size() < blocks)
      s.index.push_back(reinterpret_cast<Bucket*>(index_pool_.take()));
  } catch (...) {
    keep(had);
    throw;
  }
  keep(blocks);
  for (Bucket* b : s.index)
    std::memset(static_cast<void*>(b), 0, buckets_per_block * sizeof(Bucket));
  s.buckets = blocks * buckets_per_block;
  for (uint32_t r = 0; r < s.rows; ++r) add_slot(s, row_hash(head_of(row_at(s, r))->id), r);
}

// The rows with the next bit of the hash go to a segment of their own; the others close up.
void RowStore::split(Segment& s) {
  const uint64_t bit = uint64_t{1} << (63 - s.depth);
  uint32_t going = 0;
  for (uint32_t r = 0; r < s.rows; ++r) going += (row_hash(head_of(row_at(s, r))->id) & bit) != 0;
  auto other = std::make_unique<Segment>();
  other->first = s.first | bit;
  other->depth = s.depth + 1;
  const size_t blocks = (going + row_mask_) >> row_shift_;
  other->blocks.reserve(blocks);
  segments_.reserve(segments_.size() + 1);
  try {
    while (other->blocks.size() < blocks) other->blocks.push_back(row_pool_.take());
    reindex(*other, going);
    if (s.depth == depth_) {  // the directory doubles
      std::vector<Segment*> larger;
      larger.reserve(2 * directory_.size());
      for (Segment* d : directory_) larger.insert(larger.end(), 2, d);
      directory_ = std::move(larger);
      ++depth_;
    }
  } catch (...) {
    release(*other);
    throw;
  }
  uint32_t kept = 0;
  for (uint32_t r = 0; r < s.rows; ++r) {
    const std::byte* row = row_at(s, r);
    const uint64_t hash = row_hash(head_of(row)->id);
    if (hash & bit) {
      std::memcpy(row_at(*other, other->rows), row, row_bytes_);
      add_slot(*other, hash, other->rows++);
    } else if (const uint32_t to = kept++; to != r) {
      std::memcpy(row_at(s, to), row, row_bytes_);
    }
  }
  s.rows = kept;
  ++s.depth;
  while (s.blocks.size() > (kept + row_mask_) >> row_shift_) {
    row_pool_.give(s.blocks.back());
    s.blocks.pop_back();
  }
  const size_t places = size_t{1} << (depth_ - other->depth);
  std::fill_n(directory_.begin() + static_cast<long>((other->first >> 1) >> (63 - depth_)), places,
              other.get());
  segments_.push_back(std::move(other));
  reindex(s, std::min(kept, most_rows_for(s.index.size())));  // of the blocks that it has
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

// Asks for the row that the bucket behind the home of the id names, if it does.
void RowStore::aim_behind(uint64_t id) const {
  const uint64_t hash = row_hash(id);
  const Segment& s = segment_of(hash);
  const uint32_t bucket = home(s, hash);
  if (bucket_at(s, bucket).passed == 0) return;
  const Bucket& b = bucket_at(s, next_bucket(bucket, s.buckets));
  if (const uint32_t found = slots_with(b, tag_of(hash)))
    prefetch_line(row_at(s, b.rows[std::countr_zero(found)]));
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
