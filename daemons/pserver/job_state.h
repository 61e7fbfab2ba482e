// What there is to know about a job on a shard. Its parts change it: who takes part (job.h), where
// its values are from (job_values.h).
#pragma once

#include <memory>
#include <string>

#include "pserver/admission.h"
#include "pserver/exchange.h"

namespace paddle {

struct JobState {
  Identity identity;
  Members members;
  Admissions admissions = {};
  uint64_t epoch = 0, base_step = 0;  // of the values that the epoch began with
  std::string init, configured_by;
  std::vector<wire::Origin> origins = {};           // of the values at base_step
  std::shared_ptr<const std::string> program = {};  // of the shard; snapshots share it
  std::string failure = {};                         // why the job ended, "" while it goes on
  std::unique_ptr<Store> store = {};                // where there are values
  std::unique_ptr<Exchange> exchange = {};          // beside the store
  double steps_per_second = 0;
  wire::Totals totals = {};  // the newest

  bool sync() const { return identity.mode == wire::Mode::sync; }
  uint64_t lowest_version() const;
  // All slices have the same version, so that a snapshot of this moment makes sense.
  bool same_version() const;
  // Nobody can go on: whoever waits learns it.
  void fail(Context& context, const std::string& why);
};

}  // namespace paddle
