#include "pserver/snapshot_maker.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace paddle {
namespace {

constexpr size_t max_unwritten = 2;  // one is being written, one waits
constexpr size_t all_bytes = ~size_t{0};

// Changes are added to a snapshot that is known to be written: tables are dumped no sooner.
bool is_behind(size_t unwritten, bool tables) { return unwritten >= (tables ? 1 : max_unwritten); }

}  // namespace

SnapshotMaker::SnapshotMaker(SnapshotDisk* disk, const SnapshotOptions& options)
    : disk_(disk), options_(options), period_(options.period) {
  if (disk_) steps_ = disk_->steps();
}

void SnapshotMaker::watch(const Store* store, bool sync, Begin begin,
                          std::function<std::vector<uint64_t>(size_t)> steps,
                          const Snapshot* from) {
  pending_.clear();
  for (Write& w : unwritten_) w.chains.clear();
  chains_.assign(store ? store->tables().size() : 0, {});
  store_ = store;
  sync_ = sync;
  begin_ = std::move(begin);
  steps_of_ = std::move(steps);
  last_ = also_ = ~uint64_t{0};
  if (store)
    for (const Versioned* v : store->parts()) last_ = std::min(last_, v->version());
  for (size_t i = 0; from && i < from->tables.size() && i < chains_.size(); ++i) {
    TableChain& chain = chains_[i];
    for (const DumpRecord& d : from->tables[i].dumps)
      chain = extended(chain, d.since > 0, from->step, d.mark, d.file.bytes);
    if (store->tables()[i]->table().continue_dumps() != chain.mark) chain = {};
  }
}

// Leaving a snapshot out would be quicker, but shards that leave out different ones have no common
// step to go back to.
bool SnapshotMaker::must_wait(uint64_t version) {
  if (!disk_ || !sync_ || (version % period_ != 0 && version != also_)) return false;
  const bool begun = std::any_of(pending_.begin(), pending_.end(),
                                 [&](const Pending& p) { return p.snapshot.step == version; });
  if (begun) return false;
  if (dumping()) return true;  // a table is dumped once at a time
  if (!is_behind(unwritten_.size(), !chains_.empty())) return false;
  if (!said_slow_)
    log_warn(
        text("the disk is slower than the snapshots, and updates wait for it: a longer "
             "--snapshot_period than ",
             period_, " helps"));
  said_slow_ = true;
  return true;
}

void SnapshotMaker::advanced(const Versioned& slice, uint64_t lowest) {
  if (!disk_) return;
  if (!sync_) {
    catch_up(lowest);
    if (lowest >= last_ + 2 * period_ && !std::exchange(said_slow_, true))
      log_warn(text("the disk is slower than the snapshots: if this pserver is lost, more than ",
                    period_, " updates are; a longer --snapshot_period helps"));
    return;
  }
  if (slice.version() % period_ != 0 && slice.version() != also_) return;
  Pending& to = pending(slice.version(), false);
  copy(to, slice);
  if (to.left == 0) finish(to);
}

void SnapshotMaker::catch_up(uint64_t lowest) {
  const bool due = disk_ && store_ && !sync_ && lowest >= last_ + period_;
  if (due && pending_.empty() && !is_behind(unwritten_.size(), !chains_.empty())) begin_all(lowest);
}

bool SnapshotMaker::add(uint64_t step, bool now) {
  if (!now) also_ = step;
  if (now && (!pending_.empty() || is_behind(unwritten_.size(), !chains_.empty()))) return false;
  if (now) begin_all(step);
  return true;
}

void SnapshotMaker::begin_all(uint64_t step) {
  if (!disk_) return;
  last_ = step;
  Pending& to = pending(step, true);
  for (const auto& t : store_->tables()) copy(to, *t);
  if (to.left == 0) finish(to);
}

// The snapshot of `step` that is being put together, begun where there is none.
SnapshotMaker::Pending& SnapshotMaker::pending(uint64_t step, bool all) {
  for (Pending& p : pending_)
    if (p.snapshot.step == step) {
      p.all = p.all || all;
      return p;
    }
  Pending& p = pending_.emplace_back();
  p.all = all;
  p.left = store_->parts().size();
  p.copied.assign(p.left, false);
  p.snapshot = begin_(step);
  p.snapshot.variables = store_->variables();
  p.snapshot.values.resize(p.snapshot.variables.size());
  p.snapshot.slices.resize(store_->slices().size());
  p.snapshot.tables.resize(store_->tables().size());
  p.chains.resize(store_->tables().size());
  p.dumped.resize(store_->tables().size());
  return p;
}

size_t SnapshotMaker::copy(Pending& to, const Versioned& part) {
  const size_t place = part.info().place, slices = store_->slices().size();
  if (to.copied[place]) return 0;
  to.copied[place] = true;
  if (place < slices) return copy_slice(to, store_->slices()[place]);
  begin_dump(to, *store_->tables()[place - slices]);
  return 0;
}

void SnapshotMaker::begin_dump(Pending& to, TablePart& table) {
  for (Pending& p : pending_)  // only where a shard stops: else updates wait for it
    if (&p != &to) dump_some(p, true);
  const size_t place = table.info().place, index = place - store_->slices().size();
  Table& rows = table.table();
  const TableChain& chain = to.chains[index] = chains_[index];
  const bool changes =
      disk_->shares_files() && rows.knows_changes_since(chain.mark) &&
      dump_changes(chain, rows.changed() * rows.format().layout.row_bytes(), options_.changes);
  const uint64_t since = changes ? chain.mark : 0;
  to.snapshot.tables[index] = {.info = table.table_info(),
                               .version = table.version(),
                               .steps = sync_ ? std::vector<uint64_t>{} : steps_of_(place),
                               .dump = disk_->begin_dump(to.snapshot.step, index),
                               .base = changes ? chain.step : 0,
                               .since = since,
                               .mark = rows.begin_dump(since),
                               .dumps = {}};
  to.dumps.push_back(index);
}

// The next part of a dump; or all of them, at the disk's speed, so that the rows are not in memory
// twice.
void SnapshotMaker::dump_some(Pending& to, bool all) {
  do {
    if (to.dumps.empty()) return;
    const size_t index = to.dumps.back();
    TableDump& dump = *to.snapshot.tables[index].dump;
    Table& table = store_->tables()[index]->table();
    if (all) dump.wait_for_disk();
    PartBytes chunk = dump.spare();
    if (table.dump_part(chunk)) {
      to.dumped[index] += chunk.size();
      dump.add(std::move(chunk));
    } else {
      table.end_dump();
      to.dumps.pop_back();
      --to.left;
    }
  } while (all);
}

bool SnapshotMaker::dumping() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const Pending& p) { return !p.dumps.empty(); });
}

size_t SnapshotMaker::copy_slice(Pending& to, const Slice& slice) {
  const size_t place = slice.info().place;
  size_t bytes = 0;
  for (const uint32_t i : store_->variables_of(slice)) {
    if (!to.snapshot.values[i].empty()) continue;  // several slices share it
    to.snapshot.values[i] = store_->value(i).clone();
    bytes += store_->value(i).bytes();
  }
  to.snapshot.slices[place] = {slice.info(), slice.version(),
                               sync_ ? std::vector<uint64_t>{} : steps_of_(place)};
  --to.left;
  return bytes;
}

void SnapshotMaker::before_change(const Versioned& slice) {
  for (Pending& p : pending_)
    if (p.all) copy(p, slice);  // finished by proceed()
}

bool SnapshotMaker::unfinished() const {
  return dumping() || std::any_of(pending_.begin(), pending_.end(),
                                  [](const Pending& p) { return p.all || p.left == 0; });
}

bool SnapshotMaker::proceed(size_t bytes) {
  const bool all = bytes == all_bytes;
  constexpr size_t per_slice = 1024;  // the work besides its bytes
  for (auto at = pending_.begin(); at != pending_.end();) {
    Pending& p = *at++;
    for (; p.all && p.left > 0 && p.next < p.copied.size(); ++p.next) {
      if (bytes == 0) return true;
      const size_t done = copy(p, *store_->parts()[p.next]) + per_slice;
      bytes -= std::min(bytes, done);
    }
    if (all) dump_some(p, true);
    while (!p.dumps.empty()) {
      if (p.snapshot.tables[p.dumps.back()].dump->waits_for_disk()) break;
      if (bytes == 0) return true;
      dump_some(p);
      bytes = 0;  // a part takes a few milliseconds
    }
    if (p.left == 0) finish(p);
  }
  return false;
}

// What belongs to no slice is the same for all of them, or a count of updates.
void SnapshotMaker::finish(Pending& done) {
  Snapshot& s = done.snapshot;
  for (size_t i = 0; i < s.values.size(); ++i) {
    if (s.values[i].empty()) s.values[i] = store_->value(i).clone();
    const auto count = store_->schedule().counter_at(s.variables[i].name, s.step);
    if (count) write_number(s.values[i], *count);
  }
  Snapshot out = std::move(s);
  Write write{.step = out.step};
  for (size_t i = 0; i < out.tables.size(); ++i)
    write.chains.push_back(extended(done.chains[i], out.tables[i].since > 0, out.step,
                                    out.tables[i].mark, done.dumped[i]));
  pending_.remove_if([&](const Pending& p) { return &p == &done; });
  unwritten_.push_back(std::move(write));
  disk_->write(std::move(out));
}

void SnapshotMaker::written(uint64_t step, bool ok) {
  const bool counts = unwritten_.empty() || unwritten_.front().counts;
  if (!unwritten_.empty()) {
    const std::vector<TableChain> chains = std::move(unwritten_.front().chains);
    unwritten_.pop_front();
    // One that failed may have lacked what it was added to: the next one is whole.
    for (size_t i = 0; i < chains.size() && i < chains_.size(); ++i)
      chains_[i] = ok && counts ? chains[i] : TableChain{};
  }
  if (!ok || !counts || std::count(steps_.begin(), steps_.end(), step) > 0) return;
  steps_.insert(std::upper_bound(steps_.begin(), steps_.end(), step), step);
  if (steps_.size() > options_.keep)
    steps_.erase(steps_.begin(), steps_.end() - static_cast<std::ptrdiff_t>(options_.keep));
}

void SnapshotMaker::set_aside(uint64_t step) {
  disk_->set_aside(step);
  std::erase(steps_, step);
}

void SnapshotMaker::remove_after(uint64_t step) {
  if (!disk_) return;
  disk_->remove_after(step);
  std::erase_if(steps_, [&](uint64_t s) { return s > step; });
  for (Write& w : unwritten_) w.counts = w.counts && w.step <= step;
}

void SnapshotMaker::begin_job() {
  if (!disk_) return;
  disk_->begin_job();
  steps_.clear();
  for (Write& w : unwritten_) w.counts = false;
}

void SnapshotMaker::mark_ended(const EndedJob& job) {
  if (!disk_) return;
  disk_->mark_ended(job);
  steps_.clear();
  for (Write& w : unwritten_) w.counts = false;
}

}  // namespace paddle
