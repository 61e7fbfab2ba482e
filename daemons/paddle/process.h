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

class Process {
 public:
  using Sink = std::function<void(std::string_view bytes)>;

  // Starts arguments[0] (a path) with nothing to read and with stdout and stderr in one pipe, whose
  // bytes go to `output`. The child is in a process group of its own, so that Ctrl-C reaches the
  // parent alone; the kernel kills it when the parent dies, however that happens. `signals` is the
  // mask it starts with; `cpus`, where there are any, the processors that it keeps to. Throws
  // Error(io).
  Process(std::string name, const std::vector<std::string>& arguments, const sigset_t& signals,
          Sink output, std::span<const int> cpus = {});
  ~Process();  // kills and reaps what still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  bool running() const { return pid_ > 0; }
  void send(int signal) const;

  // After it has ended: its exit code, or 128 + the signal that ended it.
  int code() const { return killed_by_ != 0 ? 128 + killed_by_ : code_; }
  int killed_by() const { return killed_by_; }

  int output() const { return output_.get(); }  // to poll; -1 at its end
  void read_output();                           // what is there
  void reap();                                  // notices the end, with all output before it

 private:
  std::string name_;
  Sink sink_;
  Descriptor output_;
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

  Process& start(std::string name, const std::vector<std::string>& arguments, Process::Sink output,
                 std::span<const int> cpus = {});

  // Waits until a process says something or ends, a signal arrives (stop_signal() tells) or the
  // time is over, and takes what there is.
  void wait(std::chrono::milliseconds longest);

 private:
  sigset_t before_{};                 // mask outside wait()
  struct sigaction child_before_ {};  // action of SIGCHLD
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace paddle
