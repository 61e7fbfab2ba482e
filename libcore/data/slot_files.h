// Batches of MultiSlot text that a command makes of files: straight from the command to several
// users at once, or held in memory and shuffled.
#pragma once

#include <mutex>
#include <optional>

#include "data/command_source.h"
#include "data/line_format.h"

namespace paddle {

struct SlotSpec {
  std::vector<FieldSpec> slots;  // in the order of the line
  std::string command = "cat";   // open_command() says what it gets
  HdfsConfig hdfs;
  int64_t batch_size = 32;
  bool record_ids = false;  // lines begin with "1 <id of the record>"
  bool keeps_ids = false;   // SlotMemory only: for merge_by_id()
  // Set to make waiting readers end; shared with them.
  std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
  uint64_t memory_limit = uint64_t{64} << 30;  // SlotMemory only
};

// A list of files that several users take from; every file goes to one of them.
class FileList {
 public:
  explicit FileList(std::vector<std::string> files) : files_(std::move(files)) {}
  // The next one and its number, or nothing after the last.
  struct Item {
    std::string file;
    size_t index;
  };
  std::optional<Item> next();
  size_t size() const { return files_.size(); }

 private:
  std::mutex mutex_;
  std::vector<std::string> files_;
  size_t at_ = 0;
};

// One user's batches. A batch may span files; only the last one may be short. Not for two threads.
class SlotStream {
 public:
  // `files` outlives the stream.
  SlotStream(const SlotSpec& spec, FileList& files);
  // Fills `batch`; false after the last one. Throws Error(data or io).
  bool next(Batch& batch);

 private:
  bool open_next();

  SlotSpec spec_;
  FileList& files_;
  std::unique_ptr<LineFormat> format_;
  Columns columns_;
  std::unique_ptr<LineReader> lines_;
  std::vector<uint32_t> rows_;  // 0, 1, …
};

// The records that one of several processes with the same files takes, so that each belongs to one.
struct RecordShare {
  uint64_t seed = 0;  // another one gives another division
  uint32_t part = 0, parts = 1;
};
// Whether record `record` of file number `file` belongs to it. The same on every machine.
bool takes_record(const RecordShare& share, uint64_t file, uint64_t record);

// All records in memory, in the order of the files and their lines until they are shuffled.
class SlotMemory {
 public:
  explicit SlotMemory(const SlotSpec& spec);
  // Adds the records of all files, or a share of them, `threads` files at a time; returns how many
  // the files have. Lines of records that are not taken are not looked into. Throws what the first
  // bad one threw.
  int64_t load(const std::vector<std::string>& files, int threads, const RecordShare& share = {});
  // Makes a load() that another thread is in throw Error(io) soon.
  void stop() { *spec_.stop = true; }
  void shuffle_records(uint64_t seed);
  // Makes one record of those that were loaded with the same id since the last call: every slot is
  // that of the record which has something else than zeros there. Records are dropped, and a
  // warning says how many, where two of an id have the same slot, or where it has not `count` of
  // them (0: any number). What stays is in the order of the ids. Needs `keeps_ids`.
  void merge_by_id(size_t count);
  // Exchanges the values of these slots among the records, each slot by itself: what a model loses
  // by that is what the slot is worth to it. Throws Error(config) for a name that is no slot.
  void shuffle_slots(const std::vector<std::string>& names, uint64_t seed);
  int64_t size() const { return static_cast<int64_t>(order_.size()); }
  void clear();

  // A pass over the records: users on any thread take batches until next() returns false.
  void rewind();
  bool next(Batch& batch);

 private:
  SlotSpec spec_;
  Columns columns_;
  Columns ids_;  // of the last records; those before are merged
  std::vector<uint32_t> order_;
  std::mutex mutex_;
  size_t at_ = 0;
};

}  // namespace paddle
