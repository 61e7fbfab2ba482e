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

// Between fork and exec: only what a signal handler may do. Returns only where exec failed.
void become(pid_t parent, int output, char* const* arguments, const sigset_t& signals,
            const cpu_set_t* cpus) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  if (nothing > 2) ::close(nothing);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGCHLD}) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  if (cpus) ::sched_setaffinity(0, sizeof *cpus, cpus);  // where it may not, it runs anywhere
  ::execv(arguments[0], arguments);
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

Process::Process(std::string name, const std::vector<std::string>& arguments,
                 const sigset_t& signals, Sink output, std::span<const int> cpus)
    : name_(std::move(name)), sink_(std::move(output)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw cannot_start(name_, errno);
  output_ = Descriptor(ends[0]);
  const Descriptor write_end(ends[1]);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  std::vector<char*> words;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const cpu_set_t mask = cpu_mask(cpus);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw cannot_start(name_, errno);
  if (pid_ > 0) return;
  become(parent, write_end.get(), words.data(), signals, cpus.empty() ? nullptr : &mask);
  constexpr std::string_view sorry = "cannot execute the program of this command\n";
  if (::write(2, sorry.data(), sorry.size()) < 0) ::_exit(1);
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

void Process::read_output() {
  std::array<char, 1 << 16> room;
  while (output_) {
    const ssize_t n = ::read(output_.get(), room.data(), room.size());
    if (n > 0) {
      sink_(std::string_view(room.data(), static_cast<size_t>(n)));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      output_ = Descriptor();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void Process::reap() {
  int status = 0;
  if (!running() || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = -1;
  if (WIFSIGNALED(status))
    killed_by_ = WTERMSIG(status);
  else
    code_ = WEXITSTATUS(status);
  read_output();
  output_ = Descriptor();
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

Process& ProcessGroup::start(std::string name, const std::vector<std::string>& arguments,
                             Process::Sink output, std::span<const int> cpus) {
  processes_.push_back(
      std::make_unique<Process>(std::move(name), arguments, before_, std::move(output), cpus));
  return *processes_.back();
}

void ProcessGroup::wait(std::chrono::milliseconds longest) {
  std::vector<pollfd> outputs;
  for (const auto& process : processes_)
    outputs.push_back({process->output(), POLLIN, 0});  // -1 is passed over
  const timespec time{longest.count() / 1000, longest.count() % 1000 * 1'000'000};
  ::ppoll(outputs.data(), outputs.size(), &time, &before_);
  for (const auto& process : processes_) {
    process->read_output();
    process->reap();
  }
}

}  // namespace paddle
