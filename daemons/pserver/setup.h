// A store on its way: the configuration is checked, values come in, or are in a snapshot, and the
// slices are built in steps, so that no call takes long however many there are.
#pragma once

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
  // Of a configuration that `configurer` sent; its values follow. Throws Error(config).
  Setup(const ShardOptions& options, const wire::Configure& configure, bool sync, PeerId configurer,
        uint64_t id);
  // Of a snapshot, whose values are moved into the store. Throws Error(config) or Error(data).
  Setup(Snapshot& snapshot, PeerId asked_by, uint64_t id);

  PeerId configurer() const { return configurer_; }  // no_peer where values are not awaited
  // Where the bulk of a value lands.
  LandingPlace land(const wire::SetValue& set, uint64_t bulk);
  bool landing() const { return landing_; }
  // A whole value: why it makes no sense, or "".
  std::string set_value(uint64_t id, const wire::SetValue& set, uint64_t bulk);

  // Builds more; true when store and values are complete. Throws Error(config).
  bool proceed();
  // Values of the pserver itself take the place of those that came.
  void take_presets(const ShardOptions& options);
  std::unique_ptr<Store> take_store() { return std::move(store_); }
  uint64_t bytes() const { return expected_; }
  bool built() const { return store_->built(); }

  // Who is answered in the end: (peer, number of the request).
  std::vector<std::pair<PeerId, uint64_t>> asked;
  std::optional<Snapshot> snapshot;  // with empty values
  uint64_t id;                       // of the message that began it

 private:
  void count();

  PeerId configurer_ = no_peer;
  std::unique_ptr<Store> store_;
  uint64_t received_ = 0, expected_ = 0;
  bool complete_ = false, landing_ = false;
};

}  // namespace paddle
