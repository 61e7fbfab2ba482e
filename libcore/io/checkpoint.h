// Checkpoints of training: a directory `pass-%05d` with the persistable variables as Fluid files,
// `train_state` (where training stands, and the checksums of the other files) and `done`, written
// last. A directory without `train_state` is an older model: it loads, but its position is unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/save.h"

namespace paddle {

struct TrainState {
  uint64_t step = 0;     // updates done
  uint64_t pass = 0;     // the pass to go on with, from 0
  uint64_t record = 0;   // records of that pass already used
  uint64_t samples = 0;  // samples seen in all passes
  std::vector<uint64_t> seeds;
  std::string program_digest;
  std::map<std::string, std::string> extra;
  bool operator==(const TrainState&) const = default;
};

// A file of a checkpoint as it was when it was written.
struct FileRecord {
  std::string name;
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
  bool operator==(const FileRecord&) const = default;
};

// The content of `train_state`. Throws Error(data) where it is damaged.
std::string write_train_state(const TrainState& state, const std::vector<FileRecord>& files = {});
TrainState read_train_state(std::string_view bytes, const std::string& name,
                            std::vector<FileRecord>* files = nullptr);

// "pass-00003", and for a save within a pass "pass-00003-002".
std::string pass_name(uint64_t pass, std::optional<uint64_t> part = {});

// A file that is too large for memory: `content` calls its argument with one piece after the other.
struct StreamedFile {
  std::string name;
  std::function<void(const std::function<void(std::string_view)>& write)> content;
};

// Writes the variables, the state, `streams` and `others` (name -> content) into `directory` and
// commits it, replacing what stood there.
void save_checkpoint(const std::string& directory, const VarList& vars, const ValueSource& values,
                     const TrainState& state, std::string_view done = "",
                     const std::map<std::string, std::string>& others = {},
                     const std::vector<StreamedFile>& streams = {});

// Loads all variables or none. Files are compared with their checksums first, so that damage is
// never trained on. No value where there is no `train_state`. A checkpoint (by its name or its
// `train_state`) that lacks `done` is refused: it was never finished. Any other directory with the
// variables will do, as fluid.io.save_persistables() makes them.
std::optional<TrainState> load_checkpoint(const std::string& directory, const VarList& vars,
                                          const ValueSink& sink);

// The finished checkpoints of `save_dir`, oldest first: names that pass_name() makes.
std::vector<std::string> list_checkpoints(const std::string& save_dir);

}  // namespace paddle
