// A snapshot that another thread reads, so that the shard's own thread answers others meanwhile.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pserver/context.h"
#include "pserver/snapshot_maker.h"

namespace paddle {

class SnapshotLoad {
 public:
  struct Asked {
    PeerId peer;
    uint64_t id;
    wire::Rollback what;
  };

  // Begins to read the snapshot of `what.step`; `by` asked first.
  SnapshotLoad(const Context& context, SnapshotMaker& maker, std::string by,
               const wire::Rollback& what);

  bool done() const { return result_->done; }
  // Once done: what was read, or why it cannot be used.
  Snapshot& snapshot() const { return *result_->snapshot; }
  const std::string& problem() const { return result_->problem; }

  const wire::Rollback what;
  const std::string by;
  std::vector<Asked> asked = {};  // who is answered in the end

 private:
  struct Result {  // the other thread's until `done`
    std::optional<Snapshot> snapshot;
    std::string problem;
    std::atomic<bool> done = false;
  };
  std::shared_ptr<Result> result_ = std::make_shared<Result>();  // shared with the other thread
};

}  // namespace paddle
