// A store on its way: the configuration is read and checked, the slices are built, and values come
// in or are in a snapshot. For large programs another thread does the first part, so that the
// shard's own thread is free meanwhile; values that come too early are held.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pserver/context.h"
#include "pserver/inbox.h"
#include "pserver/store.h"

namespace paddle {

class Setup {
 public:
  // Of a configuration that `configurer` sent, and its program; its values follow. What is wrong
  // with it is thrown by proceed().
  Setup(const Context& context, std::shared_ptr<const wire::Configure> configure,
        std::shared_ptr<const std::string> program, bool sync, PeerId configurer, uint64_t id);
  // Of a snapshot, whose values are moved into the store. Throws Error(config) or Error(data).
  Setup(Snapshot& snapshot, ByteBudget* budget);

  PeerId configurer() const { return configurer_; }  // no_peer where values are not awaited
  // Where the bulk of a value lands.
  LandingPlace land(const wire::SetValue& set, uint64_t bulk);
  bool landing() const { return landing_; }
  // A whole value: why it makes no sense, or "". missing() tells of the last one.
  std::string set_value(uint64_t id, const wire::SetValue& set, uint64_t bulk);
  // The same for rows of a table.
  LandingPlace land(const wire::SetRows& set, uint64_t bulk);
  std::string set_value(uint64_t id, const wire::SetRows& set, uint64_t bulk);
  bool not_finite() const { return not_finite_; }  // the last one holds NaN or Inf

  // Builds more; true when store and values are complete. Throws Error(config).
  bool proceed();
  // Whether proceed() has something to do now: the other thread may still be at work.
  bool can_proceed() const;
  // The other thread has ended.
  bool made() const { return made_->done; }
  // The peer that is held because it sent values too early, once.
  PeerId take_held();
  // Values of the pserver itself take the place of those that came.
  void take_presets(const ShardOptions& options);
  std::unique_ptr<Store> take_store();
  uint64_t bytes() const { return expected_bytes_; }
  // All messages have come: "", or how much of the values did not.
  std::string missing() const;

  // Who is answered in the end: (peer, number of the request).
  std::vector<std::pair<PeerId, uint64_t>> asked;
  std::optional<Snapshot> snapshot;  // with empty values
  bool continues = false;            // the values of a trainer in the middle of its work
  uint64_t id = 0;                   // of the message that began it

 private:
  struct Made {  // by another thread until `done`
    std::unique_ptr<Store> store;
    std::string problem;
    std::atomic<bool> done = false;
  };

  void end_of_values(uint64_t number);
  bool load_some();

  PeerId configurer_ = no_peer, held_ = no_peer;
  std::shared_ptr<Made> made_ = std::make_shared<Made>();  // shared with the other thread
  uint64_t received_bytes_ = 0, expected_bytes_ = 0;       // of variables
  std::vector<uint64_t> rows_;                             // that are coming in
  size_t loaded_ = 0;                                      // parts of the snapshot's tables
  bool complete_ = false, landing_ = false, counted_ = false, not_finite_ = false;
};

}  // namespace paddle
