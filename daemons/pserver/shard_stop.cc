// How a shard stops: the step at hand, a snapshot, and the peers learn of it.
#include <algorithm>

#include "pserver/shard.h"

namespace paddle {
namespace {

using Code = wire::FailureCode;
constexpr int settle_seconds = 2;  // for the step at hand, when a signal asks to stop

}  // namespace

void Shard::stop(Time now) {
  context_.now = now;
  if (stopping_) return;
  stopping_ = true;
  const bool waits = maker_.on() && job_ && job_->exchange() && job_->state().sync() &&
                     !job_->state().same_version();
  if (!waits) return finish_stop();
  settle_version_ = job_->exchange()->rounds().highest_version();
  settle_until_ = now + std::chrono::seconds(settle_seconds);
}

// While it stops, a shard whose slices stand between two steps takes what the slower ones lack.
bool Shard::accepted_while_stopping(const wire::Message& m) {
  if (settle_until_ == Time{} || !job_->exchange()) return false;
  if (std::holds_alternative<wire::Pull>(m.body)) return true;
  const auto* push = std::get_if<wire::Push>(&m.body);
  return push != nullptr &&
         std::all_of(push->parts.begin(), push->parts.end(), [&](const wire::PushPart& p) {
           const Slice* s = job_->state().store->find(p.slice);
           return s != nullptr && s->version() < settle_version_;
         });
}

// Every update that was begun is done: updates and this run in one thread.
void Shard::finish_stop() {
  if (context_.out.stopped) return;
  if (maker_.on() && job_ && job_->exchange() && !job_->state().store->slices().empty()) {
    if (!job_->state().sync() || job_->state().same_version()) {
      maker_.begin_all(job_->state().lowest_version());
      maker_.proceed(~size_t{0});
    } else {
      context_.warn(
          "slices stand between two steps, so there is no snapshot of this moment; the one before "
          "stays");
    }
  }
  for (PeerId p = 0; p < context_.peers.size(); ++p) {
    if (!context_.peers[p].open) continue;
    if (context_.peers[p].greeted) context_.out.fail(p, 0, Code::stopping, shard_stopping);
    context_.out.close(p, shard_stopping);
  }
  context_.out.stopped = true;
}

}  // namespace paddle
