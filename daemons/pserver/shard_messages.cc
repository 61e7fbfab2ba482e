// Pushes and pulls: the rounds of sync training, and updates on arrival.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "pserver/shard.h"

namespace paddle {

// ---- what can be said of a push before its gradient is looked at

Shard::Verdict Shard::check_push(const Peer& peer, const wire::Push& p, uint64_t bulk) {
  using Kind = Verdict::Kind;
  const auto no = [&](Code code, auto&&... why) {
    return Verdict{Kind::fail, nullptr, code, text(peer.name(), ": ", why...)};
  };
  if (p.epoch != epoch_ || state_ != wire::ShardState::ready)
    return no(Code::stale_epoch, "its push belongs to epoch ", p.epoch, ", the job is in epoch ",
              epoch_, ": greet again");
  Slice* slice = store_->slice(p.parts[0].slice);
  if (slice == nullptr)
    return no(Code::unknown_version, "there is no slice ", p.parts[0].slice, " on this shard");
  if ((*members_)[peer.trainer].state != MemberState::joined)
    return no(Code::protocol, "it pushed to '", slice->info().name, "' without having joined");
  if (bulk != slice->bytes())
    return no(Code::protocol, "its gradient for '", slice->info().name, "', step ", p.step,
              ", has ", bulk, " bytes, expected ", slice->bytes());
  if (!sync()) return check_async(peer, p, *slice);
  if (p.step > slice->version())
    return no(Code::protocol, "it pushed step ", p.step, " of '", slice->info().name,
              "', which is at version ", slice->version());
  if (p.step < slice->version() || slice->contributed(peer.trainer))
    return {Kind::duplicate, slice, {}, {}};
  return {Kind::take, slice, {}, {}};
}

Shard::Verdict Shard::check_async(const Peer& peer, const wire::Push& p, Slice& slice) const {
  using Kind = Verdict::Kind;
  if (p.step < slice.steps_of(peer.trainer)) return {Kind::duplicate, &slice, {}, {}};
  if (p.parts[0].based_on > slice.version())
    return {Kind::fail, nullptr, Code::stale_epoch,
            text(peer.name(), ": its gradient for '", slice.info().name, "' is based on version ",
                 p.parts[0].based_on, ", and here is version ", slice.version(), ": greet again")};
  const uint64_t stale = slice.version() - p.parts[0].based_on;
  const bool too_stale = options_.max_staleness > 0 && stale > options_.max_staleness;
  // As v2 counts: the update itself is one, and a ratio up to 1 means 1.5. A single trainer would
  // see all its gradients dropped, so at least one foreign update must lie between.
  const double ratio = options_.discard_ratio > 1 ? options_.discard_ratio : 1.5;
  const bool lags =
      options_.discard_ratio > 0 &&
      static_cast<double>(stale + 1) >= std::max(2.0, std::floor(ratio * identity_->trainers));
  return {too_stale || lags ? Kind::drop : Kind::take, &slice, {}, {}};
}

// ---- pushes

void Shard::push(Peer& peer, uint64_t id, const wire::Push& p, uint64_t bulk) {
  using Kind = Verdict::Kind;
  if (!members_->failure().empty()) return fail(peer, id, Code::job_failed, members_->failure());
  const Verdict v = check_push(peer, p, bulk);
  const bool landed = std::exchange(peer.in_place, false);
  if (v.kind == Kind::fail) {
    if (v.code == Code::protocol) note_error(v.why);
    return fail(peer, id, v.code, v.why);
  }
  Slice& slice = *v.slice;
  if (v.kind == Kind::duplicate) {
    if (p.pull) return await_version(peer, id, slice, sync() ? p.step + 1 : 0);
    return ack(peer, id);
  }
  if (!landed)
    return fail(peer, id, Code::protocol,
                text(peer.name(), ": its gradient for '", slice.info().name, "', step ", p.step,
                     ", came before the version that it belongs to"));
  if (refuse_not_finite(peer, id, p, slice)) return;
  last_pushes_[peer.trainer] = {p.step, p.begin, p.end};
  if (!sync()) return apply_now(peer, id, p, slice, v.kind == Kind::drop);
  if (slice.contributors() == 0) rounds_[slice.info().place].begun = peer.connection->last_heard();
  slice.contribute(peer.trainer);
  if (p.pull)
    await_version(peer, id, slice, p.step + 1);
  else
    ack(peer, id);
  try_close(slice);
}

bool Shard::refuse_not_finite(Peer& peer, uint64_t id, const wire::Push& p, const Slice& slice) {
  const bool seen = peer.landing.slice == &slice && peer.landing.seen == slice.bytes();
  if (seen ? peer.landing.finite : slice.finite(peer.trainer)) return false;
  ++staleness_[peer.trainer].not_finite;
  const std::string why =
      text(peer.name(), ": its gradient for '", slice.info().name, "', step ", p.step,
           ", holds NaN or Inf and was not applied: lower the learning rate, clip gradients or "
           "look at the data of this batch");
  note_error(why);
  fail(peer, id, Code::not_finite, why);
  return true;
}

// Async, half-async, geo: the update happens here and now.
void Shard::apply_now(Peer& peer, uint64_t id, const wire::Push& p, Slice& slice, bool drops) {
  Staleness& s = staleness_[peer.trainer];
  const uint64_t stale = slice.version() - p.parts[0].based_on;
  s.max = std::max(s.max, stale);
  s.sum += stale;
  ++s.count;
  slice.set_steps(peer.trainer, p.step + 1);
  if (drops) {
    ++s.dropped;
  } else if (identity_->mode == wire::Mode::geo) {
    slice.add(peer.trainer);
  } else {
    store_->schedule().run(slice.version());
    slice.apply(peer.trainer);
  }
  if (p.pull)
    send_values(peer, id, slice, slice.values(), slice.version(), drops);
  else
    ack(peer, id);
  if (drops) return;
  answer_pulls(slice);
  if (snapshots_) snapshot_slice(slice);
}

// ---- rounds

bool Shard::complete(const Slice& slice) const {
  if (slice.contributors() == 0) return false;
  for (uint32_t t = 0; t < members_->count(); ++t)
    if (!slice.contributed(t) && members_->required(t, slice.version())) return false;
  return true;
}

void Shard::try_close(Slice& slice) {
  if (!complete(slice)) return;
  try {
    store_->schedule().run(slice.version());
    slice.close_round();
  } catch (Error& e) {  // only a program that cannot be run: nobody can go on
    return fail_job(
        e.within("updating '", slice.info().name, "' in step ", slice.version()).what());
  }
  answer_pulls(slice);
  if (snapshots_) snapshot_slice(slice);
}

void Shard::close_ready_rounds() {
  if (state_ != wire::ShardState::ready || !sync() || !members_->failure().empty()) return;
  for (Slice& s : store_->slices()) try_close(s);
  send_back_the_early();
}

// Those who joined ahead of the others, where the others have left before they got there.
void Shard::send_back_the_early() {
  for (const Slice& s : store_->slices()) {
    if (rounds_[s.info().place].pulls.empty() || s.contributors() > 0) continue;
    bool reachable = false;
    for (uint32_t t = 0; t < members_->count(); ++t)
      reachable = reachable || members_->required(t, s.version());
    if (!reachable)
      return fail_pending(Code::stale_epoch,
                          text("all others have left at step ", s.version(), ": greet again"));
  }
}

// ---- pulls

void Shard::pull(Peer& peer, uint64_t id, const wire::Pull& p) {
  if (!members_->failure().empty()) return fail(peer, id, Code::job_failed, members_->failure());
  if (p.epoch != epoch_ || state_ != wire::ShardState::ready)
    return fail(peer, id, Code::stale_epoch,
                text("the pull belongs to epoch ", p.epoch, ", the job is in epoch ", epoch_,
                     ": greet again"));
  Slice* slice = store_->slice(p.parts[0].slice);
  if (slice == nullptr)
    return fail(peer, id, Code::unknown_version,
                text("there is no slice ", p.parts[0].slice, " on this shard"));
  await_version(peer, id, *slice, p.parts[0].version);
}

void Shard::await_version(Peer& peer, uint64_t id, Slice& slice, uint64_t version) {
  const uint64_t now = slice.version();
  if (version == now || (version < now && !sync()))
    return send_values(peer, id, slice, slice.values(), now);
  if (version + 1 == now && !slice.previous().empty())
    return send_values(peer, id, slice, slice.previous(), version);
  // Only who joins ahead of the others, as one that was dropped does, may ask for more than the
  // next.
  const bool joins_there = version == (*members_)[peer.trainer].first_round;
  if (version < now || (sync() && version > now + 1 && !joins_there))
    return fail(
        peer, id, Code::unknown_version,
        text(peer.name(), " asked for version ", version, " of '", slice.info().name,
             "', which is at version ", now, version < now ? " and keeps one before it" : ""));
  Round& round = rounds_[slice.info().place];
  if (round.pulls.empty() && slice.contributors() == 0) round.begun = peer.connection->last_heard();
  round.pulls.push_back({&peer, id, version});
  if (sync() && joins_there) send_back_the_early();
}

void Shard::send_values(Peer& peer, uint64_t id, const Slice& slice, wire::Bytes values,
                        uint64_t version, bool dropped) {
  const wire::ValuesPart part{version, slice.info().id, dropped ? 1u : 0u};
  peer.connection->send(id, wire::Values{{&part, 1}}, values,
                        sync() ? wire::Bulk::stays : wire::Bulk::changes);
  touch(peer);
}

void Shard::answer_pulls(Slice& slice) {
  auto& pulls = rounds_[slice.info().place].pulls;
  if (pulls.empty()) return;
  answering_.clear();  // a connection that fails while we send takes its pulls out of the list
  std::swap(pulls, answering_);
  for (const Waiting& w : answering_) {
    if (!w.peer->connection->open()) continue;
    if (w.version > slice.version())
      pulls.push_back(w);
    else
      send_values(*w.peer, w.id, slice, slice.values(), slice.version());
  }
}

void Shard::fetch(Peer& peer, uint64_t id, const wire::Fetch& f) {
  const Tensor* t = state_ == wire::ShardState::ready ? store_->find_value(f.variable) : nullptr;
  if (t == nullptr)
    return fail(peer, id, Code::unknown_version,
                text("there is no variable '", f.variable, "' on this shard"));
  if (f.offset > t->bytes() || f.bytes > t->bytes() - f.offset)
    return fail(peer, id, Code::protocol,
                text("the variable '", f.variable, "' has ", t->bytes(), " bytes, not ", f.bytes,
                     " from offset ", f.offset, " on"));
  const uint64_t version = lowest_version();
  // In the scope a counter stands where the slice that was updated last left it.
  Tensor told = *t;
  if (const auto count = store_->schedule().counter_at(f.variable, version)) {
    told = t->clone();
    write_number(told, *count);
  }
  ack(peer, id, {static_cast<const std::byte*>(told.raw()) + f.offset, f.bytes}, version);
}

}  // namespace paddle
