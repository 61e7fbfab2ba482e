#include "pserver/report.h"

#include "base/suggest.h"
#include "base/version.h"

namespace paddle {
namespace {

wire::MemberStatus member_status(const Context& context, const Member& m) {
  const Staleness& s = m.staleness;
  Traffic traffic = m.traffic;
  for (const Peer& p : context.peers)
    if (p.is_trainer() && p.trainer == m.id) traffic += p.traffic;  // without heartbeats
  wire::MemberStatus out{.trainer = m.id,
                         .state = name_of(m.state),
                         .process = m.holder.process,
                         .seconds = seconds(m.since, context.now),
                         .step = m.last_push ? m.last_push->step : 0,
                         .progress = m.progress,
                         .staleness_max = s.max,
                         .dropped = s.dropped,
                         .not_finite = s.not_finite,
                         .bytes_in = traffic.bytes_in,
                         .bytes_out = traffic.bytes_out,
                         .messages_in = traffic.messages_in,
                         .messages_out = traffic.messages_out,
                         .applied = s.applied,
                         .joins = m.joins};
  if (s.count > 0) out.staleness.assign(s.by_lag.begin(), s.by_lag.end());
  if (s.count > 0) out.staleness_mean = static_cast<double>(s.sum) / static_cast<double>(s.count);
  return out;
}

// Trainers that the round lacks.
std::string lacking(const JobState& job, const Versioned& s) {
  if (!job.sync() || s.summed() == 0) return "";
  Names words;
  for (const uint32_t t : job.exchange->rounds().missing(s)) words.push_back(std::to_string(t));
  return listed(words);
}

// How many open rounds lack the gradient of each trainer.
void count_lacking(const JobState& job, std::vector<wire::MemberStatus>& members) {
  for (const Versioned* s : job.store->parts()) {
    if (!job.sync() || s->summed() == 0) continue;
    for (const uint32_t t : job.exchange->rounds().missing(*s))
      for (wire::MemberStatus& m : members) m.lacking += m.trainer == t;
  }
}

wire::TableStatus table_status(const JobState& job, const TablePart& t) {
  const TableCounters& c = t.table().counters();
  return {.name = t.info().name,
          .part = t.table_info().part,
          .parts = t.table_info().parts,
          .version = t.version(),
          .rows = t.table().rows(),
          .bytes = t.bytes(),
          .created = c.created,
          .not_admitted = c.not_admitted,
          .expired = c.expired,
          .evicted = c.evicted,
          .waiting = lacking(job, t),
          .pulled = c.pulled,
          .missed = c.missed};
}

}  // namespace

std::string build_text() {
  const std::string block = version_block();
  return block.substr(0, block.find(','));
}

wire::Status report(const Context& context, const Job* job, const SnapshotMaker& maker) {
  wire::Status s{.instance = context.instance,
                 .build = build_text(),
                 .job = context.options.job,
                 .sparse = context.options.sparse,
                 .snapshots = maker.steps(),
                 .last_errors = {context.last_errors.begin(), context.last_errors.end()},
                 .waiting = context.options.sparse ? "" : "waiting for the first trainer"};
  if (const auto& memory = context.options.memory) {
    s.memory_held = memory->whole.held();
    s.memory_limit = memory->whole.limit();
  }
  if (job == nullptr) return s;
  const JobState& state = job->state();
  if (state.store) s.memory = state.store->memory();
  s.job = state.identity.job;
  s.mode = state.identity.mode;
  s.state = job->values().state();
  s.epoch = state.epoch;
  s.step = state.lowest_version();
  s.steps_per_second = state.steps_per_second;
  s.totals = state.totals;
  s.waiting = job->waiting_text();
  for (const Member& m : state.members.all()) s.members.push_back(member_status(context, m));
  if (state.exchange)
    for (const Slice& slice : state.store->slices())
      s.slices.push_back(
          {slice.info().name, slice.bytes(), slice.version(), lacking(state, slice)});
  if (state.exchange)
    for (const auto& t : state.store->tables()) s.tables.push_back(table_status(state, *t));
  if (state.exchange) {
    count_lacking(state, s.members);
    s.waiting_requests = state.exchange->waiting();
  }
  return s;
}

wire::Welcome welcome(const Context& context, const Job* job, const SnapshotMaker& maker,
                      const Peer& peer) {
  wire::Welcome w{
      .instance = context.instance, .trainer = peer.trainer, .snapshots = maker.steps()};
  if (job == nullptr) return w;
  const JobState& state = job->state();
  w.epoch = state.epoch;
  w.base = state.base_step;
  w.origins = state.origins;
  w.saved = state.members.saved();
  w.result = has_result(state.members);
  w.state = job->values().state();
  w.values_digest = state.init;
  w.configured_by = state.configured_by;
  const Member* m = wire::takes_part(peer.role) ? &state.members[peer.trainer] : nullptr;
  if (state.exchange)
    for (const Versioned* v : state.store->parts()) {
      const Versioned& s = *v;
      const size_t place = s.info().place;
      w.oldest = std::max(w.oldest, s.version() - (s.has_previous() ? 1 : 0));
      w.slices.push_back({s.info().id, s.version(),
                          m && state.sync() && m->contributed(place, s.version()),
                          m && !state.sync() ? m->taken(place) : 0});
    }
  if (m == nullptr) return w;
  w.last_push = m->last_push;
  w.forgot = !state.sync() && m->forgotten();
  w.lost = context.options.leases.policy == LossPolicy::drop && m->state == MemberState::lost;
  return w;
}

}  // namespace paddle
