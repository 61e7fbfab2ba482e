// How values get here: Configure and SetValue, a snapshot, Rollback.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "io/program_buffer.h"
#include "pserver/shard.h"

namespace paddle {
namespace {

Shape shape_of(const wire::ConfiguredVariable& v) {
  require(v.dims.size() <= Shape::max_rank, Error::Kind::config, "the variable '", v.name, "' has ",
          v.dims.size(), " dimensions; at most ", Shape::max_rank, " are possible");
  return Shape(v.dims);
}

}  // namespace

std::unique_ptr<Store> Shard::read_configuration(const wire::Configure& c) const {
  StoreConfig config;
  config.program = from_flatbuffer(c.program);
  for (const wire::ConfiguredSlice& s : c.slices)
    config.slices.push_back({.id = s.id, .name = s.name, .grad = s.grad, .block = s.block});
  for (const wire::ConfiguredVariable& v : c.variables)
    config.variables.push_back({v.name, static_cast<DType>(v.dtype), shape_of(v)});
  if (options_.check) {
    const std::string why = options_.check(config);
    require(why.empty(), Error::Kind::config, why);
  }
  check_presets(config);
  return std::make_unique<Store>(std::move(config), identity_->trainers, sync());
}

// The first wins. Whoever comes second greets again and finds the winner's name. Only a refusal is
// answered here; then the values that follow are let through without a word.
void Shard::configure(Peer& peer, uint64_t id, const wire::Configure& c) {
  const auto no = [&](Code code, const std::string& why) {
    peer.values_unwanted = true;
    fail(peer, id, code, why);
  };
  const bool may_reset = c.reset && c.epoch > epoch_;
  if (state_ == wire::ShardState::configuring && configurer_ != &peer && !may_reset)
    return no(Code::stale_epoch, text(configured_by_, " is sending the first values: greet again"));
  if (c.epoch < epoch_ || (state_ == wire::ShardState::ready && !may_reset))
    return no(Code::stale_epoch, text("this shard has values already, from ", configured_by_,
                                      " (epoch ", epoch_, "): greet again"));
  require(!options_.sparse, Error::Kind::protocol,
          "this port serves sparse tables and takes no slices");
  require(c.init.size() <= 256, Error::Kind::protocol, "a digest of ", c.init.size(), " bytes");
  std::unique_ptr<Store> store;
  try {
    store = read_configuration(c);
  } catch (Error& e) {
    const std::string why =
        e.within("reading the configuration that ", peer.name(), " sent").what();
    note_error(why);
    return no(Code::refused, why);
  }
  peer.values_unwanted = false;
  drop_store(text(peer.name(), " configures this shard anew"));
  store_ = std::move(store);
  rounds_.assign(store_->slices().size(), {});
  for (Round& r : rounds_) r.pulls.reserve(identity_->trainers);
  state_ = wire::ShardState::configuring;
  configurer_ = &peer;
  configured_by_ = peer.name();
  init_ = c.init;
  epoch_ = c.epoch;
  base_step_ = c.step;
  if (c.reset) {
    members_->begin_again(Clock::now());
    last_pushes_.assign(last_pushes_.size(), {});
  }
  if (snapshots_) c.reset ? snapshots_->remove_after(c.step) : snapshots_->begin_job();
  if (store_->variables().empty()) {  // a shard without slices: there are fewer than shards
    configurer_ = nullptr;
    begin(base_step_);
    ack(peer, id);
  }
}

wire::Landing Shard::land_value(Peer& peer, const wire::SetValue& set, uint64_t bulk) {
  peer.in_place = false;
  if (state_ != wire::ShardState::configuring || configurer_ != &peer || set.epoch != epoch_)
    return wire::Landing::discard();
  if (set.index >= store_->variables().size()) return wire::Landing::discard();
  const Tensor& t = store_->value(set.index);
  if (set.offset > t.bytes() || bulk > t.bytes() - set.offset) return wire::Landing::discard();
  peer.in_place = true;
  return wire::Landing::into(
      {static_cast<std::byte*>(t.raw()) + set.offset, static_cast<size_t>(bulk)});
}

void Shard::set_value(Peer& peer, uint64_t id, const wire::SetValue& set, uint64_t bulk) {
  if (peer.values_unwanted) return;
  const auto no = [&](Code code, const std::string& why) {
    peer.values_unwanted = true;
    fail(peer, id, code, why);
  };
  if (state_ != wire::ShardState::configuring || configurer_ != &peer || set.epoch != epoch_)
    return no(Code::stale_epoch, text("these values are not awaited: ",
                                      configured_by_.empty() ? "nobody" : configured_by_,
                                      " configures this shard: greet again"));
  if (bulk > 0 && !peer.in_place) {
    const bool known = set.index < store_->variables().size();
    const std::string where =
        known ? text("'", store_->variables()[set.index].name, "', which has ",
                     store_->value(set.index).bytes(), " bytes")
              : text("variable ", set.index, ", and there are ", store_->variables().size());
    become_empty(text("the values that ", peer.name(), " sent do not fit"));
    return no(Code::protocol,
              text(bulk, " bytes from offset ", set.offset, " on do not fit ", where));
  }
  received_ += bulk;
  if (!set.last) return;
  uint64_t expected = 0;
  for (size_t i = 0; i < store_->variables().size(); ++i) expected += store_->value(i).bytes();
  if (received_ != expected) {
    const std::string why = text("the first values are incomplete: ", received_, " of ", expected,
                                 " bytes came from ", peer.name());
    become_empty(why);
    return no(Code::protocol, why);
  }
  configurer_ = nullptr;
  take_presets();
  log_info(text("port ", port(), ": ", peer.name(), " configured ", store_->slices().size(),
                " slices, ", expected, " bytes, at step ", base_step_));
  begin(base_step_);
  if (snapshots_) snapshot_all(base_step_);
  ack(peer, id);
}

// A value that was loaded for a variable that the job does not have is of another model.
void Shard::check_presets(const StoreConfig& config) const {
  for (const auto& [name, value] : options_.presets) {
    const auto v = std::find_if(config.variables.begin(), config.variables.end(),
                                [&n = name](const KeptVariable& k) { return k.name == n; });
    require(v != config.variables.end(), Error::Kind::config, "this pserver loaded '", name,
            "', which the trainer's network does not have");
    require(v->shape == value.shape() && v->dtype == value.dtype(), Error::Kind::config,
            "this pserver loaded '", name, "' as ", name_of(value.dtype()), value.shape(),
            ", and the trainer's network has ", name_of(v->dtype), v->shape);
  }
}

void Shard::take_presets() {
  for (size_t i = 0; i < store_->variables().size(); ++i) {
    const auto preset = options_.presets.find(store_->variables()[i].name);
    if (preset == options_.presets.end()) continue;
    const Tensor& to = store_->value(i);
    std::memcpy(to.raw(), preset->second.raw(), to.bytes());
  }
}

// The values that are in the scope are those of `step`.
void Shard::begin(uint64_t step) {
  store_->start(step);
  for (const Slice& s : store_->slices())
    if (!s.lowered())
      log_detail(1, text("the slice '", s.info().name, "' is updated by its whole block"));
  state_ = wire::ShardState::ready;
  rate_step_ = logged_step_ = last_snapshot_ = step;
  rate_time_ = Clock::now();
  waiting_since_ = {};
}

// Connections that are sending from, or receiving into, the memory end with it.
void Shard::drop_store(const std::string& why) {
  building_.clear();
  received_ = 0;
  configurer_ = nullptr;
  if (!store_) return;
  fail_pending(Code::stale_epoch, why + ": greet again");
  arrived();  // what is small leaves at once
  std::vector<Peer*> busy;
  for (Peer& p : peers_)
    if (p.connection->open() && p.is_trainer() &&
        (p.connection->queued() > 0 || (p.in_place && p.connection->within_frame())))
      busy.push_back(&p);
  for (Peer* p : busy) p->connection->close(why);
  rounds_.clear();
  store_.reset();
}

void Shard::rollback(Peer& peer, uint64_t id, const wire::Rollback& r) {
  if (r.epoch == epoch_ && state_ == wire::ShardState::ready && base_step_ == r.step)
    return ack(peer, id);  // somebody else has asked for the same
  if (r.epoch <= epoch_)
    return fail(peer, id, Code::stale_epoch,
                text("the job is in epoch ", epoch_, ", not before ", r.epoch, ": greet again"));
  if (!snapshots_)
    return fail(peer, id, Code::unknown_version,
                text("there is no snapshot of step ", r.step,
                     ": this pserver runs without --snapshot_dir"));
  try {
    Snapshot s = snapshots_->load(r.step);
    drop_store(text("the job goes back to step ", r.step));
    snapshots_->remove_after(r.step);
    take_up(std::move(s));
  } catch (const Error& e) {
    note_error(e.what());
    if (!store_) become_empty("the snapshot cannot be used");
    snapshots_->set_aside(r.step);
    return fail(peer, id, Code::unknown_version, e.what());
  }
  epoch_ = r.epoch;
  log_warn(text("port ", port(), ": the job goes back to step ", r.step, " (epoch ", epoch_,
                "), asked for by ", peer.name()));
  ack(peer, id);
}

void Shard::take_up(Snapshot s) {
  StoreConfig config{.program = from_flatbuffer(s.program), .variables = s.variables};
  for (const SnapshotSlice& slice : s.slices) config.slices.push_back(slice.info);
  auto store = std::make_unique<Store>(std::move(config), s.identity.trainers,
                                       s.identity.mode == wire::Mode::sync);
  for (size_t i = 0; i < s.values.size(); ++i)
    std::memcpy(store->value(i).raw(), s.values[i].raw(), s.values[i].bytes());
  store_ = std::move(store);
  identity_ = s.identity;
  if (!members_ || members_->count() != s.identity.trainers) begin_members();
  const Time now = Clock::now();
  members_->begin_again(now);
  for (uint32_t t = 0; t < s.members.size(); ++t) {
    last_pushes_[t] = s.members[t].last_push;
    if (s.members[t].finished) members_->restore_finished(t, now);
  }
  rounds_.assign(store_->slices().size(), {});
  init_ = s.init;
  configured_by_ = s.configured_by;
  epoch_ = s.epoch;
  base_step_ = s.step;
  begin(s.step);
  for (size_t i = 0; i < s.slices.size(); ++i) {
    Slice& slice = store_->slices()[i];
    slice.restart(s.slices[i].version);
    for (uint32_t t = 0; t < s.slices[i].steps.size(); ++t)
      slice.set_steps(t, s.slices[i].steps[t]);
  }
}

}  // namespace paddle
