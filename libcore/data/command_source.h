// The output of a command that was given a file on its standard input.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "data/byte_source.h"

namespace paddle {

struct HdfsConfig {  // how `hadoop fs` reaches hdfs: and afs: paths; empty: as it is configured
  std::string name, ugi;
  // Where it is set, it is called with the path in place of `hadoop fs` and prints the file.
  std::string download_command = {};
};

// What `sh -c command` prints when `file` is its standard input: as it stands, unpacked first where
// its name ends in .gz, .xz or .zst, or through `hadoop fs` where it begins with hdfs: or afs:. The
// command "cat" starts no process for local files. read() throws Error(data) at the end where the
// command failed. Once `stop` is true, a read that waits for a slow command throws Error(io) within
// 200 ms. Throws Error(io) where there is no such file.
// A command that prints nothing for `quiet_seconds` is reported in the log, once.
std::unique_ptr<ByteSource> open_command(const std::string& command, const std::string& file,
                                         const HdfsConfig& hdfs = {},
                                         std::shared_ptr<const std::atomic<bool>> stop = nullptr,
                                         double quiet_seconds = 30);

}  // namespace paddle
