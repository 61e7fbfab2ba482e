#include "pserver/totals_report.h"

#include <utility>

#include "base/error.h"
#include "base/wrap.h"
#include "obs/tally.h"
#include "obs/totals.h"

namespace paddle {

bool TotalsReport::needed(uint32_t trainer) const {
  if (!state_.members.has(trainer)) return false;
  const MemberState s = state_.members[trainer].state;
  return context_.options.leases.policy != LossPolicy::drop ||
         (s != MemberState::lost && s != MemberState::absent);
}

void TotalsReport::take(uint32_t trainer, wire::Tally tally) {
  size_t bins = 0;
  for (const wire::Count& c : tally.counts) {
    bins += c.bins.size();
    require(well_formed(c.bins), Error::Kind::protocol, "counts of '", one_line(c.name),
            "' that do not rise");
  }
  require(bins <= wire::max_bins, Error::Kind::protocol, "counts of ", bins, " bins");
  publish(totals_.take(trainer, std::move(tally), state_.identity.trainers,
                       [this](uint32_t t) { return needed(t); }));
}

void TotalsReport::members_changed() {
  publish(
      totals_.members_changed(state_.identity.trainers, [this](uint32_t t) { return needed(t); }));
}

// Passes may be short: what is logged is the newest.
void TotalsReport::publish(const std::vector<wire::Totals>& complete) {
  for (const wire::Totals& t : complete) {
    state_.totals = t;
    const event::Totals event = totals_event(t);
    if (state_.identity.trainers > 1) line_ = totals_text(event);
    if (context_.options.calls.on_totals) context_.options.calls.on_totals(event);
  }
}

void TotalsReport::log() {
  if (!line_.empty()) context_.info(std::exchange(line_, {}));
}

}  // namespace paddle
