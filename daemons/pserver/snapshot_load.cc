#include "pserver/snapshot_load.h"

namespace paddle {

SnapshotLoad::SnapshotLoad(const Context& context, SnapshotMaker& maker, std::string by_whom,
                           const wire::Rollback& to)
    : what(to), by(std::move(by_whom)) {
  const auto load = [&maker, step = to.step, result = result_] {
    try {
      result->snapshot = maker.load(step);
    } catch (const Error& e) {
      result->problem = e.what();
    }
    result->done = true;
  };
  context.background ? context.background(load) : load();
}

}  // namespace paddle
