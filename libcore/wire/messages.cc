#include "wire/messages.h"

#include <wire_generated.h>

#include <array>
#include <cstddef>

#include "base/error.h"
#include "base/host.h"
#include "base/version.h"
#include "wire/frame.h"

namespace paddle::wire {
namespace {

// The plain enums are those of the schema.
template <class Plain, class Generated>
constexpr bool same(Plain plain, Generated generated) {
  return static_cast<int>(plain) == static_cast<int>(generated);
}
static_assert(same(Mode::sync, msg::Mode::sync) && same(Mode::async, msg::Mode::asynchronous) &&
              same(Mode::half_async, msg::Mode::half_async) && same(Mode::geo, msg::Mode::geo) &&
              same(Mode::geo, msg::Mode::MAX));
static_assert(same(Role::trainer, msg::Role::trainer) && same(Role::beat, msg::Role::beat) &&
              same(Role::observer, msg::Role::observer) && same(Role::admin, msg::Role::admin) &&
              same(Role::admin, msg::Role::MAX));
static_assert(same(Order::snapshot, msg::Order::snapshot) && same(Order::stop, msg::Order::stop) &&
              same(Order::stop, msg::Order::MAX));
static_assert(same(ShardState::empty, msg::ShardState::empty) &&
              same(ShardState::configuring, msg::ShardState::configuring) &&
              same(ShardState::ready, msg::ShardState::ready) &&
              same(ShardState::stopping, msg::ShardState::stopping) &&
              same(ShardState::stopping, msg::ShardState::MAX));
static_assert(same(Phase::finished, msg::Phase::finished) && same(Phase::bye, msg::Phase::bye) &&
              same(Phase::bye, msg::Phase::MAX));
static_assert(same(FailureCode::protocol, msg::FailureCode::protocol) &&
              same(FailureCode::refused, msg::FailureCode::refused) &&
              same(FailureCode::stale_epoch, msg::FailureCode::stale_epoch) &&
              same(FailureCode::expired, msg::FailureCode::expired) &&
              same(FailureCode::job_failed, msg::FailureCode::job_failed) &&
              same(FailureCode::stopping, msg::FailureCode::stopping) &&
              same(FailureCode::not_finite, msg::FailureCode::not_finite) &&
              same(FailureCode::unknown_version, msg::FailureCode::unknown_version) &&
              same(FailureCode::wait, msg::FailureCode::wait) &&
              same(FailureCode::id_taken, msg::FailureCode::id_taken) &&
              same(FailureCode::job_over, msg::FailureCode::job_over) &&
              same(FailureCode::job_over, msg::FailureCode::MAX));

// And so are the structs that lie in a frame; the generated ones have no public fields to compare
// offsets with, so those of the schema are written out.
static_assert(offsetof(PushPart, based_on) == 0 && offsetof(PushPart, slice) == 8 &&
              offsetof(PushPart, rows) == 12 && sizeof(PushPart) == 16);
static_assert(offsetof(PullPart, version) == 0 && offsetof(PullPart, slice) == 8 &&
              offsetof(PullPart, reserved) == 12 && sizeof(PullPart) == 16);
static_assert(offsetof(ValuesPart, version) == 0 && offsetof(ValuesPart, slice) == 8 &&
              offsetof(ValuesPart, dropped) == 12 && sizeof(ValuesPart) == 16);

constexpr std::array modes = {"sync", "async", "half_async", "geo"};
constexpr std::array shard_states = {"empty", "configuring", "ready", "stopping"};

}  // namespace

const char* name_of(Mode mode) { return modes[static_cast<size_t>(mode)]; }
const char* name_of(ShardState state) { return shard_states[static_cast<size_t>(state)]; }

// The union's number of a type is its place in Body, counted from 1 (read_message.cc).
const char* name_of(const Body& body) {
  static_assert(std::variant_size_v<Body> == static_cast<size_t>(msg::Body::MAX));
  return msg::EnumNameBody(static_cast<msg::Body>(body.index() + 1));
}

Hello make_hello(Role role) {
  Hello hello;
  hello.protocol = protocol_version;
  hello.build = version_text();
  hello.role = role;
  hello.process = this_process();
  return hello;
}

}  // namespace paddle::wire
