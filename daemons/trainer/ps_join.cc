#include "trainer/ps_join.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace paddle {
namespace {

using Action = JoinDecision::Action;
using State = wire::ShardState;

std::vector<size_t> all_of(const std::vector<Greeting>& shards) {
  std::vector<size_t> out(shards.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = i;
  return out;
}

std::vector<size_t> holding(const std::vector<Greeting>& shards) {
  std::vector<size_t> out;
  for (size_t i = 0; i < shards.size(); ++i)
    if (shards[i].holds) out.push_back(i);
  return out;
}

// The newest step that every shard can go back to; none where there is no common one.
std::optional<uint64_t> common_snapshot(const std::vector<Greeting>& shards) {
  std::optional<std::set<uint64_t>> common;
  for (const size_t i : holding(shards)) {
    std::set<uint64_t> both;
    for (const uint64_t step : shards[i].snapshots)
      if (!common || common->count(step)) both.insert(step);
    common = std::move(both);
  }
  return !common || common->empty() ? std::nullopt : std::optional(*common->rbegin());
}

// Where a shard has a gradient of `step`, this trainer began it: whatever comes between two steps,
// such as saving the model of a pass, is done. The end of the step before says less.
std::optional<wire::Position> place_before(const std::vector<Greeting>& shards, uint64_t step) {
  std::optional<wire::Position> behind;
  for (const Greeting& g : shards) {
    if (!g.last_push) continue;
    if (g.last_push->step == step) return g.last_push->begin;
    if (g.last_push->step + 1 == step && !behind) behind = g.last_push->end;
  }
  return behind;
}

// Behind the newest step before `step` that this trainer pushed.
std::optional<wire::Position> last_place(const std::vector<Greeting>& shards, uint64_t step) {
  const wire::LastPush* newest = nullptr;
  for (const Greeting& g : shards)
    if (g.last_push && g.last_push->step < step && (!newest || g.last_push->step > newest->step))
      newest = &*g.last_push;
  return newest ? std::optional(newest->end) : std::nullopt;
}

// Back to the newest common snapshot, or else to the first values.
JoinDecision go_back(const std::vector<Greeting>& shards, uint64_t epoch, uint64_t first_step,
                     const std::string& why) {
  JoinDecision d{.shards = holding(shards), .epoch = epoch + 1, .why = why};
  if (const auto step = common_snapshot(shards)) {
    d.action = Action::rollback;
    d.step = *step;
  } else {
    d.action = Action::configure;
    d.step = first_step;
    d.reset = true;
  }
  return d;
}

// A rollback that another trainer began and did not finish: the shards that are behind follow the
// others.
JoinDecision follow(const std::vector<Greeting>& shards, uint64_t epoch, uint64_t first_step) {
  JoinDecision d{.action = Action::rollback, .epoch = epoch};
  std::optional<uint64_t> step;
  for (size_t i = 0; i < shards.size(); ++i) {
    const Greeting& g = shards[i];
    if (g.epoch == epoch && !g.slices.empty()) step = g.slices[0].version;
    if (g.epoch < epoch && g.holds) d.shards.push_back(i);
  }
  if (!step) return go_back(shards, epoch, first_step, "all pservers with slices came back");
  d.step = *step;
  const bool all_have = std::all_of(d.shards.begin(), d.shards.end(), [&](size_t i) {
    const auto& have = shards[i].snapshots;
    return std::find(have.begin(), have.end(), d.step) != have.end();
  });
  d.why = text("the job goes back to step ", d.step);
  if (all_have) return d;
  if (d.step == first_step) {
    d.action = Action::configure;
    d.reset = true;
    return d;
  }
  return go_back(shards, epoch, first_step, "not every pserver has step " + std::to_string(d.step));
}

JoinDecision join_sync(const std::vector<Greeting>& shards, uint64_t epoch,
                       const JoinQuestion& question) {
  bool lost = false, any = false;
  uint64_t next = ~uint64_t{0}, newest = 0;
  for (const Greeting& g : shards) {
    lost = lost || g.lost;
    for (const Greeting::Slice& s : g.slices) {
      any = true;
      next = std::min(next, s.version + (s.contributed ? 1 : 0));
      newest = std::max(newest, s.version);
    }
  }
  if (!any) next = newest = question.first_step;
  JoinDecision d{.action = Action::join, .shards = all_of(shards), .epoch = epoch};
  if (lost || question.margin > 0) {
    d.step = newest + question.margin;
    d.place = place_before(shards, d.step);
    if (!d.place) d.place = last_place(shards, d.step);
    return d;
  }
  // What this trainer has contributed to counts as closed: only others are missing there.
  for (const Greeting& g : shards)
    for (const Greeting::Slice& s : g.slices)
      if (s.version + (s.contributed ? 1 : 0) > next + 1)
        return go_back(shards, epoch, question.first_step,
                       text("pserver ", g.endpoint, " stands at step ", s.version,
                            " and others at step ", next));
  // A pserver that came back from a snapshot, or has begun to take the next gradients, has no
  // version before its present one.
  for (const Greeting& g : shards)
    if (!g.slices.empty() && next < g.oldest)
      return go_back(shards, epoch, question.first_step,
                     text("pserver ", g.endpoint, " has no values before step ", g.oldest,
                          " and others stand at step ", next));
  d.step = next;
  d.place = place_before(shards, next);
  if (!d.place)
    d.place = last_place(shards, next);  // rounds went on after this trainer had finished
  return d;
}

// Behind the last step that was applied anywhere; half-async computes steps again that some slices
// lack, and the others ignore them. (More than one is missing only where a pserver came back from a
// snapshot.)
JoinDecision join_async(const std::vector<Greeting>& shards, uint64_t epoch,
                        const JoinQuestion& question) {
  const uint64_t first = question.first_step;
  JoinDecision d{.action = Action::join, .shards = all_of(shards), .epoch = epoch, .step = first};
  uint64_t least = ~uint64_t{0};
  bool any = false;
  d.knows_step = false;
  for (const Greeting& g : shards) {
    d.unknown_steps = d.unknown_steps || g.forgot;
    for (const Greeting::Slice& s : g.slices) {
      any = true;
      if (s.steps == wire::unknown_steps) {
        d.unknown_steps = true;
        continue;
      }
      d.knows_step = true;
      d.step = std::max(d.step, s.steps);
      least = std::min(least, std::max(first, s.steps));
    }
    if (g.last_push && (!d.place || g.last_push->end.samples > d.place->samples))
      d.place = g.last_push->end;
  }
  d.knows_step = d.knows_step || !any;
  const auto place = place_before(shards, least);
  if (question.mode == wire::Mode::half_async && least < d.step && (place || least == first)) {
    d.step = least;
    d.place = place;
  }
  return d;
}

}  // namespace

Greeting read_greeting(const wire::Welcome& w, const std::string& endpoint) {
  Greeting g{.endpoint = endpoint,
             .instance = w.instance,
             .epoch = w.epoch,
             .oldest = w.oldest,
             .state = w.state,
             .trainer = w.trainer,
             .init = w.values_digest,
             .configured_by = w.configured_by,
             .slices = {},
             .snapshots = w.snapshots,
             .lost = w.lost,
             .forgot = w.forgot,
             .end = w.result  ? Greeting::End::result
                    : w.saved ? Greeting::End::saved
                              : Greeting::End::none,
             .last_push = w.last_push};
  for (const wire::SliceState& s : w.slices)
    g.slices.push_back({s.slice, s.version, s.contributed, s.last_step});
  return g;
}

// No step is computed again for a trainer that is only waiting for trainer 0 to save, nor for a new
// process of one that had finished.
bool knows_end(const Greeting& shard, const JoinQuestion& question) {
  return shard.trainer != 0 && (shard.end == Greeting::End::result ||
                                (shard.end == Greeting::End::saved && question.finished));
}

JoinDecision decide(const std::vector<Greeting>& shards, const JoinQuestion& question) {
  for (const Greeting& g : shards)
    if (knows_end(g, question)) return {.action = Action::over};
  uint64_t epoch = 0;
  std::vector<size_t> empty, behind, idle_empty, idle_behind;
  const Greeting* ready = nullptr;  // one of the newest epoch
  for (const Greeting& g : shards) {
    if (g.state == State::stopping)
      return {.why = "pserver " + g.endpoint + " is stopping: waiting for it to return"};
    if (g.state == State::configuring)
      return {.why = text("waiting for ", g.configured_by, " to configure pserver ", g.endpoint)};
    epoch = std::max(epoch, g.epoch);
  }
  bool moved_on = false;  // a shard of the newest epoch is past its first values
  for (size_t i = 0; i < shards.size(); ++i) {
    const Greeting& g = shards[i];
    if (g.state == State::empty) {
      (g.holds ? empty : idle_empty).push_back(i);
    } else if (g.epoch < epoch) {
      (g.holds ? behind : idle_behind).push_back(i);
    } else {
      if (ready == nullptr || g.holds) ready = &g;
      for (const Greeting::Slice& s : g.slices)
        moved_on = moved_on || s.version != question.first_step || s.contributed || s.steps > 0;
    }
  }
  if ((ready == nullptr && !empty.empty()) || (!empty.empty() && question.mode != wire::Mode::sync))
    return {.action = Action::configure,
            .shards = empty,
            .epoch = epoch,
            .step = question.first_step,
            .continues = question.lives && question.mode != wire::Mode::sync,
            .why = ready == nullptr || !moved_on
                       ? ""
                       : text("pserver ", shards[empty[0]].endpoint,
                              " came back empty: it gets this trainer's values")};
  if (!empty.empty()) {
    const std::string& without = shards[empty[0]].endpoint;
    if (moved_on)
      return go_back(shards, epoch, question.first_step,
                     "pserver " + without + " came back without its state");
    if (ready->init != question.init && question.configurer_timed_out)
      return go_back(shards, epoch, question.first_step,
                     text(ready->configured_by, " did not configure pserver ", without,
                          ": this trainer's first values count"));
    if (ready->init != question.init)
      return {.why = text("waiting for ", ready->configured_by, " to configure pserver ", without)};
    // At the start of a job, or where a trainer began to send all back to the first values.
    JoinDecision d{.action = Action::configure,
                   .shards = empty,
                   .epoch = epoch,
                   .step = question.first_step,
                   .reset = !behind.empty()};
    d.shards.insert(d.shards.end(), behind.begin(), behind.end());
    return d;
  }
  if (!behind.empty()) return follow(shards, epoch, question.first_step);
  for (const auto* idle : {&idle_empty, &idle_behind})
    if (!idle->empty())
      return {.action = Action::configure,
              .shards = *idle,
              .epoch = epoch,
              .step = question.first_step,
              .reset = idle == &idle_behind};
  return question.mode == wire::Mode::sync ? join_sync(shards, epoch, question)
                                           : join_async(shards, epoch, question);
}

}  // namespace paddle
