#include "bench/processes.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "bench/generator.h"

namespace paddle::bench {
namespace {

constexpr double start_seconds = 20;

// beside the directory of this program: build/daemons/pserver/paddle_pserver
std::string pserver_program() {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return self.parent_path().parent_path().parent_path() / "daemons/pserver/paddle_pserver";
}

std::string new_directory() {
  std::string path = std::filesystem::temp_directory_path() / "paddle_bench_XXXXXX";
  require(::mkdtemp(path.data()) != nullptr, Error::Kind::io, "cannot make ", path);
  return path;
}

// A measurement that is killed leaves nothing running.
void end_with_parent() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() == 1) ::_exit(125);
}

int end_code(pid_t id) {
  int status = 0;
  require(::waitpid(id, &status, 0) == id, Error::Kind::peer, "lost the process ", id);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu % static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))), &set);
  require(::sched_setaffinity(0, sizeof set, &set) == 0, Error::Kind::config, "cannot stay on CPU ",
          cpu);
}

double cpu_seconds(pid_t process) {
  clockid_t clock;
  timespec t{};
  require(::clock_getcpuclockid(process, &clock) == 0 && ::clock_gettime(clock, &t) == 0,
          Error::Kind::peer, "the process ", process, " is gone");
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Child::Child(const std::function<std::vector<double>()>& body) {
  int ends[2];
  require(::pipe(ends) == 0, Error::Kind::io, "cannot make a pipe");
  std::fflush(nullptr);
  id_ = ::fork();
  require(id_ >= 0, Error::Kind::io, "cannot start a process");
  from_child_ = ends[0];
  if (id_ > 0) {
    ::close(ends[1]);
    return;
  }
  end_with_parent();
  int code = 1;
  try {
    const std::vector<double> out = body();
    const auto bytes = static_cast<ssize_t>(out.size() * sizeof(double));
    if (::write(ends[1], out.data(), out.size() * sizeof(double)) == bytes) code = 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}

std::vector<double> Child::result() {
  std::vector<double> out;
  double number = 0;
  while (::read(from_child_, &number, sizeof number) == sizeof number) out.push_back(number);
  const int code = end_code(std::exchange(id_, -1));
  require(code == 0, Error::Kind::peer, "a process of the measurement failed with code ", code);
  return out;
}

Child::~Child() {
  if (from_child_ >= 0) ::close(from_child_);
  if (id_ <= 0) return;
  ::kill(id_, SIGKILL);
  end_code(id_);
}

Pserver::Pserver(const PserverOptions& options) : directory_(new_directory()) {
  const std::string program = pserver_program(), ready = directory_ + "/ready",
                    trainers = text("--num_gradient_servers=", options.trainers),
                    spin = text("--spin_microseconds=", options.spin_microseconds),
                    file = "--ready_file=" + ready, workspace = "--workspace=" + directory_;
  std::fflush(nullptr);
  id_ = ::fork();
  require(id_ >= 0, Error::Kind::io, "cannot start a process");
  if (id_ == 0) {
    end_with_parent();
    if (options.cpu >= 0) pin(options.cpu);
    if (!std::freopen((directory_ + "/output").c_str(), "w", stderr)) ::_exit(126);
    std::vector<std::string> words{program,
                                   "--host=127.0.0.1",
                                   "--port=0",
                                   "--ports_num=1",
                                   "--ports_num_for_sparse=0",
                                   trainers,
                                   spin,
                                   file,
                                   workspace};
    words.insert(words.end(), options.flags.begin(), options.flags.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    ::_exit(127);
  }
  const double end = seconds() + start_seconds;
  std::string kind;
  while (endpoint_.empty()) {
    std::ifstream(ready) >> kind >> endpoint_;
    require(seconds() < end && ::waitpid(id_, nullptr, WNOHANG) == 0, Error::Kind::peer, program,
            " did not start; its words are in ", directory_, "/output");
    ::sched_yield();
  }
}

Pserver::~Pserver() {
  ::kill(id_, SIGKILL);
  end_code(id_);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace paddle::bench
