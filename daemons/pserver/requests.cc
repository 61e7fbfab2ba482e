#include "pserver/requests.h"

namespace paddle {

using Code = wire::FailureCode;

void push(Context& context, Job& job, PeerId peer, uint64_t id, const wire::Push& p,
          uint64_t bulk) {
  const std::string& failure = job.state().failure;
  Exchange* exchange = job.exchange();
  if (exchange == nullptr)
    return context.out.fail(peer, id, failure.empty() ? Code::stale_epoch : Code::job_failed,
                            failure.empty()
                                ? text(context.peers[peer].name(), ": its push belongs to epoch ",
                                       p.epoch, ", and the shard has no values: greet again")
                                : failure);
  if (!failure.empty()) {
    exchange->discard(peer);
    return context.out.fail(peer, id, Code::job_failed, failure);
  }
  try {
    exchange->push(peer, id, p, bulk);
  } catch (Error& e) {  // only a program that cannot be run: nobody can go on
    job.fail(e.within("updating the slices of step ", p.step).what());
  }
}

namespace {

// The exchange that answers a pull; null where the failure was answered.
Exchange* exchange_for(Context& context, Job& job, PeerId peer, uint64_t id, uint64_t epoch) {
  const std::string& failure = job.state().failure;
  if (failure.empty() && job.exchange()) return job.exchange();
  context.out.fail(peer, id, failure.empty() ? Code::stale_epoch : Code::job_failed,
                   failure.empty() ? text("the pull belongs to epoch ", epoch,
                                          ", and the shard has no values: greet again")
                                   : failure);
  return nullptr;
}

}  // namespace

void pull(Context& context, Job& job, PeerId peer, uint64_t id, const wire::Pull& p) {
  if (Exchange* e = exchange_for(context, job, peer, id, p.epoch)) e->pull(peer, id, p);
}

void pull_rows(Context& context, Job& job, PeerId peer, uint64_t id, const wire::PullRows& p,
               uint64_t bulk) {
  if (Exchange* e = exchange_for(context, job, peer, id, p.epoch))
    e->row_pulls().pull(peer, id, p, bulk);
}

void fetch(Context& context, Job& job, PeerId peer, uint64_t id, const wire::Fetch& f) {
  const Tensor* t = job.exchange() ? job.state().store->find_value(f.variable) : nullptr;
  if (t == nullptr)
    return context.out.fail(peer, id, Code::unknown_version,
                            text("there is no variable '", f.variable, "' on this shard"));
  if (f.offset > t->bytes() || f.bytes > t->bytes() - f.offset)
    return context.out.fail(peer, id, Code::protocol,
                            text("the variable '", f.variable, "' has ", t->bytes(), " bytes, not ",
                                 f.bytes, " from offset ", f.offset, " on"));
  const uint64_t version = job.state().lowest_version();
  context.out.send(peer, id, wire::Ack{version});
  const auto bytes_of = [&](const Tensor& from) {
    return Bytes{static_cast<const std::byte*>(from.raw()) + f.offset, f.bytes};
  };
  // In the scope a counter stands where the slice that was updated last left it.
  const auto count = job.state().store->schedule().counter_at(f.variable, version);
  if (!count) return context.out.add_bulk(bytes_of(*t));
  const Tensor counter = t->clone();
  write_number(counter, *count);
  context.out.keep_bulk(bytes_of(counter));
}

void fetch_rows(Context& context, Job& job, PeerId peer, uint64_t id, const wire::FetchRows& f) {
  const Exchange* exchange = exchange_for(context, job, peer, id, f.epoch);
  if (exchange == nullptr) return;
  if (f.epoch != job.state().epoch)
    return context.out.fail(peer, id, Code::stale_epoch,
                            text("rows of epoch ", f.epoch, " are asked for, the job is in epoch ",
                                 job.state().epoch, ": greet again"));
  const TablePart* table = table_of(*job.state().store, f.slice);
  if (table == nullptr)
    return context.out.fail(peer, id, Code::unknown_version,
                            text("there is no part ", f.slice, " of a table here"));
  uint64_t from = f.from;
  std::vector<std::byte> chunk;
  const bool more = table->table().copy_part(from, f.number, chunk);
  context.out.send(peer, id, wire::Ack{table->version(), more ? from : 0});
  context.out.last().kept = std::move(chunk);
}

}  // namespace paddle
