// Where batches come from: records of one format, in an order that depends on nothing but the seed
// and the pass.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/value.h"
#include "tensor/tensor.h"

namespace paddle {

// One field of a record. A batch holds it as [samples, shape], or, with lod_level 1, as [total, 1]
// with offsets.
struct FieldSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape{1};  // of one sample, without the batch; with lod_level 1, of one of its elements
  int lod_level = 0;
  int64_t bound = -1;  // ids and classes lie in [0, bound); -1 = not known
};

struct Batch {
  std::vector<Tensor> fields;  // in the order of Reader::fields()
  int64_t samples = 0;
};

// A place between two records: `record` counts those already handed out in this pass, in its order.
struct Position {
  uint64_t pass = 0;
  uint64_t record = 0;
  bool operator==(const Position&) const = default;
};

// Not for two threads at once. A new reader stands at {0, 0}.
class Reader {
 public:
  virtual ~Reader() = default;

  virtual const std::vector<FieldSpec>& fields() const = 0;
  // Fills `batch`, false at the end of the pass. The memory of `batch` is used again where nothing
  // else holds it, so that a loop over fixed shapes allocates nothing. Throws Error(data or io).
  virtual bool next(Batch& batch) = 0;
  // Whether next() would give a batch at once: it neither waits, nor ends, nor throws.
  virtual bool ready() const { return false; }
  virtual Position position() const = 0;
  // The following next() gives what it would have given, had the reader come here by itself. Throws
  // Error(config) where this data has no such position.
  virtual void seek(Position position) = 0;
  // Records of one pass (of this shard); -1 where it is not known yet.
  virtual int64_t records() const = 0;
  // One sentence for the log: which records, from where.
  virtual std::string source() const = 0;
  // Whether the records were made by this program, as the known set was not found.
  virtual bool generated() const { return false; }

  void start_pass(uint64_t pass) { seek({pass, 0}); }
};

struct ReaderSpec {
  std::string format;  // one of data_formats()
  // None: the known set of that format, searched for and else generated.
  std::vector<std::string> files;
  bool test = false;  // the test part of a known set
  int64_t batch_size = 1;
  bool shuffle = false;
  uint64_t seed = 1;
  bool drop_last = false;  // leave out the short last batch of a pass
  // Record i belongs to the trainer i % trainer_count.
  uint32_t trainer_id = 0;
  uint32_t trainer_count = 1;
  // Where files are searched for, in this order; empty ones are left out.
  std::string data_dir;                       // the option
  std::string data_home;                      // the value of PADDLE_DATA_HOME
  std::string home;                           // of the user: its .cache/paddle/dataset
  std::vector<std::string> field_names;       // none: the format's own
  uint64_t memory_limit = uint64_t{4} << 30;  // bytes of records held; more is an Error(data)
  // Formats of one record per line: 0 holds all records in memory; else this many at a time,
  // shuffled among themselves, for files of any size. A multiple of batch_size.
  int64_t window = 0;

  // Formats of one record per line: how many lines that cannot be read are left out; -1 = any
  // number, 0 = the first one is an Error(data). With a `reject_file` they are written there.
  int64_t skip_bad_lines = 0;
  std::string reject_file;

  std::vector<std::string> test_files;  // what `files` are for the test part
  // The keys of the format, as in the "data" object of a job file.
  Dict keys;
};

// Throws Error(config) for what is wrong with a spec whatever the files hold: an unknown format, a
// batch size of 0, a key that the format does not have. open_reader() checks it too.
void check_spec(const ReaderSpec& spec);

// Throws Error(config) for a spec that makes no sense, Error(io) for a file that cannot be read,
// Error(data) with file:line for what is wrong inside one. Files are read whole, unless a
// window is set: then next() meets the bad lines.
std::unique_ptr<Reader> open_reader(const ReaderSpec& spec);

// Reads ahead: one thread keeps up to `depth` batches ready. position() is that of what was
// consumed, whatever is in flight; an error surfaces from the next() that would have given the
// batch, and again until seek().
std::unique_ptr<Reader> prefetch(std::unique_ptr<Reader> reader, int depth);

}  // namespace paddle
