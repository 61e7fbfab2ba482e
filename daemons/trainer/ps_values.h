// Whole values to and from the shards: the first ones, and those that are saved.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/transpile.h"
#include "tensor/scope.h"
#include "trainer/ps_join.h"
#include "trainer/ps_links.h"

namespace paddle {

// Of all values that shards are given.
std::string digest_of_values(const Cut& cut, const Scope& scope);

// Configures a shard and sends it its values; `id` is that of the message which Ack answers. `kept`
// stays until then.
using SentRows = std::vector<std::vector<std::byte>>;
void send_first_values(Links& links, size_t shard, uint64_t id, const Cut& cut, const Scope& scope,
                       const JoinDecision& decision, const std::string& init, SentRows& kept);

// Waits until the second holds; the first completes "waiting for …".
using WaitUntil =
    std::function<void(const std::function<std::string()>&, const std::function<bool()>&)>;

// Parameters and optimizer state of all shards into the scope. Returns the number of updates in
// them, the lowest where slices differ.
uint64_t collect_values(Links& links, const Cut& cut, const Scope& scope, const WaitUntil& wait);

}  // namespace paddle
