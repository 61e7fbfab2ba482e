// Makes snapshots of a store while training goes on. In sync a snapshot is due at the same step on
// all slices and shards, and each slice is copied when it reaches that step. Otherwise, and for the
// first values, all slices are copied as they are at one moment: step by step, and whatever is
// about to change first. Tables are dumped from that moment on, part by part, while they change.
// Writing is the disk's.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <vector>

#include "pserver/snapshot_disk.h"
#include "pserver/store.h"

namespace paddle {

class SnapshotMaker {
 public:
  // A snapshot of the present moment with everything but slices and values.
  using Begin = std::function<Snapshot(uint64_t step)>;

  // Without a disk it makes none.
  SnapshotMaker(SnapshotDisk* disk, const SnapshotOptions& options);
  // The store that is copied from now on; null drops what was not finished. Async: `steps` says for
  // a slice how many steps of each trainer, in order of ids, are in it. Where the store was read
  // from a snapshot, the next one may add to its tables.
  void watch(const Store* store, bool sync, Begin begin,
             std::function<std::vector<uint64_t>(size_t place)> steps,
             const Snapshot* from = nullptr);

  bool on() const { return disk_ != nullptr; }
  // Steps that can be gone back to, rising.
  const std::vector<uint64_t>& steps() const { return steps_; }
  // The disk is slower than the snapshots: an update to this version waits until written().
  bool must_wait(uint64_t version);
  // The slice is about to change; it has changed, and `lowest` is the lowest version of all.
  void before_change(const Versioned& slice);
  void advanced(const Versioned& slice, uint64_t lowest);
  // One besides those of the period: of `step`, at which all slices stand `now`, or which (in sync)
  // none has reached yet. False where the disk is behind, and there is none of this moment.
  bool add(uint64_t step, bool now);
  // Begins a snapshot of all slices as they are now.
  void begin_all(uint64_t step);
  // Copies about `bytes` more of it, and one part of a table; whether there is more to do now.
  // Where a table waits for the disk, it goes on when that has written some. All bytes: everything.
  bool proceed(size_t bytes);
  bool unfinished() const;

  void written(uint64_t step, bool ok);
  // Async: begins the snapshot that was due while the disk was busy, as no update may come that
  // would.
  void catch_up(uint64_t lowest);
  Snapshot load(uint64_t step) { return disk_->load(step); }
  void set_aside(uint64_t step);
  void remove_after(uint64_t step);
  void begin_job();
  void mark_ended(const EndedJob& job);

 private:
  struct Pending {  // a snapshot that is being put together
    Snapshot snapshot;
    size_t left = 0;  // slices and tables
    bool all = false;
    size_t next = 0;                 // all: slices before this one are copied
    std::vector<bool> copied;        // by place; of tables: the dump has begun
    std::vector<size_t> dumps;       // tables whose dump is not whole yet
    std::vector<TableChain> chains;  // by table: what their dumps are added to
    std::vector<uint64_t> dumped;    // bytes, by table
  };
  Pending& pending(uint64_t step, bool all);
  size_t copy(Pending& to, const Versioned& part);
  size_t copy_slice(Pending& to, const Slice& slice);
  void begin_dump(Pending& to, TablePart& table);
  void dump_some(Pending& to, bool all = false);
  bool dumping() const;
  void finish(Pending& done);

  SnapshotDisk* disk_;
  const SnapshotOptions options_;
  const uint64_t period_;
  const Store* store_ = nullptr;
  bool sync_ = true;
  Begin begin_;
  std::function<std::vector<uint64_t>(size_t)> steps_of_;
  std::vector<uint64_t> steps_;
  std::list<Pending> pending_;
  uint64_t last_ = 0;             // async: step of the last one
  uint64_t also_ = ~uint64_t{0};  // sync: besides every `period_`
  struct Write {
    uint64_t step = 0;
    bool counts = true;              // false: it is removed as soon as it is written
    std::vector<TableChain> chains;  // with it; empty where the tables are no longer watched
  };
  std::vector<TableChain> chains_;  // by table, of the newest snapshot that is written
  std::deque<Write> unwritten_;     // handed to the disk
  bool said_slow_ = false;
};

}  // namespace paddle
