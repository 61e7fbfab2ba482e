// Whole values to and from the shards: the first ones, and those that are saved.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/shard_values.h"
#include "graph/transpile.h"
#include "tensor/scope.h"
#include "trainer/ps_join.h"
#include "trainer/ps_links.h"
#include "trainer/table_rows.h"

namespace paddle {

// Of all values that shards are given.
std::string digest_of_values(const Cut& cut, const Scope& scope);

// The first values of one shard, on their way: its configuration, its slices, and the rows of its
// tables, as many at a time as are allowed.
class FirstValues {
 public:
  // Sends the configuration and the slices. The scope stays as it is while this lives.
  FirstValues(Links& links, size_t shard, const Cut& cut, std::shared_ptr<const Scope> scope,
              const JoinDecision& decision, const std::string& init);
  // Sends what may be sent; true once the shard has answered the last message. Throws Error where
  // rows cannot be read.
  bool advance();

 private:
  struct Table {
    uint32_t id = 0;
    std::unique_ptr<FirstRowsSource> rows;
  };
  struct Sent {
    uint64_t id = 0;
    std::vector<std::byte> bulk;
  };
  void send_slices(const std::vector<ShardValue>& values);

  Links& links_;
  const size_t shard_;
  const std::shared_ptr<const Scope> scope_;
  const uint64_t epoch_;
  std::vector<Table> tables_;  // that have rows to send, the last one first
  std::deque<Sent> sent_;      // and not answered
  uint64_t last_ = 0;          // the message whose answer is the end; 0 while it is not sent
};

// Waits until the second holds; the first completes "waiting for …".
using WaitUntil =
    std::function<void(const std::function<std::string()>&, const std::function<bool()>&)>;

// Parameters and optimizer state of all shards into the scope, but for tables with is_distributed.
// Returns the number of updates in them, the lowest where slices differ.
uint64_t collect_values(Links& links, const Cut& cut, const Scope& scope, uint64_t epoch,
                        const WaitUntil& wait);
// Of these, tables with is_sparse alone. `updated`: the shards run the optimizer, so that its
// numbers follow from the number of updates. Returns the lowest of their versions.
uint64_t collect_arrays(Links& links, const Cut& cut, const Scope& scope, uint64_t epoch,
                        const WaitUntil& wait, bool updated);
// A table as a file has it (exec/table_stream.h), from the shards that keep it, part by part.
void collect_table(Links& links, const Cut& cut, size_t table, uint64_t epoch,
                   const TableWriter::Sink& sink, const WaitUntil& wait);

}  // namespace paddle
