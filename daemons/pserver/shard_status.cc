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
  if (state_ == msg::ShardState::configuring)
    return text("waiting for the first values, which ", configured_by_, " sends");
  if (state_ == msg::ShardState::empty) return "waiting for a trainer that sends the first values";
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
  if (passed < 0.5 || state_ != msg::ShardState::ready) return;
  steps_per_second_ = static_cast<double>(step - std::min(step, rate_step_)) / passed;
  rate_step_ = step;
  rate_time_ = now;
  if (options_.log_period == 0 || step / options_.log_period == logged_step_ / options_.log_period)
    return;
  logged_step_ = step;
  log_info(text("port ", port(), ": step ", step, ", ",
                static_cast<int64_t>(steps_per_second_ + 0.5), " steps/s"));
}

flatbuffers::Offset<msg::Member> Shard::member_status(flatbuffers::FlatBufferBuilder& b, uint32_t t,
                                                      Time now) const {
  const Member& m = (*members_)[t];
  const Progress& p = progress_[t];
  const Staleness& s = staleness_[t];
  const auto words = b.CreateString(p.state), error = b.CreateString(p.error);
  const auto beat = msg::CreateBeat(b, t, m.incarnation, p.step, p.pass, p.passes, p.batch,
                                    p.batches, p.samples, p.rate, p.cost, words, error);
  const auto state = b.CreateString(name_of(m.state)), process = b.CreateString(m.process);
  const double mean = s.count == 0 ? 0 : static_cast<double>(s.sum) / static_cast<double>(s.count);
  return msg::CreateMember(b, t, state, process, seconds(m.since, now),
                           places_[t].known ? places_[t].step : 0, beat, s.max, mean, s.dropped,
                           s.not_finite);
}

flatbuffers::Offset<msg::SliceStatus> Shard::slice_status(flatbuffers::FlatBufferBuilder& b,
                                                          const Slice& s) const {
  const bool open = sync() && s.contributors() > 0;
  const auto name = b.CreateString(s.info().name);
  const auto waiting = b.CreateString(open ? trainers_text(missing(s)) : "");
  return msg::CreateSliceStatus(b, name, s.bytes(), s.version(), waiting);
}

void Shard::status(Peer& peer, uint64_t id) {
  const Time now = Clock::now();
  auto& b = peer.connection->builder();
  std::vector<flatbuffers::Offset<msg::Member>> members;
  std::vector<flatbuffers::Offset<msg::SliceStatus>> slices;
  for (uint32_t t = 0; members_ && t < members_->count(); ++t)
    members.push_back(member_status(b, t, now));
  if (store_ && state_ != msg::ShardState::configuring)
    for (const Slice& s : store_->slices()) slices.push_back(slice_status(b, s));
  uint64_t in = bytes_in_, out = bytes_out_;
  for (const Peer& p : peers_)
    if (p.connection->open()) {
      in += p.connection->bytes_in();
      out += p.connection->bytes_out();
    }
  const auto build = b.CreateString(build_text());
  const auto job = b.CreateString(identity_ ? identity_->job : options_.job);
  const auto waiting = b.CreateString(waiting_text(now));
  const auto all_members = b.CreateVector(members);
  const auto all_slices = b.CreateVector(slices);
  const auto steps = b.CreateVector(snapshots_ ? snapshots_->steps() : std::vector<uint64_t>{});
  const auto errors =
      b.CreateVectorOfStrings(std::vector<std::string>(last_errors_.begin(), last_errors_.end()));
  peer.connection->send(
      id, msg::CreateStatus(b, instance_, build, job, identity_ ? identity_->mode : msg::Mode::sync,
                            state_, options_.sparse, epoch_, seconds(started_, now),
                            lowest_version(), steps_per_second_, in, out, thread_seconds(),
                            all_members, all_slices, steps, errors, waiting));
  touch(peer);
}

}  // namespace paddle
