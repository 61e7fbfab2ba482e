#include "base/interrupt.h"

#include <utility>

namespace paddle {
namespace {

std::function<void()> interrupt_check;  // global, as the waits of a process have no common owner

}  // namespace

void set_interrupt_check(std::function<void()> check) { interrupt_check = std::move(check); }

void check_interrupt() {
  if (interrupt_check) interrupt_check();
}

bool has_interrupt_check() { return static_cast<bool>(interrupt_check); }

}  // namespace paddle
