// What a plan asks for while a step is computed: parameters and rows before they are read, places
// for their gradients. It holds the connections and both exchanges; where something has to be
// waited for, the client (ps_client.h) does it.
#pragma once

#include <memory>
#include <vector>

#include "graph/kernel.h"
#include "graph/transpile.h"
#include "trainer/exchange.h"
#include "trainer/geo_rows.h"
#include "trainer/ps_links.h"
#include "trainer/row_exchange.h"

namespace paddle {

class StepExchange : public Remote {
 public:
  // `cut` outlives it.
  StepExchange(const Cut& cut, const ExchangeOptions& options, std::unique_ptr<Links> links);

  ReadUntil read_until(int32_t param) const override { return exchange_->read_until(param); }
  // Any of these may throw Rewind.
  void push(int32_t param, const View& grad, uint64_t step) override;
  void await_answer(int32_t param, uint64_t step) override;
  void pull(int32_t param, const View& value, uint64_t step) override;
  void pull_rows(int32_t table, std::span<const uint64_t> ids, float* rows, uint64_t step) override;
  void push_rows(int32_t table, std::span<const uint64_t> ids, const float* grads,
                 uint64_t step) override;
  void announce_rows(int32_t table, std::span<const uint64_t> ids, uint64_t step) override;
  bool takes_announcements() const override { return rows_ahead_; }
  bool takes_rates() const override { return geo_ != nullptr; }
  void set_rate(int32_t table, float rate) override;

  // Counts of this trainer for the numbers of all of them, to the first shard. What is lost is made
  // good by the next ones; the newest are sent again after a break.
  void tally(wire::Tally tally);

  const SentUpdates& updates() const { return exchange_->updates(); }
  const RowExchange& rows() const { return rows_; }

 protected:
  // Returns when the condition holds. What breaks meanwhile is mended, and ends in Rewind.
  virtual void await(const Condition& done) = 0;
  // The job was joined anew.
  void repeat_tallies();

  SliceLayout layout_;
  const std::unique_ptr<Links> links_;
  std::unique_ptr<ParamExchange> exchange_;
  RowExchange rows_;
  const std::unique_ptr<GeoRows> geo_;  // null in other modes, and without tables
  const bool streams_;                  // the exchange does
  const bool rows_ahead_;               // rows are asked for before their step

 private:
  void wait_to_push();
  void fetch_rows(int32_t table, std::span<const uint64_t> ids, float* rows);

  std::vector<wire::Tally> tallies_;  // the newest: of a period, and of a pass
};

}  // namespace paddle
