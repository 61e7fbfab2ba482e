#include "data/command_source.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/wrap.h"

extern char** environ;

namespace paddle {
namespace {

constexpr int look_milliseconds = 200;  // between two looks whether to stop

// `from | ( command )` whose exit code is not 0 where either fails: sh reports the last one only. A
// command may end before it has read all (SIGPIPE, 141).
std::string pipeline(const std::string& from, const std::string& command) {
  return "exec 4>&1; from=$({ { { " + from + "\n} 3>&- 4>&-; echo $? >&3; } | ( " + command +
         "\n) 3>&- >&4 4>&-; } 3>&1); code=$?; [ $code = 0 ] || exit $code; " +
         "[ \"$from\" = 141 ] || exit $from";
}

class CommandSource : public ByteSource {
 public:
  // What `from` prints goes to the command; "" where it reads the standard input itself.
  CommandSource(const std::string& from, const std::string& command, std::string file,
                const char* standard_input, std::shared_ptr<const std::atomic<bool>> stop,
                double quiet_seconds)
      : shell_(from.empty() ? command : from + " | ( " + command + " )"),
        file_(std::move(file)),
        stop_(std::move(stop)),
        quiet_looks_(static_cast<int64_t>(quiet_seconds * 1000 / look_milliseconds)) {
    std::array<int, 2> ends;
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw Error(Error::Kind::io, "cannot make a pipe: ", std::strerror(errno));
    output_ = Descriptor(ends[0]);
    const Descriptor write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, standard_input, O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    std::string sh = "sh", c = "-c", words = from.empty() ? command : pipeline(from, command);
    std::array<char*, 4> argv{sh.data(), c.data(), words.data(), nullptr};
    posix_spawnattr_t attributes;  // a group of its own, so that all of a pipeline can be ended
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int code = ::posix_spawn(&pid_, "/bin/sh", &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    require(code == 0, Error::Kind::io, file_, ": cannot start '", shell_,
            "': ", std::strerror(code));
  }

  ~CommandSource() override {
    if (pid_ <= 0) return;
    output_.close();  // a command that still writes meets a closed pipe
    ::kill(-pid_, SIGTERM);
    wait_for_end();
  }

  size_t read(std::span<char> to) override {
    for (;;) {
      wait_for_output();
      const ssize_t n = ::read(output_.get(), to.data(), to.size());
      if (n > 0) return static_cast<size_t>(n);
      if (n < 0 && errno == EINTR) continue;
      require(n == 0, Error::Kind::io, file_, ": cannot read what '", shell_,
              "' prints: ", std::strerror(errno));
      if (pid_ > 0) check(wait_for_end());
      return 0;
    }
  }

 private:
  void wait_for_output() {
    pollfd wanted{output_.get(), POLLIN, 0};
    for (int64_t looks = 1; ::poll(&wanted, 1, look_milliseconds) <= 0; ++looks) {
      require(!stop_ || !*stop_, Error::Kind::io, file_, ": stopped while '", shell_, "' ran");
      if (looks < quiet_looks_ || reported_) continue;
      reported_ = true;
      log_warn(text(file_, ": the pipe command '", shell_, "' (process ", pid_,
                    ") has printed nothing for ", quiet_looks_ * look_milliseconds / 1000,
                    " s; it is still waited for"));
    }
  }

  int wait_for_end() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

  void check(int status) const {
    const bool killed = WIFSIGNALED(status);
    require(status == 0, Error::Kind::data, file_, ": the pipe command '", shell_, "' ",
            killed ? "was ended by signal " : "ended with exit code ",
            killed ? WTERMSIG(status) : WEXITSTATUS(status),
            "; run it by hand with the file as its standard input");
  }

  std::string shell_, file_;
  std::shared_ptr<const std::atomic<bool>>
      stop_;             // shared with the caller, which may end the reading
  int64_t quiet_looks_;  // after which a silent command is reported
  bool reported_ = false;
  Descriptor output_;
  pid_t pid_ = 0;
};

std::string hadoop_command(const std::string& file, const HdfsConfig& hdfs) {
  if (!hdfs.download_command.empty()) return hdfs.download_command + " " + shell_word(file);
  std::string out = "hadoop fs";
  if (!hdfs.name.empty()) out += " -D fs.default.name=" + shell_word(hdfs.name);
  if (!hdfs.ugi.empty()) out += " -D hadoop.job.ugi=" + shell_word(hdfs.ugi);
  return out + (file.ends_with(".gz") ? " -text " : " -cat ") + shell_word(file);
}

}  // namespace

std::unique_ptr<ByteSource> open_command(const std::string& command, const std::string& file,
                                         const HdfsConfig& hdfs,
                                         std::shared_ptr<const std::atomic<bool>> stop,
                                         double quiet_seconds) {
  if (file.starts_with("hdfs:") || file.starts_with("afs:"))
    return std::make_unique<CommandSource>(hadoop_command(file, hdfs), command, file, "/dev/null",
                                           std::move(stop), quiet_seconds);
  if (command == "cat") return open_bytes(file);
  if (::access(file.c_str(), R_OK) != 0)
    throw Error(Error::Kind::io, "cannot read the data file ", file, ": ", std::strerror(errno),
                "; check the list of files");
  std::string unpack;
  for (const auto& [end, program] :
       {std::pair{".gz", "zcat"}, {".xz", "xzcat"}, {".zst", "zstdcat"}})
    if (file.ends_with(end)) unpack = program;
  return std::make_unique<CommandSource>(unpack, command, file, file.c_str(), std::move(stop),
                                         quiet_seconds);
}

}  // namespace paddle
