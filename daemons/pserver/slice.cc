#include "pserver/slice.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "optim/merge.h"

namespace paddle {

Slice::Slice(SliceInfo info, const Program& program, Scope& scope, ThreadPool& pool,
             const SliceOptions& options)
    : info_(std::move(info)),
      variable_(scope.var(info_.name)),
      update_(program, info_.block, info_.name, info_.grad, scope, pool, options.may_lower),
      keeps_previous_(options.keeps_previous),
      contributed_(options.trainers, false),
      steps_(options.trainers, 0) {
  const Tensor& values = variable_.tensor;
  if (keeps_previous_) other_ = Tensor(values.dtype(), values.shape());
  for (uint32_t t = 0; t < options.trainers; ++t)
    inboxes_.emplace_back(values.dtype(), values.shape());
  grads_.reserve(options.trainers);
}

bool Slice::finite(uint32_t trainer, size_t first, size_t count) const {
  const Tensor& t = inboxes_[trainer];
  return with_float(t.dtype(), [&](auto z) {
    using T = decltype(z);
    return optim::all_finite<T>(t.data<T>() + first / sizeof(T),
                                static_cast<int64_t>(count / sizeof(T)));
  });
}

void Slice::contribute(uint32_t trainer) {
  if (!contributed_[trainer]) ++contributors_;
  contributed_[trainer] = true;
}

void Slice::close_round() {
  assert(contributors_ > 0);
  grads_.clear();
  for (size_t t = 0; t < inboxes_.size(); ++t)
    if (contributed_[t]) grads_.push_back(inboxes_[t].raw());
  advance(grads_);
  contributed_.assign(contributed_.size(), false);
  contributors_ = 0;
}

void Slice::apply(uint32_t trainer) {
  const void* grad = inboxes_[trainer].raw();
  advance({&grad, 1});
}

void Slice::add(uint32_t trainer) {
  const Tensor &values = variable_.tensor, &delta = inboxes_[trainer];
  with_float(values.dtype(), [&](auto z) {
    using T = decltype(z);
    optim::add<T>(delta.data<T>(), values.numel(), values.data<T>());
  });
  ++version_;
}

// A lowered update writes the other buffer, and both change places. A plan works on the variable's
// own memory, so there the old values step aside.
void Slice::advance(std::span<const void* const> grads) {
  Tensor& values = variable_.tensor;
  if (!keeps_previous_) {
    update_.run(grads, values, values, version_);
  } else if (update_.lowered()) {
    update_.run(grads, values, other_, version_);
    std::swap(values, other_);
  } else {
    std::memcpy(other_.raw(), values.raw(), values.bytes());
    update_.run(grads, values, values, version_);
  }
  has_previous_ = keeps_previous_;
  ++version_;
}

void Slice::restart(uint64_t version) {
  version_ = version;
  has_previous_ = false;
  contributed_.assign(contributed_.size(), false);
  contributors_ = 0;
  steps_.assign(steps_.size(), 0);
}

}  // namespace paddle
