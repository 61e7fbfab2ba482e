// What a shard tells: its status, for whom it waits, how fast it is.
#include <time.h>

#include <algorithm>

#include "base/log.h"
#include "base/suggest.h"
#include "base/version.h"
#include "pserver/shard.h"

namespace paddle {
namespace {

double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string trainers_text(const std::vector<uint32_t>& ids) {
  Names words;
  for (const uint32_t t : ids) words.push_back(std::to_string(t));
  return listed(words);
}

}  // namespace

std::string build_text() {
  const std::string block = version_block();
  return block.substr(0, block.find(','));
}

std::vector<uint32_t> Shard::missing(const Slice& slice) const {
  std::vector<uint32_t> out;
  for (uint32_t t = 0; t < members_->count(); ++t)
    if (!slice.contributed(t) && members_->required(t, slice.version())) out.push_back(t);
  return out;
}

uint64_t Shard::lowest_version() const {
  if (!store_ || store_->slices().empty()) return base_step_;
  uint64_t low = UINT64_MAX;
  for (const Slice& s : store_->slices()) low = std::min(low, s.version());
  return low;
}

Shard::Wait Shard::present_wait() const {
  Wait wait;
  for (const Slice& s : store_->slices()) {
    const bool open = s.contributors() > 0 || !rounds_[s.info().place].pulls.empty();
    if (open && sync() && (!wait.slice || s.version() < wait.slice->version())) wait.slice = &s;
  }
  if (wait.slice) {
    wait.trainers = missing(*wait.slice);
    return wait;
  }
  for (uint32_t t = 0; t < members_->count(); ++t)
    if ((*members_)[t].state == MemberState::absent) wait.trainers.push_back(t);
  return wait;
}

// "" where the shard has what it needs.
std::string Shard::waiting_text(Time now) const {
  if (options_.sparse || stopping_) return "";
  if (!members_) return "waiting for the first trainer";
  if (!members_->failure().empty()) return "";
  if (state_ == wire::ShardState::configuring)
    return text("waiting for the first values, which ", configured_by_, " sends");
  if (state_ == wire::ShardState::empty) return "waiting for a trainer that sends the first values";
  auto [slowest, lacks] = present_wait();
  if (lacks.empty()) return "";
  const uint64_t round = slowest ? slowest->version() : lowest_version();
  const Time since = slowest ? rounds_[slowest->info().place].begun : now;
  std::string words = members_->waiting_for(lacks[0], round, since, now);
  lacks.erase(lacks.begin());
  if (!lacks.empty())
    words += text("; and for trainer", lacks.size() > 1 ? "s " : " ", trainers_text(lacks));
  return words;
}

void Shard::measure_rate(Time now) {
  const uint64_t step = lowest_version();
  const double passed = seconds(rate_time_, now);
  if (passed < 0.5 || state_ != wire::ShardState::ready) return;
  steps_per_second_ = static_cast<double>(step - std::min(step, rate_step_)) / passed;
  rate_step_ = step;
  rate_time_ = now;
  if (options_.log_period == 0 || step / options_.log_period == logged_step_ / options_.log_period)
    return;
  logged_step_ = step;
  log_info(text("port ", port(), ": step ", step, ", ",
                static_cast<int64_t>(steps_per_second_ + 0.5), " steps/s"));
}

wire::MemberStatus Shard::member_status(uint32_t t, Time now) const {
  const Member& m = (*members_)[t];
  const Staleness& s = staleness_[t];
  Traffic traffic;  // of the connections that are open
  for (const Peer& p : peers_)
    if (p.greeted && p.role != wire::Role::observer && p.trainer == t && p.connection->open())
      traffic.add(*p.connection);
  return {.trainer = t,
          .state = name_of(m.state),
          .process = m.process,
          .seconds = seconds(m.since, now),
          .step = last_pushes_[t] ? last_pushes_[t]->step : 0,
          .progress = progress_[t],
          .staleness_max = s.max,
          .staleness_mean = s.count == 0 ? 0 : double(s.sum) / double(s.count),
          .dropped = s.dropped,
          .not_finite = s.not_finite,
          .bytes_in = traffic.bytes_in,
          .bytes_out = traffic.bytes_out,
          .messages_in = traffic.messages_in,
          .messages_out = traffic.messages_out};
}

wire::SliceStatus Shard::slice_status(const Slice& s) const {
  const bool open = sync() && s.contributors() > 0;
  return {s.info().name, s.bytes(), s.version(), open ? trainers_text(missing(s)) : ""};
}

void Shard::status(Peer& peer, uint64_t id) {
  const Time now = Clock::now();
  Traffic traffic = traffic_;
  for (const Peer& p : peers_)
    if (p.connection->open()) traffic.add(*p.connection);
  wire::Status out{.instance = instance_,
                   .build = build_text(),
                   .job = identity_ ? identity_->job : options_.job,
                   .mode = identity_ ? identity_->mode : wire::Mode::sync,
                   .state = state_,
                   .sparse = options_.sparse,
                   .epoch = epoch_,
                   .uptime = seconds(started_, now),
                   .step = lowest_version(),
                   .steps_per_second = steps_per_second_,
                   .bytes_in = traffic.bytes_in,
                   .bytes_out = traffic.bytes_out,
                   .messages_in = traffic.messages_in,
                   .messages_out = traffic.messages_out,
                   .cpu_seconds = thread_seconds(),
                   .snapshots = snapshots_ ? snapshots_->steps() : std::vector<uint64_t>{},
                   .last_errors = {last_errors_.begin(), last_errors_.end()},
                   .waiting = waiting_text(now)};
  for (uint32_t t = 0; members_ && t < members_->count(); ++t)
    out.members.push_back(member_status(t, now));
  if (store_ && state_ != wire::ShardState::configuring)
    for (const Slice& s : store_->slices()) out.slices.push_back(slice_status(s));
  peer.connection->send(id, out);
  touch(peer);
}

}  // namespace paddle
