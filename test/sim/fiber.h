// A function with a stack of its own, which can pause in the middle: a simulated process, whose
// real code blocks where it waits.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace paddle::sim {

class Fiber {
 public:
  // `body` must not throw.
  explicit Fiber(std::function<void()> body);
  ~Fiber();  // it has ended, or was never resumed
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs it until it pauses or ends. Not from within a fiber.
  void resume();
  // From within: back to whoever resumed it.
  void pause();
  bool done() const { return done_; }

 private:
  // The exceptions that are being handled belong to the thread; each fiber keeps its own.
  struct Handling {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  static void enter(unsigned int high, unsigned int low);
  void switch_handling();
  void leaves(void** kept, const void* bottom, size_t size);
  void entered(void* kept);

  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t own_{}, caller_{};
  Handling handling_;
  bool done_ = false, started_ = false;
  void* kept_stack_ = nullptr;  // of AddressSanitizer
  const void* caller_bottom_ = nullptr;
  size_t caller_size_ = 0;
};

}  // namespace paddle::sim
