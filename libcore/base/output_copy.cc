#include "base/output_copy.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"

namespace paddle {
namespace {

constexpr std::array<int, 2> streams{STDOUT_FILENO, STDERR_FILENO};

pid_t copier = 0;
std::array<int, 2> originals{-1, -1};

// ---- the process that copies: system calls alone, as the other one may have held locks

void write_whole(int to, const char* from, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::write(to, from, bytes);
    if (n < 0 && errno == EAGAIN) {  // whoever started us may have made it so
      pollfd p{to, POLLOUT, 0};
      ::poll(&p, 1, -1);
    } else if (n < 0 && errno != EINTR) {
      return;  // nobody reads it any more; the file still gets all
    } else if (n > 0) {
      from += n;
      bytes -= static_cast<size_t>(n);
    }
  }
}

struct Copy {
  int file;
  const char *path, *older;
  uint64_t have, most;

  void take(const char* bytes, size_t size) {
    if (have > 0 && have + size > most) {
      const int next =
          ::rename(path, older) == 0
              ? ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640)
              : -1;
      if (next >= 0) {
        ::close(file);
        file = next;
      }
      have = 0;
    }
    write_whole(file, bytes, size);
    have += size;
  }
};

[[noreturn]] void copy_until_ends(std::array<int, 2> from, Copy copy) {
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    ::signal(s, SIG_IGN);
  ::prctl(PR_SET_NAME, output_copier);
  ::close(STDIN_FILENO);
  static char buffer[64 << 10];
  while (from[0] >= 0 || from[1] >= 0) {
    std::array<pollfd, 2> ready{{{from[0], POLLIN, 0}, {from[1], POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) break;
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents == 0) continue;
      const ssize_t n = ::read(from[i], buffer, sizeof buffer);
      if (n > 0) {
        write_whole(streams[i], buffer, static_cast<size_t>(n));
        copy.take(buffer, static_cast<size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        from[i] = -1;
      }
    }
  }
  ::_exit(0);
}

// ---- this process

// Whoever waits for the end of this process finds everything that it has printed.
void end_copy() {
  std::fflush(nullptr);
  for (size_t i = 0; i < streams.size(); ++i)
    if (originals[i] >= 0) ::dup2(originals[i], streams[i]);
  int status = 0;
  while (::waitpid(copier, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

void copy_output(const std::string& path, uint64_t max_bytes) {
  std::array<struct stat, 2> to{};
  struct stat there {};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  const auto same = [](const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  };
  std::array<bool, 2> copied{};
  for (size_t i = 0; i < streams.size(); ++i)
    copied[i] = ::fstat(streams[i], &to[i]) == 0 && ::isatty(streams[i]) == 0 &&
                !(exists && same(to[i], there));
  if (copier != 0 || !(copied[0] || copied[1])) return;
  const Descriptor file = open_to_append(path);
  // One pipe for both where both go to one place: so lines keep their order.
  const size_t pipes = copied[0] && copied[1] && same(to[0], to[1]) ? 1 : 2;
  std::array<Descriptor, 2> reads, writes;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (!copied[i]) continue;
    originals[i] = ::fcntl(streams[i], F_DUPFD_CLOEXEC, 3);
    int ends[2] = {-1, -1};
    if (originals[i] < 0 || (i < pipes && ::pipe2(ends, O_CLOEXEC) != 0))
      throw io_error("copy", "what is printed", errno);
    reads[i] = Descriptor(ends[0]);
    writes[i] = Descriptor(ends[1]);
  }
  std::fflush(nullptr);
  const std::string older = path + ".1";
  copier = ::fork();
  if (copier < 0) throw io_error("copy", "what is printed", errno);
  if (copier == 0) {
    for (Descriptor& w : writes) w.close();
    const uint64_t have = exists ? static_cast<uint64_t>(there.st_size) : 0;
    copy_until_ends({reads[0].get(), reads[1].get()},
                    {file.get(), path.c_str(), older.c_str(), have, max_bytes});
  }
  for (size_t i = 0; i < streams.size(); ++i)
    if (copied[i]) ::dup2(writes[std::min(i, pipes - 1)].get(), streams[i]);
  std::atexit(end_copy);
}

}  // namespace paddle
