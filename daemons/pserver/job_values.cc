#include "pserver/job_values.h"

#include <cstring>

namespace paddle {
namespace {

using Code = wire::FailureCode;
constexpr size_t copied_per_step = 8u << 20;  // bytes of a snapshot: a few milliseconds
constexpr int max_backs = 5;                  // to one step, without completing a step in between
// Shards that were away learn several new epochs at once, and an empty one all of them. Nobody
// makes a leap after which there is no next epoch.
constexpr uint64_t max_epoch_rise = 1u << 20;

std::string leap_text(uint64_t from, uint64_t to) {
  return text("a leap from epoch ", from, " to epoch ", to,
              ": it rises by one when a job goes back");
}

// Where a trainer stands before `step`: after its push of the step before, or with that of the step
// itself, which may have come already.
std::optional<wire::LastPush> push_before(const std::optional<wire::LastPush>& p, uint64_t step) {
  if (!p || p->step < step || step == 0) return p;
  return wire::LastPush{step - 1, p->begin, p->begin};
}

// Where values come from that are taken from this process at a version.
std::vector<wire::Origin> origins_from(const JobState& now, uint64_t instance, uint64_t version) {
  std::vector<wire::Origin> out = now.origins;
  out.push_back({instance, version});
  if (out.size() > wire::max_origins) out.erase(out.begin());
  return out;
}

// Snapshots of the store from now on.
void watch_store(SnapshotMaker& maker, const JobState& now, uint64_t instance,
                 const Snapshot* from) {
  maker.watch(
      now.store.get(), now.sync(),
      [&now, instance](uint64_t of) {
        Snapshot s{.identity = now.identity,
                   .init = now.init,
                   .configured_by = now.configured_by,
                   .epoch = now.epoch,
                   .step = of,
                   .origins = origins_from(now, instance, of),
                   .program = now.program};
        for (const Member& m : now.members.all())
          s.members.push_back({m.state == MemberState::finished || m.state == MemberState::gone,
                               now.sync() ? push_before(m.last_push, of) : m.last_push});
        return s;
      },
      [&now](size_t place) {
        std::vector<uint64_t> steps;
        for (const Member& m : now.members.all()) steps.push_back(m.steps[place]);
        return steps;
      },
      from);
}

// Where the trainers were, and the versions of the slices.
void restore_members(const Snapshot& from, Members& members, Store& store, Time now) {
  std::vector<Member>& all = members.all();
  for (size_t t = 0; t < from.members.size() && t < all.size(); ++t) {
    all[t].last_push = from.members[t].last_push;
    if (from.members[t].finished) members.finish(all[t].id, now);
  }
  const auto set = [&](size_t place, uint64_t version, const std::vector<uint64_t>& steps) {
    store.parts()[place]->restart(version);
    for (size_t t = 0; t < steps.size() && t < all.size(); ++t) all[t].steps[place] = steps[t];
  };
  for (size_t i = 0; i < from.slices.size(); ++i)
    set(i, from.slices[i].version, from.slices[i].steps);
  for (size_t i = 0; i < from.tables.size(); ++i)
    set(from.slices.size() + i, from.tables[i].version, from.tables[i].steps);
}

}  // namespace

void JobValues::restore(Snapshot snapshot) {
  state_.init = snapshot.init;
  state_.configured_by = snapshot.configured_by;
  state_.origins = snapshot.origins;
  state_.epoch = snapshot.epoch;
  state_.program = snapshot.program;
  state_.base_step = snapshot.step;
  setup_.emplace(snapshot, context_.options.budget());
  while (!setup_->proceed()) {
  }
  finish_setup();
}

// The first wins. Whoever comes second greets again and finds the winner's name. Only a refusal is
// answered here; then the values that follow are discarded without another answer.
// A large one is not copied: that would take as long as reading it.
void JobValues::configure(PeerId from, uint64_t id, wire::Configure given) {
  const auto program = std::make_shared<const std::string>(std::move(given.program));
  const auto shared = std::make_shared<const wire::Configure>(std::move(given));
  const wire::Configure& c = *shared;
  Peer& peer = context_.peers[from];
  const auto no = [&](Code code, const std::string& why) {
    peer.values_unwanted = true;
    context_.out.fail(from, id, code, why);
  };
  const bool may_reset = c.reset && c.epoch > state_.epoch;
  if (setup_ && setup_->configurer() != from && !may_reset)
    return no(Code::stale_epoch,
              text(state_.configured_by, " is sending the first values: greet again"));
  if (c.epoch < state_.epoch || (state_.exchange && !may_reset))
    return no(Code::stale_epoch, text("this shard has values already, from ", state_.configured_by,
                                      " (epoch ", state_.epoch, "): greet again"));
  require(c.epoch - state_.epoch <= max_epoch_rise, Error::Kind::protocol,
          leap_text(state_.epoch, c.epoch));
  require(c.values_digest.size() <= 256, Error::Kind::protocol, "a digest of ",
          c.values_digest.size(), " bytes");
  if (c.reset && goes_in_circles(c.step)) return no(Code::job_failed, state_.failure);
  peer.values_unwanted = false;
  drop(text(peer.name(), " configures this shard anew"));
  setup_.emplace(context_, shared, program, state_.sync(), from, id);
  setup_->continues = c.continues && !state_.sync();
  state_.configured_by = peer.name();
  state_.init = c.values_digest;
  state_.program = program;
  state_.epoch = c.epoch;
  state_.base_step = c.step;
  state_.origins = setup_->continues ? c.origins : std::vector<wire::Origin>{};
  if (c.reset) state_.members.begin_again(0, context_.now);
  c.reset ? maker_.remove_after(c.step) : maker_.begin_job();
  proceed();
}

template <class Set>
LandingPlace JobValues::land(PeerId from, const Set& set, uint64_t bulk) {
  if (!setup_ || setup_->configurer() != from || set.epoch != state_.epoch) return {};
  return setup_->land(set, bulk);
}

template <class Set>
void JobValues::set_value(PeerId from, uint64_t id, const Set& set, uint64_t bulk) {
  Peer& peer = context_.peers[from];
  if (peer.values_unwanted) return;
  const auto no = [&](Code code, const std::string& why) {
    peer.values_unwanted = true;
    context_.out.fail(from, id, code, why);
  };
  if (!setup_ || setup_->configurer() != from || set.epoch != state_.epoch)
    return no(Code::stale_epoch,
              text("these values are not awaited: ",
                   state_.configured_by.empty() ? "nobody" : state_.configured_by,
                   " configures this shard: greet again"));
  const std::string why = setup_->set_value(id, set, bulk);
  if (!why.empty()) {
    const Code code = setup_->not_finite() ? Code::not_finite : Code::protocol;
    drop(text("the values that ", peer.name(), " sent do not fit"));
    forget_configuration();
    refused_ = true;
    return no(code, why);
  }
  if (set.last) return proceed();
  if (std::is_same_v<Set, wire::SetRows>) context_.out.send(from, id, wire::Ack{});
}

template LandingPlace JobValues::land(PeerId, const wire::SetValue&, uint64_t);
template LandingPlace JobValues::land(PeerId, const wire::SetRows&, uint64_t);
template void JobValues::set_value(PeerId, uint64_t, const wire::SetValue&, uint64_t);
template void JobValues::set_value(PeerId, uint64_t, const wire::SetRows&, uint64_t);

void JobValues::rollback(PeerId peer, uint64_t id, const wire::Rollback& r) {
  if (r.epoch == state_.epoch && state_.base_step == r.step) {  // somebody has asked for the same
    if (setup_ && setup_->snapshot) return static_cast<void>(setup_->asked.emplace_back(peer, id));
    if (state_.exchange) return context_.out.send(peer, id, wire::Ack{});
  }
  if (r.epoch <= state_.epoch)
    return context_.out.fail(
        peer, id, Code::stale_epoch,
        text("the job is in epoch ", state_.epoch, ", not before ", r.epoch, ": greet again"));
  require(r.epoch - state_.epoch <= max_epoch_rise, Error::Kind::protocol,
          leap_text(state_.epoch, r.epoch));
  if (!maker_.on())
    return context_.out.fail(peer, id, Code::unknown_version,
                             text("there is no snapshot of step ", r.step,
                                  ": this pserver runs without --snapshot_dir"));
  // The values of now are served until those of the snapshot are here, and stay where it cannot be
  // used.
  if (!load_) load_.emplace(context_, maker_, context_.peers[peer].name(), r);
  load_->asked.push_back({peer, id, r});
  if (load_->done()) finish_load();
}

// Who asked for something else meanwhile is answered by what has become of the job.
void JobValues::finish_load() {
  const SnapshotLoad load = std::move(*load_);
  load_.reset();
  std::vector<SnapshotLoad::Asked> later;
  std::string why = load.problem();
  if (load.what.epoch > state_.epoch && why.empty()) why = go_back(load);
  const Code code = !state_.failure.empty() ? Code::job_failed
                    : why.empty()           ? Code::stale_epoch
                                            : Code::unknown_version;
  for (const SnapshotLoad::Asked& a : load.asked) {
    if (a.what.epoch != load.what.epoch || a.what.step != load.what.step)
      later.push_back(a);
    else if (setup_ && setup_->snapshot && state_.epoch == load.what.epoch)
      setup_->asked.emplace_back(a.peer, a.id);
    else
      context_.out.fail(
          a.peer, a.id, code,
          why.empty() ? text("the job is in epoch ", state_.epoch, ": greet again") : why);
  }
  if (!load.problem().empty()) context_.error(why);
  if (code == Code::unknown_version) maker_.set_aside(load.what.step);
  for (const SnapshotLoad::Asked& a : later) rollback(a.peer, a.id, a.what);
  proceed();
}

// Puts the snapshot in the place of the values, or says why that is not possible.
std::string JobValues::go_back(const SnapshotLoad& load) {
  const uint64_t held = state_.store ? state_.store->memory() : 0;
  if (goes_in_circles(load.what.step)) return state_.failure;
  try {
    if (state_.store) state_.store->give_memory_back();  // for the one that takes its place
    std::optional<Setup> made(std::in_place, load.snapshot(), context_.options.budget());
    drop(text("the job goes back to step ", load.what.step));
    maker_.remove_after(load.what.step);
    setup_ = std::move(made);
  } catch (const Error& e) {
    if (state_.store) state_.store->take_memory_again(held);
    context_.error(e.what());
    return e.what();
  }
  state_.init = setup_->snapshot->init;
  state_.configured_by = setup_->snapshot->configured_by;
  state_.origins = setup_->snapshot->origins;
  state_.program = setup_->snapshot->program;
  state_.epoch = load.what.epoch;
  state_.base_step = load.what.step;
  context_.warn(text("the job goes back to step ", load.what.step, " (epoch ", load.what.epoch,
                     "), asked for by ", load.by));
  return "";
}

void JobValues::proceed() {
  if (load_ && load_->done()) return finish_load();
  try {
    if (setup_ && setup_->proceed()) {
      const std::string missing = setup_->missing();
      missing.empty() ? finish_setup() : refuse_setup(Code::protocol, missing);
    }
  } catch (Error& e) {
    refuse_setup(Code::refused,
                 e.within("reading the configuration that ", state_.configured_by, " sent").what());
  }
  if (setup_) {
    const PeerId held = setup_->made() ? setup_->take_held() : no_peer;
    if (held != no_peer) context_.out.resume(held);
    if (setup_->can_proceed()) context_.out.continues = true;
  }
  if (maker_.unfinished() && maker_.proceed(copied_per_step)) context_.out.continues = true;
  for (size_t i = 0; state_.exchange && i < state_.store->tables().size(); ++i)
    if (state_.store->tables()[i]->expire_some()) context_.out.continues = true;
}

void JobValues::gone(PeerId from) {
  if (load_)
    std::erase_if(load_->asked, [&](const SnapshotLoad::Asked& a) { return a.peer == from; });
  if (!setup_ || setup_->configurer() != from) return;
  drop(text(context_.peers[from].name(), " left while it was sending the first values"));
  forget_configuration();
}

wire::ShardState JobValues::state() const {
  if (setup_) return wire::ShardState::configuring;
  return state_.exchange ? wire::ShardState::ready : wire::ShardState::empty;
}

std::string JobValues::waiting_text() const {
  if (setup_ && setup_->configurer() != no_peer)
    return text("waiting for the first values, which ", state_.configured_by, " sends");
  if (setup_) return "preparing the values";
  return state_.exchange ? "" : "waiting for a trainer that sends the first values";
}

void JobValues::forget_configuration() {
  state_.configured_by.clear();
  state_.init.clear();
}

// Where the shards have nothing that fits together, trainers would send them back for ever.
bool JobValues::goes_in_circles(uint64_t step) {
  const bool moved = state_.exchange && state_.lowest_version() > state_.base_step;
  back_ = {step, moved || back_.step != step ? 1 : back_.times + 1};
  if (back_.times > max_backs)
    state_.fail(
        context_,
        text("the job went back to step ", step, " for the ", back_.times,
             "th time and has not completed a step in between: the values of the pservers do not "
             "fit each other, the logs of all pservers say more; without the snapshots of that "
             "step, or with another --snapshot_dir, the job can go on from an earlier one"));
  return !state_.failure.empty();
}

// What was configured makes no sense, or cannot be run.
void JobValues::refuse_setup(Code code, const std::string& why) {
  const PeerId from = setup_->configurer();
  const uint64_t id = setup_->id;
  const auto asked = std::move(setup_->asked);
  // Also where all values have come, and the peer only waits for the answer.
  const bool of_a_trainer = !setup_->snapshot;
  context_.error(why);
  drop(why);
  forget_configuration();
  refused_ = of_a_trainer;
  if (from != no_peer) {
    context_.peers[from].values_unwanted = true;
    context_.out.fail(from, id, code, why);
  }
  for (const auto& [peer, number] : asked) context_.out.fail(peer, number, code, why);
}

void JobValues::finish_setup() {
  Setup s = std::move(*setup_);
  setup_.reset();
  refused_ = false;
  s.take_presets(context_.options);
  state_.store = s.take_store();
  Store& store = *state_.store;
  store.start(state_.base_step);
  if (s.snapshot) state_.members.begin_again(store.parts().size(), context_.now);
  for (Member& m : state_.members.all())
    m.steps.assign(store.parts().size(), s.continues ? wire::unknown_steps : 0);
  if (s.snapshot) restore_members(*s.snapshot, state_.members, store, context_.now);
  watch_store(maker_, state_, context_.instance, s.snapshot ? &*s.snapshot : nullptr);
  state_.exchange = std::make_unique<Exchange>(context_, store, state_.members, maker_,
                                               state_.identity.mode, state_.epoch);
  for (const Slice& slice : store.slices())
    if (!slice.lowered())
      log_detail(1, text("the slice '", slice.info().name, "' is updated by its whole block"));
  watch_.restart(state_.base_step, context_.now);
  if (!s.snapshot && !(store.variables().empty() && store.tables().empty())) {
    context_.info(text(
        state_.configured_by, " configured ", store.slices().size(), " slices, ", s.bytes(),
        " bytes, ",
        store.tables().empty() ? "" : text("and parts of ", store.tables().size(), " tables, "),
        "at step ", state_.base_step));
    maker_.begin_all(state_.base_step);
  }
  for (const auto& [peer, id] : s.asked)
    if (context_.peers[peer].open) context_.out.send(peer, id, wire::Ack{});
}

// Connections that are sending from, or receiving into, the memory end with it.
void JobValues::drop(const std::string& why) {
  maker_.watch(nullptr, true, {}, {});
  if (setup_) {
    if (setup_->landing() && setup_->configurer() != no_peer)
      context_.out.close(setup_->configurer(), why);
    if (const PeerId held = setup_->take_held(); held != no_peer) context_.out.resume(held);
    retire(setup_->take_store());
    setup_.reset();
  }
  if (!state_.exchange) return;
  state_.exchange->fail_waiting(Code::stale_epoch, why + ": greet again");
  state_.exchange->resume_held();
  for (PeerId p = 0; p < context_.peers.size(); ++p)
    if (context_.peers[p].is_trainer() && state_.exchange->holds_bulk_of(p))
      context_.out.close(p, why);
  state_.exchange.reset();
  retire(std::move(state_.store));
}

// Its memory is free as soon as connections no longer send from it: before values of another store
// come in.
void JobValues::retire(std::unique_ptr<Store> store) {
  if (store) store->give_memory_back();
  context_.retired.push_back(std::move(store));
  context_.out.drops_bulk = true;
}

}  // namespace paddle
