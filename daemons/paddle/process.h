// Child processes that never outlive their parent, and a loop that waits for all of them at once.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace paddle {

// The path of the running program.
std::string own_executable();

// Where a process finds the pipe for its events: --event_file=/dev/fd/3.
inline constexpr int event_descriptor = 3;

// What to start and where its bytes go.
struct ProcessPlan {
  using Sink = std::function<void(std::string_view bytes)>;
  std::string name;
  std::vector<std::string> arguments;  // the first is the path of the program
  Sink output;                         // stdout and stderr
  Sink events = nullptr;               // event_descriptor; null: the descriptor is closed
  bool events_on_stdout = false;       // stdout carries the events, stderr the output
  bool has_input = false;              // it reads what write_input() gives it; else nothing
  std::vector<int> cpus = {};          // that it keeps to; empty: all
};

class Process {
 public:
  // The child is in a process group of its own, so that
  // Ctrl-C reaches the parent alone; the kernel kills it when the parent dies, however that
  // happens. `signals` is the mask it starts with. Throws Error(io).
  Process(ProcessPlan plan, const sigset_t& signals);
  ~Process();  // kills and reaps what still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return plan_.name; }
  bool running() const { return pid_ > 0; }
  void send(int signal) const;
  // With has_input. What the pipe does not take at once is dropped.
  void write_input(std::string_view bytes) const;
  void close_input() { input_ = Descriptor(); }

  // After it has ended: its exit code, or 128 + the signal that ended it.
  int code() const { return killed_by_ != 0 ? 128 + killed_by_ : code_; }
  int killed_by() const { return killed_by_; }

  // To poll; -1 at their ends.
  int output() const { return output_.get(); }
  int events() const { return events_.get(); }
  void read();  // what is there
  void reap();  // notices the end, with everything that was written before it

 private:
  ProcessPlan plan_;
  Descriptor output_, events_, input_;
  pid_t pid_ = -1;
  int code_ = 0, killed_by_ = 0;
};

// The processes of a job. One at a time per program: it changes the signal mask of the thread.
class ProcessGroup {
 public:
  using Clock = std::chrono::steady_clock;

  ProcessGroup();
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  Process& start(ProcessPlan plan);

  // Waits until a process writes something or ends, a signal arrives (see stop_signal()) or the
  // time is over, and reads what there is.
  void wait(std::chrono::milliseconds longest);

 private:
  sigset_t before_{};                 // mask outside wait()
  struct sigaction child_before_ {};  // action of SIGCHLD
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace paddle
