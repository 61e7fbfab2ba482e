// A dump is a sequence of parts. A part is, in this order and little-endian: the head below, the
// ids that were removed (8 bytes each), the rows as the table keeps them (head, values, state).
// Rows come by hash, so parts can be read into any number of shards. A dump holds the rows as they
// were when it began: a row that changes before it is written is copied first (Table::keep_old).
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "table/checksum.h"
#include "table/dump_state.h"
#include "table/table.h"

namespace paddle {
namespace {

constexpr char dump_magic[8] = {'P', 'S', 'T', 'A', 'B', 'L', 'E', '1'};
constexpr size_t part_target = size_t{4} << 20;  // bytes after which a part is closed
constexpr size_t part_scan = size_t{128} << 10;  // rows looked at after which it is closed

struct PartHead {
  char magic[8];
  uint64_t checksum;  // of all that follows
  uint64_t kind;      // what rows look like: kind_of()
  uint64_t rows, removed;
  uint32_t clock, since;  // it holds the updates after `since` up to `clock`
  uint32_t part;          // counted from 0
  uint32_t last;          // 1 = no part follows
  uint32_t row_bytes, zero;
};
static_assert(sizeof(PartHead) == 64);
constexpr size_t summed_from = offsetof(PartHead, kind);

// Tables whose rows mean the same have the same number: name, width, type, rule and state.
uint64_t kind_of(const TableOptions& o, int64_t states) {
  uint64_t kind = hash_text(o.name) ^ mix64(hash_text(o.rule));
  for (const int64_t n : {o.width, int64_t{o.bf16}, states})
    kind = mix64(kind ^ static_cast<uint64_t>(n));
  return kind;
}

void append(std::vector<std::byte>& to, const void* from, size_t bytes) {
  const size_t at = to.size();
  to.resize(at + bytes);
  std::memcpy(to.data() + at, from, bytes);
}

}  // namespace

uint64_t Table::begin_dump(uint64_t since) {
  require(!dump_, Error::Kind::config, "the table '", options_.name,
          "' is being dumped already; end that dump first");
  require(since <= clock_, Error::Kind::config, "the table '", options_.name, "' is at the mark ",
          clock_, " and cannot dump changes since the mark ", since);
  require(since == 0 || logs_removed_, Error::Kind::config, "the table '", options_.name,
          "' has not been dumped as a whole: there is nothing that changes could be added to");
  dump_ = std::make_unique<DumpState>(layout_.row_bytes(), old_budget_);
  dump_->clock = clock_;
  dump_->since = static_cast<uint32_t>(since);
  ++clock_;  // what is updated from now on is newer than the dump
  logs_removed_ = true;
  return dump_->clock;
}

bool Table::dump_part(std::vector<std::byte>& chunk) {
  require(dump_ != nullptr, Error::Kind::config, "the table '", options_.name,
          "' is not being dumped");
  DumpState& d = *dump_;
  chunk.clear();
  if (d.ended) return false;
  // A segment more than the target, so that the chunk does not grow while it is written.
  const size_t all = (store_.size() + d.saved.size()) * layout_.row_bytes() +
                     removed_.size() * sizeof(uint64_t) + sizeof(PartHead);
  chunk.reserve(std::min(5 * part_target, all));
  PartHead head{};
  std::memcpy(head.magic, dump_magic, sizeof head.magic);
  chunk.resize(sizeof head);
  if (d.part == 0 && d.since > 0)
    for (const RemovedId& r : removed_)
      if (r.clock > d.since && r.clock <= d.clock) {
        append(chunk, &r.id, sizeof r.id);
        ++head.removed;
      }
  const auto write = [&](const std::byte* row) {
    const uint32_t step = head_of(row)->step;
    if (step <= d.since) return;  // unchanged, or made after the dump began: 0
    append(chunk, row, layout_.row_bytes());
    ++head.rows;
  };
  size_t scanned = 0;
  while (!d.walked && chunk.size() < part_target && scanned < part_scan) {
    d.walked = !store_.visit(d.from, [&](const std::byte* row) {
      ++scanned;
      if (head_of(row)->step > d.clock) row = d.saved.find(head_of(row)->id);
      if (row) write(row);
    });
  }
  if (d.walked) {  // rows that were removed before they were written
    uint64_t from = 0;
    do {
    } while (d.saved.visit(from, [&](const std::byte* row) {
      if (!store_.find(head_of(row)->id)) write(row);
    }));
    d.ended = true;
  }
  head.kind = kind_of(options_, layout_.state_numbers);
  head.clock = d.clock;
  head.since = d.since;
  head.part = d.part++;
  head.last = d.ended;
  head.row_bytes = static_cast<uint32_t>(layout_.row_bytes());
  std::memcpy(chunk.data(), &head, sizeof head);
  head.checksum = checksum64(chunk.data() + summed_from, chunk.size() - summed_from);
  std::memcpy(chunk.data(), &head, sizeof head);
  return true;
}

void Table::end_dump() {
  if (!dump_) return;
  if (dump_->ended)  // the next one begins where this one stops
    std::erase_if(removed_, [&](const RemovedId& r) { return r.clock <= dump_->clock; });
  dump_.reset();
}

void Table::load_part(std::span<const std::byte> chunk, uint32_t shard, uint32_t shards) {
  const auto refuse_unless = [&](bool ok, const char* why) {
    require(ok, Error::Kind::data, "a part of a dump of the table '", options_.name, "' ", why,
            ": use another checkpoint");
  };
  PartHead head;
  refuse_unless(chunk.size() >= sizeof head, "is cut short");
  std::memcpy(&head, chunk.data(), sizeof head);
  refuse_unless(std::memcmp(head.magic, dump_magic, sizeof head.magic) == 0, "is none");
  refuse_unless(checksum64(chunk.data() + summed_from, chunk.size() - summed_from) == head.checksum,
                "is damaged: its checksum differs");
  refuse_unless(head.kind == kind_of(options_, layout_.state_numbers) &&
                    head.row_bytes == layout_.row_bytes(),
                "belongs to a table of another name, width, type or optimizer");
  const size_t content = chunk.size() - sizeof head;
  refuse_unless(head.removed <= content / 8 && head.rows <= content / head.row_bytes &&
                    head.removed * 8 + head.rows * head.row_bytes == content,
                "has another length than it says");
  refuse_unless(head.part == next_part_, "comes out of order, or one before it is missing");
  refuse_unless(head.part > 0 || head.since == 0 || head.since == loaded_mark_,
                "holds changes to another dump than the one that was read before it");
  const std::byte* at = chunk.data() + sizeof head;
  for (uint64_t i = 0; i < head.removed; ++i, at += 8) {
    uint64_t id;
    std::memcpy(&id, at, sizeof id);
    store_.erase(id);
  }
  read_rows({at, static_cast<size_t>(head.rows) * head.row_bytes}, shard, shards);
  next_part_ = head.last ? 0 : head.part + 1;
  if (head.last) {
    loaded_mark_ = head.clock;
    clock_ = std::max(clock_, head.clock + 1);
  }
}

void Table::read_rows(std::span<const std::byte> rows, uint32_t shard, uint32_t shards) {
  for (size_t at = 0; at < rows.size(); at += layout_.row_bytes()) {
    const std::byte* from = rows.data() + at;
    const uint64_t id = head_of(from)->id;
    if (shard_of(id, shards) != shard) continue;
    std::byte* row = store_.find(id);
    if (!row) {
      row = store_.insert(id);
      ++counters_.created;
    }
    std::memcpy(row, from, layout_.row_bytes());
  }
}

}  // namespace paddle
