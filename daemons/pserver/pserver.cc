#include "pserver/pserver.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/run_main.h"
#include "options/environment.h"
#include "options/program.h"
#include "options/tables.h"
#include "pserver/shard.h"

namespace paddle {
namespace {

constexpr const char* usage_line =
    "usage: paddle pserver [--port=7164] [--num_gradient_servers=N] [flags]   (needs no job file: "
    "the first trainer brings the model)";

// Something that threads raise and the main thread waits for.
class Event {
 public:
  Event() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!descriptor_) throw io_error("make", "an event", errno);
  }
  void raise() const {
    const uint64_t one = 1;
    while (::write(descriptor_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  // Returns when it was raised or a signal came. Signals must be blocked outside of it, so that
  // none is missed between a look at stop_signal() and the wait.
  void wait(const sigset_t& unblocked) const {
    pollfd p{descriptor_.get(), POLLIN, 0};
    ::ppoll(&p, 1, nullptr, &unblocked);
    uint64_t count = 0;
    if (::read(descriptor_.get(), &count, sizeof count) < 0) return;  // it was a signal
  }

 private:
  Descriptor descriptor_;
};

// While it lives SIGINT and SIGTERM reach the main thread inside Event::wait() only.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t both;
    ::sigemptyset(&both);
    ::sigaddset(&both, SIGINT);
    ::sigaddset(&both, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

ShardOptions shard_options(const Options& o) {
  ShardOptions s{.host = o.text("host"),
                 .policy = loss_policy_of(o.text("on_trainer_loss")),
                 .lease_seconds = static_cast<double>(o.integer("lease_seconds")),
                 .reconnect_seconds = static_cast<double>(o.integer("reconnect_seconds")),
                 .peer_timeout = static_cast<double>(o.integer("peer_timeout")),
                 .max_staleness = static_cast<uint64_t>(o.integer("max_staleness")),
                 .discard_ratio = o.real("async_lagged_grad_discard_ratio"),
                 .snapshots = {.directory = o.text("snapshot_dir"),
                               .period = static_cast<uint64_t>(o.integer("snapshot_period")),
                               .keep = static_cast<size_t>(o.integer("snapshots_keep"))},
                 .log_period = static_cast<uint64_t>(o.integer("log_period_server")),
                 .exit_when_done = o.flag("exit_when_done")};
  if (o.given("job_name")) s.job = o.text("job_name");
  if (o.given("num_gradient_servers"))
    s.trainers = static_cast<uint32_t>(o.integer("num_gradient_servers"));
  return s;
}

// One shard per port. All ports are taken before the first one serves.
class Process {
 public:
  explicit Process(const Options& o) : host_(o.text("host").empty() ? "0.0.0.0" : o.text("host")) {
    const auto dense = static_cast<size_t>(o.integer("ports_num"));
    const auto sparse = static_cast<size_t>(o.integer("ports_num_for_sparse"));
    const auto first = o.integer("port");
    require(first == 0 || first + static_cast<int64_t>(dense + sparse) - 1 <= 65535,
            Error::Kind::config, "--port=", first, " leaves no room for ", dense + sparse,
            " ports; choose a lower one");
    for (size_t i = 0; i < dense + sparse; ++i) {
      ShardOptions s = shard_options(o);
      s.sparse = i >= dense;
      s.index = s.sparse ? i - dense : i;
      s.port = first == 0 ? 0 : static_cast<uint16_t>(first + static_cast<int64_t>(i));
      s.spin_microseconds = s.sparse ? 0 : o.integer("spin_microseconds");
      if (s.sparse) s.exit_when_done = false;
      s.on_done = [this] {
        ++done_;
        event_.raise();
      };
      shards_.push_back(std::make_unique<Shard>(std::move(s)));
      lines_ += text(i < dense ? "dense " : "sparse ", host_, ":", shards_.back()->port(), "\n");
    }
    dense_ = dense;
  }

  const std::string& lines() const { return lines_; }
  void announce(const std::string& ready_file) const {
    for (const auto& s : shards_) log_info(text("Server listening on ", host_, ":", s->port()));
    if (!ready_file.empty()) write_file_atomically(ready_file, lines_);
  }

  // Returns when all shards have ended.
  void serve() {
    {
      const BlockedSignals blocked;
      for (const auto& s : shards_) threads_.emplace_back([this, &s] { run(*s); });
      while (stop_signal() == 0 && done_ < dense_ && !failed_) event_.wait(blocked.before());
    }  // from here on a second signal ends the process at once
    if (stop_signal() != 0) log_info("stopping: a signal asked for it");
    for (const auto& s : shards_) s->stop();
    for (std::thread& t : threads_) t.join();
    if (failed_) std::rethrow_exception(problem_);
  }

  std::string failure() const {
    for (const auto& s : shards_)
      if (!s->failure().empty()) return s->failure();
    return "";
  }

 private:
  void run(Shard& shard) {
    try {
      shard.run();
    } catch (...) {
      if (!failed_.exchange(true)) problem_ = std::current_exception();
      event_.raise();
    }
  }

  std::string host_, lines_;
  Event event_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::thread> threads_;
  std::atomic<size_t> done_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr problem_;  // read after the threads have ended
  size_t dense_ = 0;
};

// Scripts look for the log under both of its old names.
void link_log() {
  const std::filesystem::path file = log_file();
  if (file.empty()) return;
  std::error_code ignored;  // a link less is no reason not to serve
  const auto link = file.parent_path() / "paddle_pserver_main.INFO";
  std::filesystem::remove(link, ignored);
  std::filesystem::create_symlink(file.filename(), link, ignored);
}

}  // namespace

int pserver_main(std::span<const std::string> arguments) {
  const Options options = Options::parse(arguments, current_environment(), pserver_options());
  if (answer_help(options, usage_line, std::cout)) return 0;
  if (answer_print_config(options, std::cout)) return 0;
  begin_log(options, "paddle_pserver2", arguments);
  link_log();
  Process process(options);
  process.announce(options.text("ready_file"));
  process.serve();
  stopped_in_good_order();
  const std::string failure = process.failure();
  require(failure.empty() || !options.flag("exit_when_done"), Error::Kind::peer, failure);
  return 0;
}

}  // namespace paddle
