#include "trainer/step_exchange.h"

namespace paddle {
namespace {

std::unique_ptr<GeoRows> geo_rows(const Cut& cut, const ExchangeOptions& o) {
  if (o.mode != wire::Mode::geo || cut.trainer.tables.empty()) return nullptr;
  return std::make_unique<GeoRows>(
      cut.trainer.tables,
      GeoRowsOptions{.trainers = o.trainers, .steps = o.geo_steps, .memory = o.geo_memory});
}

}  // namespace

StepExchange::StepExchange(const Cut& cut, const ExchangeOptions& options,
                           std::unique_ptr<Links> links)
    : layout_(cut),
      links_(std::move(links)),
      exchange_(make_exchange(layout_, options, *links_)),
      rows_(cut, options.mode, options.queue_size, *links_, options.row_cache),
      geo_(geo_rows(cut, options)),
      streams_(exchange_->manner() == ParamExchange::Manner::streams),
      rows_ahead_(options.rows_ahead && options.mode != wire::Mode::geo &&
                  !cut.trainer.tables.empty()) {
  links_->deliver_to(*exchange_, rows_);
}

// In sync nothing of a step is pushed before this trainer has its version of everything: shards may
// then reuse the memory of the version before it.
void StepExchange::wait_to_push() {
  const auto may = [&] { return exchange_->may_push() && rows_.may_push(); };
  if (!may()) await(Condition(may));
}

// Where nothing is waited for, the connections are served while a step is computed: else an
// exchange would last several steps. What breaks there is mended when the next step begins.
void StepExchange::push(int32_t param, const View& grad, uint64_t step) {
  wait_to_push();
  await_answer(param, step);
  exchange_->push(param, static_cast<const std::byte*>(grad.data));
  if (streams_) links_->poll_sometimes();
}

void StepExchange::await_answer(int32_t param, uint64_t) {
  const auto may = [&] { return exchange_->has_place(param); };
  if (!may()) await(Condition(may));
}

void StepExchange::pull(int32_t param, const View&, uint64_t) {
  if (streams_) return links_->poll_sometimes();
  const auto may = [&] { return exchange_->may_read(param); };
  if (!may()) await(Condition(may));
}

void StepExchange::push_rows(int32_t table, std::span<const uint64_t> ids, const float* grads,
                             uint64_t) {
  if (geo_) return geo_->update(table, ids, grads);
  wait_to_push();
  rows_.push(table, ids, grads);
  if (streams_) links_->poll_sometimes();
}

void StepExchange::tally(wire::Tally tally) {
  constexpr size_t kept = 2;
  if (tallies_.size() == kept) tallies_.erase(tallies_.begin());
  tallies_.push_back(std::move(tally));
  links_->request(0, 0, tallies_.back());
}

void StepExchange::repeat_tallies() {
  for (const wire::Tally& t : tallies_) links_->request(0, 0, t);
}

void StepExchange::set_rate(int32_t table, float rate) {
  if (geo_) geo_->set_rate(table, rate);
}

void StepExchange::announce_rows(int32_t table, std::span<const uint64_t> ids, uint64_t step) {
  if (rows_ahead_) rows_.requests().announce(table, ids, step);
}

void StepExchange::fetch_rows(int32_t table, std::span<const uint64_t> ids, float* rows) {
  rows_.requests().request(table, ids);
  const auto here = [&] { return rows_.requests().pulled(table); };
  if (!here()) await(Condition(here));
  rows_.requests().take(table, rows);
}

void StepExchange::pull_rows(int32_t table, std::span<const uint64_t> ids, float* rows, uint64_t) {
  if (!geo_ || !geo_->in_step()) {
    fetch_rows(table, ids, rows);
    if (geo_) geo_->replace_changed(table, ids, rows);
    return;
  }
  if (const std::span<const uint64_t> lacking = geo_->lacking(table, ids); !lacking.empty()) {
    fetch_rows(table, lacking, geo_->incoming(table));
    geo_->arrived(table);
  }
  geo_->take(table, ids, rows);
}

}  // namespace paddle
