#include "trainer/join_driver.h"

#include "base/log.h"
#include "trainer/ps_values.h"

namespace paddle {
namespace {

JoinSetup join_setup(const JoinDriver::Parts& p, double peer_timeout) {
  JoinSetup out{.shards = {},
                .holds = std::vector<bool>(p.links.size(), false),
                .slices = p.layout.slices.size(),
                .peer_timeout = peer_timeout};
  for (size_t i = 0; i < p.links.size(); ++i) out.shards.push_back(p.links[i].endpoint().text());
  for (const SliceLayout::Slice& s : p.layout.slices) out.holds[s.shard] = true;
  return out;
}

}  // namespace

std::string awaited_text(const ParamExchange& exchange, const SliceLayout& layout,
                         const Links& links, uint64_t step) {
  const auto id = exchange.first_awaited();
  if (!id) return "nothing";
  const std::string at = text("pserver ", links[layout.slices[*id].shard].endpoint().text(), " (",
                              layout.names[*id], ", step ", step, ")");
  const std::string others = links.others();
  return others.empty() ? at : text(at, ", which is ", others);
}

JoinDriver::JoinDriver(Parts parts, wire::Hello hello, double peer_timeout)
    : p_(std::move(parts)),
      joining_(join_setup(p_, peer_timeout), std::move(hello)),
      asked_(p_.links.size()) {}

const JoinDecision& JoinDriver::run(const std::string& init, uint64_t first_step) {
  init_ = init;
  joining_.start(init, first_step, Clock::now());
  const auto what = [&] {
    return joining_.phase() == Joining::Phase::values
               ? awaited_text(p_.exchange, p_.layout, p_.links, joining_.decision().step)
               : joining_.waiting_for();
  };
  const auto check = [&] {
    perform();
    look();
    joining_.tick(Clock::now());
    perform();
    p_.links.flush();
    return joining_.wake_at();
  };
  p_.links.wait(
      what, [&] { return joining_.phase() == Joining::Phase::done; }, check);
  return joining_.decision();
}

void JoinDriver::look() {
  for (size_t i = 0; i < p_.links.size() && joining_.phase() != Joining::Phase::done; ++i) {
    look_at(i);
    perform();
  }
  if (joining_.phase() == Joining::Phase::values && p_.exchange.none_awaited())
    joining_.values_arrived(Clock::now());
}

void JoinDriver::look_at(size_t shard) {
  ShardLink& link = p_.links[shard];
  const Time now = Clock::now();
  if (!link.open()) joining_.unreachable(shard, link.last_error());
  if (auto welcome = link.take_welcome()) joining_.welcome(shard, std::move(*welcome), now);
  if (asked_[shard] != 0 && link.acked(asked_[shard])) {
    asked_[shard] = 0;
    joining_.acked(shard, now);
  }
  if (!link.broken()) return;
  log_detail(1, text("pserver ", link.endpoint().text(), ": ", link.last_error()));
  if (link.failure())
    joining_.failed(shard, *link.failure(), now);
  else
    joining_.broken(shard, link.last_error(), now);
}

// What was decided before a connection turned out to be broken is left undone; everything else,
// such as greeting again, is done all the same.
void JoinDriver::perform() {
  for (;;) {
    const std::vector<JoinAction> actions = joining_.take_actions();
    if (actions.empty()) return;
    bool is_void = false;
    for (const JoinAction& a : actions)
      if (!is_void || !belongs_to_decision(a.kind)) is_void = !perform(a) || is_void;
  }
}

bool JoinDriver::perform(const JoinAction& a) {
  using Kind = JoinAction::Kind;
  switch (a.kind) {
    case Kind::greet:
      asked_[a.shard] = 0;
      p_.links[a.shard].greet(joining_.hello());
      return true;
    case Kind::hang_up:
      asked_[a.shard] = 0;
      p_.links[a.shard].hang_up();
      return true;
    case Kind::beat: p_.links.start_heartbeat(joining_.hello()); return true;
    case Kind::stop_beat: p_.links.stop_heartbeat(); return true;
    case Kind::first_values: p_.first_values(); return true;
    case Kind::warn: log_warn(a.text); return true;
    case Kind::exchange:
      p_.exchange.join(joining_.decision().epoch, joining_.decision().step,
                       joining_.slice_states());
      return true;
    case Kind::configure:
    case Kind::rollback:
    case Kind::join: break;
  }
  return request(a);
}

bool JoinDriver::request(const JoinAction& a) {
  ShardLink& link = p_.links[a.shard];
  if (!link.open()) {
    joining_.broken(a.shard, link.last_error(), Clock::now());
    return false;
  }
  const JoinDecision& d = joining_.decision();
  const uint64_t id = asked_[a.shard] = link.expect_ack();
  if (a.kind == JoinAction::Kind::configure)
    send_first_values(link.connection(), id, p_.cut, a.shard, p_.scope, d, init_);
  else if (a.kind == JoinAction::Kind::rollback)
    link.connection().send(id, wire::Rollback{d.epoch, d.step});
  else
    link.connection().send(id, wire::Join{d.epoch, d.step});
  return true;
}

void JoinDriver::check() {
  for (size_t i = 0; i < p_.links.size(); ++i) {
    const ShardLink& link = p_.links[i];
    if (!link.broken()) continue;
    if (link.failure()) throw Disrupted{joining_.disruption(i, *link.failure())};
    throw Disrupted{text("pserver ", link.endpoint().text(), ": ", link.last_error())};
  }
}

}  // namespace paddle
