// Bytes of a variable, as trainer 0 asks for when it saves.
#include "pserver/fetch.h"

namespace paddle {

using Code = wire::FailureCode;

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

}  // namespace paddle
