#include "paddle/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "paddle/cpus.h"

namespace paddle {
namespace {

Error cannot_start(const std::string& name, int code) {
  return Error(Error::Kind::io, "cannot start ", name, ": ", std::strerror(code),
               "; end other processes of this user or raise the limits that ulimit -a shows");
}

struct Ends {
  Descriptor read, write;
};
Ends make_pipe(const std::string& name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw cannot_start(name, errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

struct ChildEnds {
  int input = -1, output = -1, errors = -1, events = -1;
};

// Between fork and exec: only what a signal handler may do. Returns only where exec failed.
void become(pid_t parent, ChildEnds ends, char* const* arguments, const sigset_t& signals,
            const cpu_set_t* cpus) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY), events = ends.events;
  ::dup2(ends.input < 0 ? nothing : ends.input, 0);
  ::dup2(ends.output, 1);
  ::dup2(ends.errors, 2);
  if (nothing > 2) ::close(nothing);
  if (events == event_descriptor) ::fcntl(events, F_SETFD, 0);  // dup2() would leave it as it is
  if (events >= 0 && events != event_descriptor) ::dup2(events, event_descriptor);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGCHLD}) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  if (cpus) ::sched_setaffinity(0, sizeof *cpus, cpus);  // where it may not, it runs anywhere
  ::execv(arguments[0], arguments);
}

// All that is there; closes the descriptor at its end.
void read_all(Descriptor& from, const ProcessPlan::Sink& sink) {
  std::array<char, 1 << 16> buffer;
  while (from) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n > 0) {
      sink(std::string_view(buffer.data(), static_cast<size_t>(n)));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      from = Descriptor();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

extern "C" void notice_child(int) {}  // only to interrupt ppoll()

}  // namespace

std::string own_executable() {
  std::array<char, 4096> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  // Where the file was replaced since, the kernel still knows the one that runs.
  if (n <= 0 || ::access(path.data(), X_OK) != 0) return "/proc/self/exe";
  return path.data();
}

Process::Process(ProcessPlan plan, const sigset_t& signals) : plan_(std::move(plan)) {
  Ends output = make_pipe(plan_.name), events, input;
  if (plan_.events) events = make_pipe(plan_.name);
  if (plan_.has_input) input = make_pipe(plan_.name);
  std::vector<char*> words;
  for (std::string& word : plan_.arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const cpu_set_t mask = cpu_mask(plan_.cpus);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw cannot_start(plan_.name, errno);
  if (pid_ > 0) {
    output_ = std::move(output.read);
    events_ = std::move(events.read);
    input_ = std::move(input.write);
    if (input_) ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
    return;
  }
  if (input.read) ::fcntl(input.read.get(), F_SETFL, 0);  // a child expects one that blocks
  const bool split = plan_.events_on_stdout;
  become(parent,
         {.input = input.read.get(),
          .output = split ? events.write.get() : output.write.get(),
          .errors = output.write.get(),
          .events = split ? -1 : events.write.get()},
         words.data(), signals, plan_.cpus.empty() ? nullptr : &mask);
  constexpr std::string_view message = "cannot execute the program of this command\n";
  if (::write(2, message.data(), message.size()) < 0) ::_exit(1);
  ::_exit(1);
}

Process::~Process() {
  if (!running()) return;
  send(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Process::send(int signal) const {
  if (running()) ::kill(pid_, signal);
}

void Process::write_input(std::string_view bytes) const {
  if (!input_) return;
  const ssize_t written = ::write(input_.get(), bytes.data(), bytes.size());
  static_cast<void>(written);  // its end is seen by reap()
}

void Process::read() {
  read_all(output_, plan_.output);
  read_all(events_, plan_.events);
}

void Process::reap() {
  int status = 0;
  if (!running() || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = -1;
  if (WIFSIGNALED(status))
    killed_by_ = WTERMSIG(status);
  else
    code_ = WEXITSTATUS(status);
  read();
  output_ = Descriptor();
  events_ = Descriptor();
}

ProcessGroup::ProcessGroup() {
  struct sigaction action {};
  action.sa_handler = notice_child;
  ::sigaction(SIGCHLD, &action, &child_before_);
  // Signals arrive within ppoll() only, so that none is missed between a look and the wait.
  sigset_t blocked;
  ::sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &before_);
}

ProcessGroup::~ProcessGroup() {
  processes_.clear();
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
}

Process& ProcessGroup::start(ProcessPlan plan) {
  processes_.push_back(std::make_unique<Process>(std::move(plan), before_));
  return *processes_.back();
}

void ProcessGroup::wait(std::chrono::milliseconds longest) {
  std::vector<pollfd> pipes;
  for (const auto& process : processes_)
    for (const int pipe : {process->output(), process->events()})
      pipes.push_back({pipe, POLLIN, 0});  // -1 is passed over
  const timespec time{longest.count() / 1000, longest.count() % 1000 * 1'000'000};
  ::ppoll(pipes.data(), pipes.size(), &time, &before_);
  for (const auto& process : processes_) {
    process->read();
    process->reap();
  }
}

}  // namespace paddle
