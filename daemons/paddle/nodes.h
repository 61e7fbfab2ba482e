// The machines of a job that `paddle launch` is started on each of, by a person or by srun.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "options/environment.h"
#include "options/options.h"

namespace paddle {

struct Nodes {
  std::vector<std::string> names;
  size_t rank = 0;  // of this machine
  const std::string& own() const { return names[rank]; }
};

// By --nodes and --node_rank, or with --slurm by the variables of srun. Nothing for a job of this
// machine alone. Throws Error(config).
std::optional<Nodes> nodes_of(const Options& options, const Environment& environment);

// The hosts of a list as Slurm writes it: "a[01-03,7],b" is a01 a02 a03 a7 b. Throws Error(config).
std::vector<std::string> expand_hosts(const std::string& list);

// Keeps a second launch out of a workspace. Processes of an earlier run that still live there are
// named, and waited for: those of a launcher that is gone end by themselves.
class WorkspaceLock {
 public:
  // Throws Error(io) where the other one does not end in time.
  explicit WorkspaceLock(const std::string& workspace);

 private:
  Descriptor file_;
};

// Whether the one who started this process is still there: its bytes come in on `descriptor`.
class InputWatch {
 public:
  explicit InputWatch(int descriptor) : descriptor_(descriptor) {}
  // "" while it is; else why it is taken to be gone. `now` is in seconds.
  std::string gone(double now);

 private:
  const int descriptor_;
  double heard_ = -1;
};

}  // namespace paddle
