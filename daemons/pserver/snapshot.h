// A snapshot: all that a shard holds at one step, as a directory that appears complete or not at
// all. schemas/snapshot.fbs and schemas/README.md describe the files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pserver/store.h"
#include "pserver/table_dump.h"
#include "wire/messages.h"

namespace paddle {

struct SnapshotSlice {
  SliceInfo info;
  uint64_t version = 0;
  std::vector<uint64_t> steps;  // async: of each trainer, that are in the values
};

// A dump of a table in a snapshot, as the manifest says.
struct DumpRecord {
  TableDump::Sum file;
  uint64_t since = 0, mark = 0;  // Table::begin_dump
  bool operator==(const DumpRecord&) const = default;
};

struct SnapshotTable {
  TableInfo info;
  uint64_t version = 0;
  std::vector<uint64_t> steps;  // as of a slice
  // While it is made: the last one alone, of what changed since the mark `since` of the snapshot of
  // `base`, or of everything (0). Read: all of them.
  std::shared_ptr<TableDump> dump;
  uint64_t base = 0, since = 0, mark = 0;
  std::vector<DumpRecord> dumps;  // a whole one, then changes
};

struct SnapshotMember {
  bool finished = false;
  std::optional<wire::LastPush> last_push;
};

// What trainers of a job must agree on; a snapshot belongs to one job.
struct Identity {
  std::string job, program;  // name and digest of the whole training program
  std::string set_by;        // process, for sentences
  wire::Mode mode = wire::Mode::sync;
  uint32_t trainers = 0, shard = 0, shards = 0;
  std::string outline;  // of the program; not in a snapshot
};

struct Snapshot {
  Identity identity;
  std::string init, configured_by;
  uint64_t epoch = 0, step = 0;
  std::vector<wire::Origin> origins = {};  // of the values; the process that wrote it comes last
  std::shared_ptr<const std::string> program;  // of the shard, as schemas/program.fbs; shared with
                                               // the job and other snapshots of it
  std::vector<SnapshotSlice> slices;
  std::vector<SnapshotTable> tables;
  std::vector<SnapshotMember> members;
  std::vector<KeptVariable> variables;
  std::vector<Tensor> values;  // in the order of the variables
};

// "step-000000000100"
std::string snapshot_name(uint64_t step);

// Takes the dumps of its tables. Where one holds changes, the files of those before it are shared
// with the snapshot that they are changes to, which stands in the same directory: so each snapshot
// is complete in itself, whatever happens to others. Throws Error(io), and Error(data) where that
// snapshot is not what the changes were made for.
void write_snapshot(const std::string& directory, Snapshot& snapshot);

// When the rows of tables are compared with their checksums: before anything is used, or as they
// are read, so that some are in use already when damage is found.
enum class DumpCheck { first, while_reading };
// All else is compared first. Throws Error(data) where it is damaged.
Snapshot read_snapshot(const std::string& directory, DumpCheck when = DumpCheck::first);

// The content of the file `manifest`: all but the values. `offsets` are those of the values, in the
// order of the variables. read_manifest() throws Error(data).
struct ValueRecord {
  uint64_t offset = 0, bytes = 0;
  uint32_t crc32 = 0;
  bool operator==(const ValueRecord&) const = default;
};
std::string write_manifest(const Snapshot& snapshot, const std::vector<ValueRecord>& values);
Snapshot read_manifest(std::string_view bytes, const std::string& name,
                       std::vector<ValueRecord>& values);

}  // namespace paddle
