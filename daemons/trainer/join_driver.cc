#include "trainer/join_driver.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "trainer/ps_values.h"

namespace paddle {
namespace {

JoinSetup join_setup(const JoinDriver::Parts& p, double peer_timeout) {
  JoinSetup out{
      .shards = {},
      .holds = std::vector<bool>(p.links.size(), false),
      .slices = p.layout.slices.size() + p.cut.trainer.tables.size() * p.cut.table_shards.size(),
      .peer_timeout = peer_timeout};
  for (size_t i = 0; i < p.links.size(); ++i) out.shards.push_back(p.links[i].endpoint());
  for (const SliceLayout::Slice& s : p.layout.slices) out.holds[s.shard] = true;
  for (const size_t shard : p.cut.table_shards) out.holds[shard] = true;
  return out;
}

}  // namespace

std::string awaited_text(const ParamExchange& exchange, const RowExchange& rows,
                         const SliceLayout& layout, const Links& links, uint64_t step) {
  constexpr double silence_shown = 3;  // seconds; a shard answers a heartbeat every second
  const auto id = exchange.first_awaited();
  const auto part = rows.first_awaited();
  if (!id && !part) return "nothing";
  const size_t shard = id ? layout.slices[*id].shard : part->shard;
  const std::string at = text("pserver ", links[shard].endpoint(), " (",
                              id ? layout.names[*id] : part->table, ", step ", step, ")");
  const double silent = links.silent_for(shard);
  if (silent > silence_shown)
    return text(at, ", which has not answered for ", static_cast<int>(silent), " s");
  const std::string others = links.news().waiting;
  return others.empty() ? at : text(at, ", which is ", others);
}

JoinDriver::JoinDriver(Parts parts, wire::Hello hello, double peer_timeout)
    : p_(std::move(parts)),
      joining_(join_setup(p_, peer_timeout), std::move(hello)),
      sending_(p_.links.size()),
      asked_(p_.links.size()) {}

const JoinDecision& JoinDriver::run(const std::string& init, uint64_t first_step, bool finished) {
  init_ = init;
  joining_.start(init, first_step, finished, p_.links.now());
  const auto what = [&] {
    return joining_.phase() == Joining::Phase::values
               ? awaited_text(p_.exchange, p_.rows, p_.layout, p_.links, joining_.decision().step)
               : joining_.waiting_for();
  };
  const auto check = [&] {
    perform();
    look();
    joining_.tick(p_.links.now());
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
  if (joining_.phase() == Joining::Phase::values && p_.exchange.none_awaited() && p_.rows.joined())
    joining_.values_arrived(p_.links.now());
}

void JoinDriver::look_at(size_t shard) {
  LinkState& link = p_.links[shard];
  const Time now = p_.links.now();
  if (!p_.links.open(shard)) joining_.answers().set_error(shard, link.last_error());
  if (auto welcome = link.take_welcome()) joining_.welcome(shard, std::move(*welcome), now);
  if (asked_[shard] != 0 && link.acked(asked_[shard])) {
    asked_[shard] = 0;
    joining_.acked(shard, now);
  }
  if (sending_[shard] && sending_[shard]->advance()) {
    sending_[shard].reset();
    joining_.acked(shard, now);
  }
  if (!link.broken()) return;
  log_detail(1, text("pserver ", link.endpoint(), ": ", link.last_error()));
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
      p_.links.greet(a.shard, joining_.hello());
      sending_[a.shard].reset();
      return true;
    case Kind::hang_up:
      asked_[a.shard] = 0;
      p_.links.hang_up(a.shard);
      sending_[a.shard].reset();
      return true;
    case Kind::beat: p_.links.heartbeats().start(joining_.hello()); return true;
    case Kind::stop_beat: p_.links.heartbeats().stop(); return true;
    case Kind::first_values: p_.first_values(); return true;
    case Kind::warn: log_warn(a.text); return true;
    case Kind::exchange:
      p_.exchange.join(joining_.decision().epoch, joining_.decision().step,
                       joining_.slice_states());
      p_.rows.join(joining_.decision().epoch, joining_.decision().step, joining_.slice_states());
      return true;
    case Kind::configure:
    case Kind::rollback:
    case Kind::join: break;
  }
  return request(a);
}

bool JoinDriver::request(const JoinAction& a) {
  LinkState& link = p_.links[a.shard];
  if (!p_.links.open(a.shard)) {
    joining_.broken(a.shard, link.last_error(), p_.links.now());
    return false;
  }
  const JoinDecision& d = joining_.decision();
  if (a.kind == JoinAction::Kind::configure) {
    configure(a.shard);
    return true;
  }
  const uint64_t id = asked_[a.shard] = link.expect_ack();
  if (a.kind == JoinAction::Kind::rollback)
    p_.links.request(a.shard, id, wire::Rollback{d.epoch, d.step});
  else
    join(a.shard, id);
  return true;
}

// Where rounds do not count, a shard that lost its state takes nothing twice that it was sent
// before.
void JoinDriver::join(size_t shard, uint64_t id) {
  const JoinDecision& d = joining_.decision();
  uint64_t step = d.step;
  if (joining_.hello().mode != wire::Mode::sync) {
    const ShardValues values = joining_.answers().values(shard);
    SentUpdates& updates = p_.exchange.updates();
    step = std::max({step, updates.may_hold(shard, values), p_.rows.pushed(shard)});
    updates.joining(shard, step, joining_.slice_states(), values);
    p_.rows.joining(shard, step, joining_.slice_states());
  }
  p_.links.request(shard, id, wire::Join{d.epoch, step});
}

// A shard that lost its state goes on with what this trainer knows of it.
void JoinDriver::configure(size_t shard) {
  JoinDecision d = joining_.decision();
  const auto send = [&](std::shared_ptr<const Scope> scope) {
    sending_[shard] =
        std::make_unique<FirstValues>(p_.links, shard, p_.cut, std::move(scope), d, init_);
  };
  if (!d.continues) return send({std::shared_ptr<void>(), &p_.scope});
  const auto lent = std::make_shared<Scope>();
  for (const std::string& name : p_.scope.names())
    if (const Tensor& t = p_.scope.find(name)->tensor; !t.empty())
      lent->var(name).tensor = t.clone();
  if (const auto* files = p_.scope.find_part<TableFiles>()) lent->part<TableFiles>() = *files;
  d.step = ~uint64_t{0};
  for (uint32_t i = 0; i < p_.layout.slices.size(); ++i) {
    const SliceLayout::Slice& s = p_.layout.slices[i];
    if (s.shard != shard) continue;
    const std::string& param = p_.cut.params[static_cast<size_t>(s.param)].param;
    std::memcpy(static_cast<std::byte*>(lent->tensor(param).raw()) + s.begin,
                p_.exchange.shard_copy(i), s.bytes);
    d.step = std::min(d.step, p_.exchange.updates().version(i));
  }
  if (d.step == ~uint64_t{0}) d.step = 0;
  d.origins = p_.exchange.updates().origins(shard);
  send(lent);
}

uint64_t JoinDriver::updates_since(uint64_t version) const {
  uint64_t most = version;
  for (const wire::SliceState& s : joining_.slice_states()) most = std::max(most, s.version);
  return most - version;
}

void JoinDriver::check() {
  for (size_t i = 0; i < p_.links.size(); ++i) check(i);
}

void JoinDriver::check(size_t shard) {
  const LinkState& link = p_.links[shard];
  if (!link.broken()) return;
  if (link.failure()) throw Disrupted{joining_.disruption(shard, *link.failure())};
  throw Disrupted{text("pserver ", link.endpoint(), ": ", link.last_error())};
}

}  // namespace paddle
