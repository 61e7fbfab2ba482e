// A dump is a sequence of parts (part.h), which can be read into any number of shards. It holds the
// rows as they were when it began: a row that changes before it is written is copied first
// (Table::keep_old), and goes out with the next part, in front of rows that come by hash.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "table/dump_state.h"
#include "table/table.h"

namespace paddle {
namespace {

constexpr size_t part_scan = size_t{128} << 10;  // rows looked at after which a part is closed
constexpr size_t dump_scan = size_t{32} << 10;   // the same of a dump beside updates

}  // namespace

uint64_t Table::begin_dump(uint64_t since) {
  require(!dump_, Error::Kind::config, "the table '", options_.name,
          "' is being dumped already; end that dump first");
  require(since <= clock_, Error::Kind::config, "the table '", options_.name, "' is at the mark ",
          clock_, " and cannot dump changes since the mark ", since);
  require(since == 0 || knows_changes_since(since), Error::Kind::config, "the table '",
          options_.name, "' has no dump of the mark ", since, " that changes could be added to");
  dump_ = std::make_unique<DumpState>();
  dump_->clock = clock_;
  dump_->since = static_cast<uint32_t>(since);
  logged_from_ = since > 0 ? dump_->since : clock_;
  std::erase_if(removed_, [&](const RemovedId& r) { return r.clock <= logged_from_; });
  mark_ = clock_++;  // what is updated from now on is newer than the dump
  changed_ = 0;
  logs_removed_ = true;
  return dump_->clock;
}

uint64_t Table::continue_dumps() {
  logs_removed_ = mark_ > 0;
  return mark_;
}

bool Table::dump_part(std::vector<std::byte>& chunk) {
  require(dump_ != nullptr, Error::Kind::config, "the table '", options_.name,
          "' is not being dumped");
  DumpState& d = *dump_;
  chunk.clear();
  if (d.ended) return false;
  const size_t copied = d.changed.empty() ? 0 : d.changed.first().size();
  const size_t all = store_.size() * layout_.row_bytes() + copied +
                     removed_.size() * sizeof(uint64_t) + sizeof(PartHead);
  chunk.reserve(std::min(dump_target + layout_.row_bytes() + sizeof(PartHead), all));
  PartWriter out(format());
  out.begin(chunk, d.part);
  if (d.part == 0 && d.since > 0)
    for (const RemovedId& r : removed_)
      if (r.clock > d.since && r.clock <= d.clock) out.remove(r.id);
  if (!d.changed.empty()) {
    out.add_all(d.changed.first());
    d.changed.drop_first();
  }
  size_t scanned = 0;
  while (!d.walked && chunk.size() < dump_target && scanned < dump_scan) {
    size_t most =
        std::min((dump_target - chunk.size()) / layout_.row_bytes() + 1, dump_scan - scanned);
    // Rows have moved. The segment is written again, with the same rows, and now as a whole: it
    // must come to an end however often that happens.
    if (d.row > 0 && d.places != store_.places()) {
      d.row = 0;
      most = ~size_t{0};
    }
    d.places = store_.places();
    d.walked = !store_.visit_some(d.from, d.row, most, [&](const std::byte* row) {
      ++scanned;
      const uint32_t at = head_of(row)->step;  // 0: made since the dump began
      if (at > d.since && at <= d.clock) out.add(row);
    });
  }
  d.ended = d.walked && d.changed.empty();
  ++d.part;
  out.end(d.clock, d.since, d.ended);
  return true;
}

bool Table::copy_part(uint64_t& from, uint32_t part, std::vector<std::byte>& chunk) const {
  PartWriter out(format());
  chunk.reserve(std::min(5 * part_target, store_.size() * layout_.row_bytes() + sizeof(PartHead)));
  out.begin(chunk, part);
  bool more = true;
  for (size_t scanned = 0; more && !out.full() && scanned < part_scan;)
    more = store_.visit(from, [&](const std::byte* row) {
      ++scanned;
      out.add(row);
    });
  out.end(clock_, 0, !more);
  return more;
}

void Table::end_dump() { dump_.reset(); }

void Table::expect(size_t rows) {
  if (options_.memory_limit == 0) store_.expect(rows);
}

void Table::load_part(std::span<const std::byte> chunk, uint32_t shard, uint32_t shards) {
  const PartView part = read_part(chunk, format());
  const PartHead& head = part.head;
  const auto refuse_unless = [&](bool ok, const char* why) {
    require(ok, Error::Kind::data, "a part of a dump of the table '", options_.name, "' ", why,
            ": use another checkpoint");
  };
  refuse_unless(head.part == next_part_, "comes out of order, or one before it is missing");
  refuse_unless(head.part > 0 || head.since == 0 || head.since == loaded_mark_,
                "holds changes to another dump than the one that was read before it");
  for (uint64_t i = 0; i < head.removed; ++i) {
    uint64_t id;
    std::memcpy(&id, part.removed + i * sizeof id, sizeof id);
    store_.erase(id);
  }
  read_rows(part.rows, shard, shards);
  next_part_ = head.last ? 0 : head.part + 1;
  if (head.last) {
    loaded_mark_ = head.clock;
    clock_ = std::max(clock_, head.clock + 1);
    mark_ = logged_from_ = head.clock;
    logs_removed_ = false;
    changed_ = 0;
    removed_.clear();
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
