#include "sim/fiber.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#if defined(PS_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace paddle::sim {
namespace {

constexpr size_t stack_bytes = 256u << 10;

// Stacks are used again: a history has many processes.
thread_local std::vector<std::unique_ptr<std::byte[]>> free_stacks;

std::unique_ptr<std::byte[]> take_stack() {
  if (free_stacks.empty()) return std::unique_ptr<std::byte[]>(new std::byte[stack_bytes]);
  std::unique_ptr<std::byte[]> out = std::move(free_stacks.back());
  free_stacks.pop_back();
  return out;
}

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(take_stack()) {}

Fiber::~Fiber() { free_stacks.push_back(std::move(stack_)); }

void Fiber::switch_handling() {
  auto* globals = reinterpret_cast<Handling*>(abi::__cxa_get_globals());
  std::swap(*globals, handling_);
}

void Fiber::leaves(void** kept, const void* bottom, size_t size) {
#if defined(PS_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(kept, bottom, size);
#else
  static_cast<void>(kept);
  static_cast<void>(bottom);
  static_cast<void>(size);
#endif
}

void Fiber::entered(void* kept) {
#if defined(PS_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(kept, &caller_bottom_, &caller_size_);
#else
  static_cast<void>(kept);
#endif
}

void Fiber::enter(unsigned int high, unsigned int low) {
  auto* self = reinterpret_cast<Fiber*>((uintptr_t{high} << 32) | low);
  self->entered(nullptr);
  self->body_();
  self->done_ = true;
  self->switch_handling();
  self->leaves(nullptr, self->caller_bottom_, self->caller_size_);
  setcontext(&self->caller_);
}

void Fiber::resume() {
  if (!started_) {
    started_ = true;
    getcontext(&own_);
    own_.uc_stack = {.ss_sp = stack_.get(), .ss_flags = 0, .ss_size = stack_bytes};
    own_.uc_link = nullptr;
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&own_, reinterpret_cast<void (*)()>(enter), 2,
                static_cast<unsigned int>(self >> 32), static_cast<unsigned int>(self));
  }
  void* kept = nullptr;
  switch_handling();
  leaves(&kept, stack_.get(), stack_bytes);
  swapcontext(&caller_, &own_);
#if defined(PS_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
}

void Fiber::pause() {
  switch_handling();
  leaves(&kept_stack_, caller_bottom_, caller_size_);
  swapcontext(&own_, &caller_);
  entered(kept_stack_);
}

}  // namespace paddle::sim
