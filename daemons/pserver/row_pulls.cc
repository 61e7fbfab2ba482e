#include "pserver/row_pulls.h"

namespace paddle {
namespace {

using Code = wire::FailureCode;

// A longer list of ids is given back when it was used.
constexpr size_t kept_ids = 1u << 17;

// The ids are as many as the message says, and the rows are not more than a message can have.
bool fits(const TablePart& table, const wire::PullRows& p, uint64_t bulk) {
  return p.rows > 0 && bulk == uint64_t{p.rows} * sizeof(uint64_t) &&
         table.gradient_bytes(p.rows).has_value();
}

}  // namespace

LandingPlace RowPulls::land(PeerId peer, const wire::PullRows& p, uint64_t bulk) {
  const TablePart* table = table_of(store_, p.slice);
  if (p.epoch != epoch_ || table == nullptr || !fits(*table, p, bulk)) return {};
  if (lists_.size() <= peer) lists_.resize(peer + 1);
  List& l = lists_[peer];
  if (l.ids.size() < p.rows) {
    forget(peer);
    l.claim = ByteClaim(store_.budget());
    if (!l.claim.add(bulk)) return {};
    l.ids.resize(p.rows);
  }
  l.landed = p.rows;
  return {LandingPlace::Kind::into, std::as_writable_bytes(std::span(l.ids).first(p.rows))};
}

void RowPulls::pull(PeerId peer, uint64_t id, const wire::PullRows& p, uint64_t bulk) {
  const Peer& who = context_.peers[peer];
  const auto no = [&](Code code, const std::string& why) {
    if (code == Code::protocol) context_.error(text(who.name(), ": ", why));
    context_.out.fail(peer, id, code, why);
  };
  std::span<const uint64_t> ids;
  if (landing(peer))
    ids = std::span<const uint64_t>(lists_[peer].ids)
              .first(std::exchange(lists_[peer].landed, size_t{0}));
  if (p.epoch != epoch_)
    return no(Code::stale_epoch, text("the pull belongs to epoch ", p.epoch,
                                      ", the job is in epoch ", epoch_, ": greet again"));
  const TablePart* table = table_of(store_, p.slice);
  if (table == nullptr)
    return no(Code::unknown_version, text("there is no part ", p.slice, " of a table here"));
  if (!fits(*table, p, bulk))
    return no(Code::protocol, text("a pull of ", p.rows, " rows of '", table->info().name,
                                   "' with ", bulk, " bytes of ids"));
  if (ids.empty())
    return no(Code::refused,
              text("there is no memory for the ids of ", p.rows, " rows of '", table->info().name,
                   "': use more pservers, or raise --memory_limit"));
  if (const std::string why = table->ids_problem(ids); !why.empty()) return no(Code::protocol, why);
  waits_.await_rows(who, peer, id, {p.version, p.slice, 0}, ids, members_[who.trainer],
                    context_.now);
  if (lists_[peer].ids.size() > kept_ids) forget(peer);
}

}  // namespace paddle
