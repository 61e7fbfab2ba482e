#include "base/run_main.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "base/error.h"
#include "base/log.h"

namespace paddle {
namespace {

std::atomic<int> asked_to_stop = 0;  // global, as a signal handler can reach nothing else
std::atomic<int64_t> asked_at = 0;   // milliseconds
std::atomic<bool> clean_stop = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

// timeout(1) and some supervisors send a signal to the process and to its group: that counts as one
// request.
constexpr int64_t repeat_window = 200;  // milliseconds

int64_t milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void ask_to_stop(int signal) {
  const int before = asked_to_stop.load();
  const int64_t now = milliseconds();
  if (before != 0 && now - asked_at.load() < repeat_window) return;
  asked_to_stop = signal;
  asked_at = now;
  if (before != 0) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  constexpr char note[] = "\nstopping cleanly; press Ctrl-C again to quit now\n";
  if (::write(2, note, sizeof note - 1) < 0) return;  // stderr is closed
}

class Signals {
 public:
  Signals() {
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = SA_RESTART;
    asked_to_stop = 0;
    clean_stop = false;
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    // A reader that has gone and a limit on file sizes are errors of the write, with a sentence.
    ::sigaction(SIGPIPE, &ignore, &pipe_);
    ::sigaction(SIGXFSZ, &ignore, &file_size_);
  }
  ~Signals() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
    ::sigaction(SIGPIPE, &pipe_, nullptr);
    ::sigaction(SIGXFSZ, &file_size_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct sigaction interrupt_ {
  }, terminate_{}, pipe_{}, file_size_{};
};

std::function<void(int, const std::string&)>& exit_observer() {
  static std::function<void(int, const std::string&)> observer;
  return observer;
}

// `reason` gets the sentence of an error.
int run_body(const std::string& name, const std::function<int()>& body, std::string& reason) {
  const auto end = [&](int code, const std::string& sentence) {
    reason = name + ": " + sentence;
    log_exit_reason(reason);
    return code;
  };
  try {
    return body();
  } catch (const Error& e) {
    return end(exit_code(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return end(exit_code(Error::Kind::io),
               "out of memory; use a smaller batch or fewer processes on this machine");
  } catch (const std::exception& e) {
    return end(1, text("unexpected error: ", e.what(),
                       "; this is a fault of the program, please report it"));
  } catch (...) {
    return end(
        1, "unexpected error of an unknown kind; this is a fault of the program, please report it");
  }
}

}  // namespace

int run_main(const std::string& name, const std::function<int()>& body) {
  const Signals signals;
  std::string reason;
  const int returned = run_body(name, body, reason);
  const int signal = stop_signal();
  const int code = signal != 0 && !clean_stop ? 128 + signal : returned;
  show_status("");
  if (exit_observer()) exit_observer()(code, reason);
  return code;
}

void stopped_cleanly() { clean_stop = true; }

void set_exit_observer(std::function<void(int, const std::string&)> observer) {
  exit_observer() = std::move(observer);
}

int stop_signal() { return asked_to_stop.load(std::memory_order_relaxed); }

}  // namespace paddle
