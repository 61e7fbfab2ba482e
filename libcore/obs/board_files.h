// Event files that TensorBoard reads (--event_dir): the costs, evaluators and parameters that the
// events of a trainer tell, in DIR/trainer-ID/events.out.tfevents.*; docs/events.md has the tags.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "obs/event.h"

namespace paddle {

// The record format of these files: length, its checksum, bytes, their checksum.
std::string board_record(std::string_view bytes);
// CRC-32C of Castagnoli, as iSCSI has it.
uint32_t crc32c(std::string_view bytes);
// What the file gets for an event, as a message `Event` of TensorBoard; "" where there is nothing.
std::string board_event(const event::Any& event, double time);
// The first record of every file.
std::string board_version(double time);

// The file of one process: a new one each time it starts, so that what an earlier one wrote stays.
// Each record is one write, so a process that is killed leaves whole records. After start-up
// nothing here throws or blocks: what the disk does not take is lost, and the next record begins a
// file of its own.
class BoardFiles {
 public:
  // Makes the directory. Throws Error(io).
  explicit BoardFiles(const std::string& directory);

  // Any thread.
  void take(const event::Any& event);

 private:
  void open(double time);
  bool write(const std::string& record);

  std::mutex mutex_;
  const std::string directory_;
  int64_t trainer_ = 0;  // until it has an id it writes nothing
  uint64_t files_ = 0;   // opened so far
  Descriptor file_;
};

}  // namespace paddle
