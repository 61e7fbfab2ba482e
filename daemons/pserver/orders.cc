#include "pserver/orders.h"

#include <algorithm>

namespace paddle {
namespace {

using Code = wire::FailureCode;

bool has_values(const JobState& state) {
  return state.exchange != nullptr && !state.store->parts().empty();
}

bool has_snapshot(const SnapshotMaker& maker, uint64_t step) {
  return std::binary_search(maker.steps().begin(), maker.steps().end(), step);
}

}  // namespace

void Orders::take(Context& context, SnapshotMaker& maker, const Job* job, PeerId peer, uint64_t id,
                  const wire::Command& command) {
  const std::string who = context.peers[peer].name();
  if (command.order == wire::Order::stop) {
    context.info(who + " asked this pserver to stop");
    context.out.send(peer, id, wire::Ack{});
    if (context.options.calls.on_stop) context.options.calls.on_stop();
    return;
  }
  if (!maker.on())
    return context.out.fail(peer, id, Code::refused,
                            "this pserver keeps no snapshots: start it with --snapshot_dir");
  if (job == nullptr || !has_values(job->state()))
    return context.out.fail(peer, id, Code::refused, "there are no values here yet");
  context.info(who + " asked for a snapshot");
  snapshot(context, maker, job->state(), peer, id, command.step);
}

// In sync all shards must have it of the same step, or nobody can go back to it.
void Orders::snapshot(Context& context, SnapshotMaker& maker, const JobState& state, PeerId peer,
                      uint64_t id, uint64_t step) {
  const uint64_t lowest = state.lowest_version();
  if (!state.sync()) step = lowest;
  if (has_snapshot(maker, step)) return context.out.send(peer, id, wire::Ack{step});
  const bool now = !state.sync() || (state.same_version() && step == lowest);
  if (!now && step <= state.exchange->rounds().highest_version())
    return context.out.fail(peer, id, Code::wait,
                            text("step ", step, " is over: the shard is at ", lowest));
  if (!maker.add(step, now))
    return context.out.fail(peer, id, Code::wait, "the disk is still busy with other snapshots");
  if (now) context.out.continues = true;
  waiting_.push_back({peer, id, step, state.epoch});
}

void Orders::written(Context& context, const Job* job, uint64_t step, const std::string& problem) {
  check(context, job);
  std::erase_if(waiting_, [&](const Waiting& w) {
    if (w.step != step) return false;
    if (problem.empty())
      context.out.send(w.peer, w.id, wire::Ack{step});
    else
      context.out.fail(w.peer, w.id, Code::refused, problem);
    return true;
  });
}

void Orders::check(Context& context, const Job* job) {
  std::erase_if(waiting_, [&](const Waiting& w) {
    if (job != nullptr && job->state().epoch == w.epoch) return false;
    context.out.fail(
        w.peer, w.id, Code::wait,
        job == nullptr ? "the job has ended" : "the job has gone back to another step");
    return true;
  });
}

void Orders::gone(PeerId peer) {
  std::erase_if(waiting_, [&](const Waiting& w) { return w.peer == peer; });
}

}  // namespace paddle
