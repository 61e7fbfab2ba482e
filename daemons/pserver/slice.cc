#include "pserver/slice.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "optim/merge.h"

namespace paddle {

Slice::Slice(SliceInfo info, const Program& program, Scope& scope, ThreadPool& pool,
             Tensor& scratch, const SliceOptions& options)
    : Versioned(std::move(info)),
      variable_(scope.var(info_.name)),
      update_(program, info_.block, info_.name, info_.grad, scope, pool, scratch, options.may_lower,
              options.plan),
      bytes_(variable_.tensor.bytes()),
      sync_(options.sync) {
  const Tensor& values = variable_.tensor;
  if (sync_) spare_ = Tensor(values.dtype(), values.shape());
  if (sync_ && !lowered()) mean_ = Tensor(values.dtype(), values.shape());
}

double Slice::largest(const std::byte* grad, size_t count) const {
  return with_float(variable_.tensor.dtype(), [&](auto z) {
    using T = decltype(z);
    return static_cast<double>(optim::largest<T>(reinterpret_cast<const T*>(grad),
                                                 static_cast<int64_t>(count / sizeof(T))));
  });
}

void Slice::fail_infinite(uint32_t gradients) const {
  throw Error(
      Error::Kind::numeric, "the update of '", info_.name, "' to version ", version_ + 1,
      " makes NaN or Inf, from ",
      gradients == 1 ? std::string("a gradient that is") : text(gradients, " gradients that are"),
      " finite: lower the learning rate or clip gradients; the last snapshot and the last "
      "model that was saved are from before it");
}

std::span<std::byte> Slice::take_spare() {
  assert(sync_ && summed_ == 0);
  has_previous_ = early_ = false;
  return bytes_of(spare_);
}

void Slice::begin_early() {
  assert(can_make_early() && !has_previous_);
  early_ = true;
  update_.read_numbers();
}

bool Slice::make_early(size_t begin, size_t end) {
  const size_t size = size_of(spare_.dtype());
  return update_.run_part(variable_.tensor, spare_, static_cast<int64_t>(begin / size),
                          static_cast<int64_t>(end / size));
}

void Slice::add_to_sum(const std::byte* grad) {
  if (summed_ == 0) {
    std::memcpy(take_spare().data(), grad, bytes_);
    return begin_sum();
  }
  assert(!early_);
  ++summed_;
  with_float(spare_.dtype(), [&](auto z) {
    using T = decltype(z);
    optim::add<T>(reinterpret_cast<const T*>(grad), spare_.numel(), spare_.data<T>());
  });
}

// A lowered update writes over the sum, if it has not yet. A plan works on the variable's own
// memory, so the old values are copied to the spare buffer, and the sum is kept in a third one.
void Slice::close_round() {
  assert(summed_ > 0);
  Tensor& values = variable_.tensor;
  if (lowered()) {
    if (!early_ && !update_.run(spare_.raw(), summed_, values, spare_, version_))
      fail_infinite(summed_);
    std::swap(values, spare_);
  } else {
    std::swap(spare_, mean_);
    std::memcpy(spare_.raw(), values.raw(), bytes_);
    if (!update_.run(mean_.raw(), summed_, values, values, version_)) {
      std::memcpy(values.raw(), spare_.raw(), bytes_);
      fail_infinite(summed_);
    }
  }
  has_previous_ = true;
  early_ = false;
  summed_ = 0;
  ++version_;
}

bool Slice::apply(std::byte* grad, double largest) {
  const Tensor& values = variable_.tensor;
  if (update_.by_element()) {
    if (!update_.run_in_place(grad, largest, values, bound_)) return false;
  } else if (!update_.run(grad, 1, values, values, version_)) {
    fail_infinite(1);
  }
  ++version_;
  return true;
}

// The sum of two numbers of which neither is above half of the largest one is finite.
bool Slice::add(const std::byte* difference, double largest) {
  const Tensor& values = variable_.tensor;
  const bool added = with_float(values.dtype(), [&](auto z) {
    using T = decltype(z);
    constexpr double most = static_cast<double>(std::numeric_limits<T>::max()) / 2;
    T* p = values.data<T>();
    if (!(bound_ + largest < most))
      bound_ = static_cast<double>(optim::largest<T>(p, values.numel()));
    if (!(bound_ + largest < most)) return false;
    optim::add<T>(reinterpret_cast<const T*>(difference), values.numel(), p);
    return true;
  });
  if (!added) return false;
  bound_ += largest;
  ++version_;
  return true;
}

void Slice::restart(uint64_t version) {
  Versioned::restart(version);
  has_previous_ = early_ = false;
  bound_ = std::numeric_limits<double>::infinity();  // they were not checked
}

}  // namespace paddle
