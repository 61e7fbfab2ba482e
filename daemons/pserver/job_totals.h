// Numbers of a job over all trainers: cost and evaluators of a pass so far, and of the log period
// that has just ended. Trainers send sums and counts (wire::Tally), each as it is since the
// beginning of the pass: so one that was lost is made good by the next one, and one that comes
// twice does no harm. What is added up are exact counts: an AUC is that of one process that has
// seen all records.
//
// A period or a pass is complete with the counts of all trainers that take part. A trainer whose
// pass was shorter counts with all of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "wire/messages.h"

namespace paddle {

class JobTotals {
 public:
  // Whether the counts of a trainer are waited for.
  using Needed = std::function<bool(uint32_t trainer)>;

  // The counts of a trainer, which are one of `trainers`. What is complete with them, in order; a
  // pass that all have done once more gives its numbers again.
  std::vector<wire::Totals> take(uint32_t trainer, wire::Tally tally, uint32_t trainers,
                                 const Needed& needed);
  // What is complete now that others are needed.
  std::vector<wire::Totals> members_changed(uint32_t trainers, const Needed& needed);
  size_t passes() const { return passes_.size(); }  // that are remembered

 private:
  struct Share {                              // of one trainer in a pass
    std::map<uint64_t, wire::Tally> periods;  // by batch, those that are not complete
    std::optional<wire::Tally> ended;
    std::optional<wire::Tally> counted;  // in what was reported last
  };
  struct Pass {
    std::vector<Share> shares;
    uint64_t batch = 0;  // up to which it was reported
    bool reported = false;
  };
  using Shares = std::vector<const wire::Tally*>;  // by trainer; null: none
  void complete(uint64_t number, Pass& pass, const Needed& needed, std::vector<wire::Totals>& out);
  static wire::Totals total(uint64_t number, Pass& pass, const Shares& shares);

  std::map<uint64_t, Pass> passes_;  // those that are not complete, and the last that is
};

}  // namespace paddle
