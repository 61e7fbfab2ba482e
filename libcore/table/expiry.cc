// Rows that go: because they were not updated for long, because their score is low, or because
// there is no memory for all.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "table/dump_state.h"
#include "table/table.h"

namespace paddle {

double Table::score(const RowHead& head, uint64_t step) const {
  const uint64_t now = step + 1, unseen = now > head.step ? now - head.step : 0;
  const double count = head.count;
  if (options_.expiry.half_life == 0) return count;
  return count * std::exp2(-static_cast<double>(unseen) / options_.expiry.half_life);
}

void Table::remove_row(uint64_t id) {
  if (round_clock_ > 0 || dump_) keep_old(store_.find(id));
  if (logs_removed_)
    removed_.push_back({id, clock_});
  else
    mark_ = 0;
  store_.erase(id);
}

// Ids that wait for admission with a hash below `end` (0 = all) and were not seen for long begin to
// count anew.
void Table::forget_waiting(uint64_t end, uint64_t step) {
  constexpr uint64_t all_seen = ~uint64_t{0};
  std::vector<uint64_t> going;
  while (waiting_from_ != all_seen && (end == 0 || waiting_from_ < end)) {
    const bool more = waiting_.visit(waiting_from_, [&](const std::byte* row) {
      const RowHead& head = *head_of(row);
      if (step + 1 > uint64_t{head.step} + options_.expiry.unseen_steps)
        going.push_back(uint64_t{head.id});
    });
    if (!more) waiting_from_ = all_seen;
  }
  for (const uint64_t id : going) waiting_.erase(id);
}

bool Table::expire_part(uint64_t& from, uint64_t step, bool dry_run, Expired& sum) {
  const Expiry& e = options_.expiry;
  if (from == 0) waiting_from_ = 0;
  std::vector<uint64_t> going;
  size_t seen = 0;
  const bool more = store_.visit(from, [&](const std::byte* row) {
    const RowHead& head = *head_of(row);
    ++seen;
    const bool unseen = e.unseen_steps > 0 && step + 1 > uint64_t{head.step} + e.unseen_steps;
    if (unseen || (e.min_score > 0 && score(head, step) < e.min_score))
      going.push_back(uint64_t{head.id});
  });
  const size_t gone = dry_run ? sum.rows : 0;  // counted, and still there
  const size_t rows = store_.size() - std::min(gone, store_.size());
  const size_t may_go = rows > e.floor ? rows - e.floor : 0;
  if (going.size() > may_go) going.resize(may_go);
  if (!dry_run) {
    for (const uint64_t id : going) remove_row(id);
    counters_.expired += going.size();
    if (e.unseen_steps > 0) forget_waiting(from, step);
  }
  sum.seen += seen;
  sum.rows += going.size();
  return more;
}

// An eighth of the rows of the next segment, those with the lowest scores, the oldest first.
void Table::evict_part() {
  struct Candidate {
    double score;
    uint32_t step;
    uint64_t id;
    bool operator<(const Candidate& o) const {
      return score != o.score ? score < o.score : step != o.step ? step < o.step : id < o.id;
    }
  };
  std::vector<Candidate> rows;
  while (rows.empty()) {
    if (store_.size() <= options_.expiry.floor || store_.size() == 0) return;
    store_.visit(evict_from_, [&](const std::byte* row) {
      const RowHead& head = *head_of(row);
      rows.push_back({score(head, clock_), head.step, head.id});
    });
  }
  const size_t count = std::min(rows.size() / 8 + 1, store_.size() - options_.expiry.floor);
  std::nth_element(rows.begin(), rows.begin() + static_cast<long>(count - 1), rows.end());
  for (size_t i = 0; i < count; ++i) remove_row(rows[i].id);
  counters_.evicted += count;
}

// With the option to evict, rows go until there is memory for this one.
void Table::make_row_evicting(uint64_t id) {
  for (;;) {
    try {
      make_row(id);
      return;
    } catch (const Error&) {
      const uint64_t evicted = counters_.evicted;
      if (options_.evict) evict_part();
      if (counters_.evicted == evicted) throw;
    }
  }
}

}  // namespace paddle
