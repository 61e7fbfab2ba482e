#include "pserver/stopping.h"

#include <algorithm>

namespace paddle {
namespace {

constexpr int settle_seconds = 2;  // for the step at hand, when a signal asks to stop

}  // namespace

void Stopping::begin(Context& context, SnapshotMaker& maker, const Job* job) {
  if (begun_) return;
  begun_ = true;
  const bool waits = maker.on() && job && job->state().exchange && job->state().sync() &&
                     !job->state().same_version();
  if (!waits) return finish(context, maker, job);
  version_ = job->state().exchange->rounds().highest_version();
  until_ = context.now + std::chrono::seconds(settle_seconds);
}

bool Stopping::accepts(const Job& job, const wire::Message& m) const {
  if (!settles() || !job.state().exchange) return false;
  if (std::holds_alternative<wire::Pull>(m.body) || std::holds_alternative<wire::PullRows>(m.body))
    return true;
  const auto* push = std::get_if<wire::Push>(&m.body);
  return push != nullptr &&
         std::all_of(push->parts.begin(), push->parts.end(), [&](const wire::PushPart& p) {
           const Versioned* s = job.state().store->part(p.slice);
           return s != nullptr && s->version() < version_;
         });
}

// Every update that was begun is done: updates and this run in one thread.
void Stopping::finish(Context& context, SnapshotMaker& maker, const Job* job) const {
  if (context.out.stopped) return;
  if (maker.on() && job && job->state().exchange && !job->state().store->parts().empty()) {
    if (!job->state().sync() || job->state().same_version()) {
      maker.begin_all(job->state().lowest_version());
      maker.proceed(~size_t{0});
    } else {
      context.warn(
          "slices stand between two steps, so there is no snapshot of this moment; the one before "
          "stays");
    }
  }
  for (PeerId p = 0; p < context.peers.size(); ++p) {
    if (!context.peers[p].open) continue;
    if (context.peers[p].greeted)
      context.out.fail(p, 0, wire::FailureCode::stopping, shard_stopping);
    context.out.close(p, shard_stopping);
  }
  context.out.stopped = true;
}

}  // namespace paddle
