#include "pserver/exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paddle {

using Code = wire::FailureCode;

namespace {

std::byte no_rows[8];  // where an empty gradient of a table lies

// Why whole gradients cannot be used, whatever their numbers are. A push to a table may have no
// rows.
std::string gradient_problem(const Store& store, const Inbox::Landing& l, const wire::Push& p) {
  Versioned& first = *store.part(p.parts[0].slice);
  if (l.data == nullptr && (table_of(store, p.parts[0].slice) == nullptr || p.parts[0].rows > 0))
    return "a push without a gradient";
  return first.gradient_problem({l.data, p.parts[0].rows});
}

}  // namespace

Exchange::Exchange(Context& context, Store& store, Members& members, SnapshotMaker& maker,
                   wire::Mode mode, uint64_t epoch)
    : context_(context),
      store_(store),
      members_(members),
      mode_(mode),
      epoch_(epoch),
      waits_(store, context.out, mode == wire::Mode::sync),
      rounds_(store, members, waits_, maker),
      inbox_(store, rounds_, context.out, mode == wire::Mode::sync),
      row_pulls_(context, store, members, waits_, epoch) {}

// ---- what can be said of a push before its gradients are here

namespace {

template <class... Parts>
PushVerdict refused(Code code, const Peer& peer, const Parts&... why) {
  return {PushVerdict::Kind::fail, code, text(peer.name(), ": ", why...)};
}

}  // namespace

PushVerdict Exchange::check(PeerId from, const wire::Push& p, uint64_t bulk) {
  const Peer& peer = context_.peers[from];
  if (p.epoch != epoch_)
    return refused(Code::stale_epoch, peer, "its push belongs to epoch ", p.epoch,
                   ", the job is in epoch ", epoch_, ": greet again");
  if (p.parts.empty()) return refused(Code::protocol, peer, "it pushed nothing");
  if (p.parts.size() > 1 && bulk > max_group_bytes)
    return refused(Code::protocol, peer, "it pushed ", p.parts.size(), " slices of ", bulk,
                   " bytes together; at most ", max_group_bytes, " are possible");
  uint64_t bytes = 0;
  bool any = false;
  for (const wire::PushPart& part : p.parts) {
    PushVerdict v = check_part(peer, p, part, bytes);
    if (v.kind == PushVerdict::Kind::fail) return v;
    any = any || v.kind == PushVerdict::Kind::take;
  }
  if (bulk != bytes)
    return refused(Code::protocol, peer, "its gradient for '",
                   store_.part(p.parts[0].slice)->info().name,
                   p.parts.size() > 1 ? "' and others" : "'", ", step ", p.step, ", has ", bulk,
                   " bytes, expected ", bytes);
  return {any ? PushVerdict::Kind::take : PushVerdict::Kind::duplicate, {}, {}};
}

PushVerdict Exchange::check_part(const Peer& peer, const wire::Push& p, const wire::PushPart& part,
                                 uint64_t& bytes) {
  const Versioned* slice = store_.part(part.slice);
  if (slice == nullptr)
    return refused(Code::unknown_version, peer, "there is no slice ", part.slice, " on this shard");
  const std::optional<uint64_t> needs = slice->gradient_bytes(part.rows);
  if (!needs || (p.parts.size() > 1 && table_of(store_, part.slice)))
    return refused(Code::protocol, peer, "it pushed ", part.rows, " rows of '", slice->info().name,
                   "' together with ", p.parts.size() - 1, " others, which is not possible");
  const Member& member = members_[peer.trainer];
  if (member.state != MemberState::joined)
    return refused(Code::protocol, peer, "it pushed to '", slice->info().name,
                   "' without having joined");
  bytes += *needs;
  const uint64_t version = slice->version();
  const bool duplicate = p.step < member.taken(slice->info().place) || (sync() && p.step < version);
  if (duplicate) return {PushVerdict::Kind::duplicate, {}, {}};
  if (sync() && p.step > version)
    return refused(Code::protocol, peer, "it pushed step ", p.step, " of '", slice->info().name,
                   "', which is at version ", version);
  if (!sync() && part.based_on > version)
    return refused(Code::stale_epoch, peer, "its gradient for '", slice->info().name,
                   "' is based on version ", part.based_on, ", and here is version ", version,
                   ": greet again");
  return {};
}

LandingPlace Exchange::land(PeerId peer, const wire::Push& p, uint64_t bulk) {
  Inbox::Landing& l = inbox_[peer];
  if (l.data != nullptr)  // it was held, and has its place now
    return {LandingPlace::Kind::into, {l.data, l.bytes}};
  inbox_.release(peer);
  l.verdict = check(peer, p, bulk);
  if (l.verdict->kind != PushVerdict::Kind::take) return {};
  return inbox_.place(peer, context_.peers[peer].trainer, p.parts, bulk);
}

// ---- pushes

void Exchange::push(PeerId peer, uint64_t id, const wire::Push& p, uint64_t bulk) {
  Inbox::Landing& l = inbox_[peer];
  if (!l.verdict) l.verdict = check(peer, p, bulk);  // there was no bulk
  if (l.verdict->kind == PushVerdict::Kind::take)
    if (const std::string why = gradient_problem(store_, l, p); !why.empty())
      l.verdict = refused(Code::protocol, context_.peers[peer], why);
  if (l.verdict->kind == PushVerdict::Kind::fail) {
    if (l.verdict->code == Code::protocol) context_.error(l.verdict->why);
    context_.out.fail(peer, id, l.verdict->code, std::move(l.verdict->why));
  } else if (l.verdict->kind == PushVerdict::Kind::duplicate) {
    answer(peer, id, p);
  } else if (const Versioned* bad = find_infinite(peer, p)) {
    refuse_infinite(peer, id, p, *bad);
  } else {
    Member& member = members_[context_.peers[peer].trainer];
    // In async a gradient of rows may overtake merged ones of parameters, whose steps are older.
    const auto before = member.last_push;
    if (!before || p.step >= before->step)
      member.last_push = wire::LastPush{p.step, p.begin, p.end};
    if (sync()) {
      contribute(peer, id, p);
    } else if (const Versioned* bad_sum = apply(peer, id, p)) {
      member.last_push = before;
      refuse_infinite(peer, id, p, *bad_sum);
    } else {
      answer_applied(peer, id, p);
    }
  }
  inbox_.release(peer);
  inbox_.serve_held();
}

// A slice whose gradient holds NaN or Inf, or, where new values were made as it came in, makes such
// a value; or null.
const Versioned* Exchange::find_infinite(PeerId peer, const wire::Push& p) {
  const Inbox::Landing& l = inbox_[peer];
  largest_.clear();
  if (l.slice != nullptr) {
    largest_.push_back(l.largest);
    return !l.finite || l.seen != l.bytes ? l.slice : nullptr;
  }
  std::byte* at = l.data;
  for (const wire::PushPart& part : p.parts) {
    Versioned& s = *store_.part(part.slice);
    largest_.push_back(s.largest_in({at, part.rows}));
    if (!std::isfinite(largest_.back())) return &s;
    at += *s.gradient_bytes(part.rows);
  }
  return nullptr;
}

void Exchange::refuse_infinite(PeerId peer, uint64_t id, const wire::Push& p,
                               const Versioned& slice) {
  ++members_[context_.peers[peer].trainer].staleness.not_finite;
  const std::string why = text(
      context_.peers[peer].name(), ": its gradient for '", slice.info().name, "', step ", p.step,
      ", holds NaN or Inf, or is so large that the parameter would become infinite, and was not "
      "applied: lower the learning rate, clip gradients or look at the data of this batch");
  context_.error(why);
  context_.out.fail(peer, id, Code::not_finite, why);
}

// Sync. All gradients are added before the answer is prepared, and rounds close after that: the
// answer may be due at once.
void Exchange::contribute(PeerId peer, uint64_t id, const wire::Push& p) {
  Inbox::Landing& l = inbox_[peer];
  Member& member = members_[context_.peers[peer].trainer];
  std::byte* at = l.data != nullptr ? l.data : no_rows;
  for (const wire::PushPart& part : p.parts) {
    Versioned& s = *store_.part(part.slice);
    std::byte* grad = at;
    at += *s.gradient_bytes(part.rows);
    // The slice may have gone on while the gradient was coming, without this trainer.
    if (s.version() != p.step || member.contributed(s.info().place, p.step)) continue;
    const bool in_spare = l.where == Inbox::Landing::Where::spare;
    if (in_spare) l.where = Inbox::Landing::Where::nowhere;
    rounds_.contribute(s, member, {in_spare ? nullptr : grad, part.rows}, l.buffer, context_.now);
    ++member.staleness.applied;
  }
  answer(peer, id, p);
  for (const wire::PushPart& part : p.parts) rounds_.close(*store_.part(part.slice));
}

// As v2 counts: the update itself is one, and a ratio up to 1 means 1.5. A single trainer would see
// all its gradients dropped, so at least one foreign update must lie between.
bool Exchange::too_old(uint64_t stale) const {
  const ShardOptions& o = context_.options;
  if (o.stale.max_staleness > 0 && stale > o.stale.max_staleness) return true;
  const double ratio = o.stale.discard_ratio > 1 ? o.stale.discard_ratio : 1.5;
  const auto trainers = static_cast<double>(members_.all().size());
  return o.stale.discard_ratio > 0 &&
         static_cast<double>(stale + 1) >= std::max(2.0, std::floor(ratio * trainers));
}

// Async, half-async, geo: the update happens here and now. A slice that would become infinite, and
// stays as it was, or null.
const Versioned* Exchange::apply(PeerId peer, uint64_t id, const wire::Push& p) try {
  const Inbox::Landing& l = inbox_[peer];
  Member& member = members_[context_.peers[peer].trainer];
  std::byte* at = l.data != nullptr ? l.data : no_rows;
  const Versioned* refused = nullptr;
  values_.clear();
  for (size_t k = 0; k < p.parts.size(); ++k) {
    const wire::PushPart& part = p.parts[k];
    Versioned& s = *store_.part(part.slice);
    std::byte* grad = at;
    at += *s.gradient_bytes(part.rows);
    bool drops = false;
    if (p.step >= member.taken(s.info().place)) {
      const uint64_t stale = s.version() - part.based_on;
      Staleness& counts = member.staleness;
      counts.lagged(stale);
      drops = too_old(stale);
      if (drops) {
        ++counts.dropped;
        member.steps[s.info().place] = p.step + 1;
      } else if (!rounds_.apply(s, member, p.step + 1, {grad, part.rows, largest_[k]},
                                mode_ == wire::Mode::geo)) {
        refused = &s;
      } else {
        ++counts.applied;
      }
    }
    values_.push_back({s.version(), part.slice, drops ? 1u : 0u});
  }
  return refused;
} catch (const Error& e) {  // the job ends; in sync the failure reaches the trainer as the answer
                            // to its wait
  context_.out.fail(peer, id, Code::job_failed, e.what());
  throw;
}

void Exchange::answer_applied(PeerId peer, uint64_t id, const wire::Push& p) {
  if (!p.pull) return context_.out.send(peer, id, wire::Ack{});
  context_.out.begin_values(peer, id, false);
  bool live = true;  // as in Waits
  for (const wire::ValuesPart& v : values_) {
    const Slice* s = store_.slice(v.slice);
    context_.out.add_part(v, s == nullptr ? Bytes{} : s->values());
    live = live && s != nullptr && s->lowered();
  }
  context_.out.last().live = live;
}

// The versions that this push makes, or an Ack.
void Exchange::answer(PeerId peer, uint64_t id, const wire::Push& p) {
  if (!p.pull) return context_.out.send(peer, id, wire::Ack{});
  wanted_.clear();
  for (const wire::PushPart& part : p.parts)
    wanted_.push_back({sync() ? p.step + 1 : 0, part.slice, 0});
  const Peer& who = context_.peers[peer];
  waits_.await(who, peer, id, wanted_, members_[who.trainer], context_.now);
}

// ---- pulls

void Exchange::pull(PeerId peer, uint64_t id, const wire::Pull& p) {
  if (p.epoch != epoch_)
    return context_.out.fail(peer, id, Code::stale_epoch,
                             text("the pull belongs to epoch ", p.epoch, ", the job is in epoch ",
                                  epoch_, ": greet again"));
  const Member& member = members_[context_.peers[peer].trainer];
  bool ahead = false;
  for (const wire::PullPart& part : p.parts) {
    const Versioned* slice = store_.part(part.slice);  // of a table the version alone
    if (slice == nullptr)
      return context_.out.fail(peer, id, Code::unknown_version,
                               text("there is no slice ", part.slice, " on this shard"));
    ahead = ahead || (part.version == member.first_round && part.version > slice->version());
  }
  waits_.await(context_.peers[peer], peer, id, p.parts, member, context_.now);
  if (sync() && ahead) fail_unreachable_pulls();
}

// Those who joined ahead of the others, where the others have left before they got there.
void Exchange::fail_unreachable_pulls() {
  for (const Versioned* s : store_.parts())
    if (waits_.any(s->info().place) && rounds_.abandoned(*s))
      return waits_.fail_all(Code::stale_epoch,
                             text("all others have left at step ", s->version(), ": greet again"));
}

void Exchange::abandon(PeerId peer) {
  waits_.forget(peer);
  row_pulls_.forget(peer);
  discard(peer);
}

void Exchange::discard(PeerId peer) {
  inbox_.release(peer);
  inbox_.serve_held();
}

void Exchange::members_changed() {
  if (!sync()) return;
  rounds_.members_changed();
  fail_unreachable_pulls();
  inbox_.serve_held();
}

}  // namespace paddle
