#include "pserver/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine_memory.h"
#include "base/run_main.h"
#include "options/cluster.h"
#include "options/record.h"

namespace paddle {
namespace {

void raise(const Descriptor& event) {
  const uint64_t one = 1;
  while (::write(event.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

// Returns when the event was raised or a signal came, and now and then where somebody wants to be
// asked. Signals must be blocked outside of it, so that none is missed between a look at
// stop_signal() and the wait.
void await(const Descriptor& event, const sigset_t& unblocked) {
  pollfd p{event.get(), POLLIN, 0};
  const timespec pause{.tv_sec = 0, .tv_nsec = 200'000'000};
  ::ppoll(&p, 1, interrupt::watched ? &pause : nullptr, &unblocked);
  uint64_t count = 0;
  if (::read(event.get(), &count, sizeof count) < 0) return;  // it was a signal, or time
}

// While it lives SIGINT and SIGTERM reach the thread of serve() inside await() only.
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

// Redis calls this the protected mode: without protection and without an address that was asked for
// only this machine can connect.
void settle_host(ListenOptions& s) {
  if (s.credentials) return;
  if (s.insecure)
    return log_warn(
        "--insecure: anybody who reaches the ports of this pserver can read and change the model");
  if (!s.host.empty()) return;
  s.host = "127.0.0.1";
  log_info(
      "only processes of this machine can connect, as there is no --token_file (docs/security.md)");
}

}  // namespace

ShardOptions shard_options(const Options& o) {
  ShardOptions s{
      .listen = {.host = o.text("host")},
      .leases = {.policy = loss_policy_of(o.text("on_trainer_loss")),
                 .lease_seconds = static_cast<double>(o.integer("lease_seconds")),
                 .reconnect_seconds = static_cast<double>(o.integer("reconnect_seconds"))},
      .peer_timeout = static_cast<double>(o.integer("peer_timeout")),
      .stale = {.max_staleness = static_cast<uint64_t>(o.integer("max_staleness")),
                .discard_ratio = o.real("async_lagged_grad_discard_ratio")},
      .snapshots = {.directory = in_workspace(o, o.text("snapshot_dir")),
                    .period = static_cast<uint64_t>(o.integer("snapshot_period")),
                    .keep = static_cast<size_t>(o.integer("snapshots_keep")),
                    .changes = {.most = static_cast<uint32_t>(o.integer("snapshot_changes"))}},
      .log_period = static_cast<uint64_t>(o.integer("log_period_server")),
      .exit_when_done = o.flag("exit_when_done")};
  if (o.given("job_name")) s.job = o.text("job_name");
  if (o.given("num_gradient_servers"))
    s.trainers = static_cast<uint32_t>(o.integer("num_gradient_servers"));
  s.listen.credentials = wire::server_credentials(credential_files(o));
  s.listen.insecure = o.flag("insecure");
  s.listen.shared_memory = o.flag("shared_memory");
  settle_host(s.listen);
  s.memory = std::make_shared<PserverMemory>(
      parse_memory(o.text("memory_limit"), machine_memory()).value());
  return s;
}

Server::Server(std::vector<ShardOptions> shards, ServiceManager* manager)
    : manager_(manager), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw io_error("make", "an event", errno);
  for (ShardOptions& s : shards) {
    sparse_.push_back(s.sparse);
    hosts_.push_back(s.listen.host.empty() ? "0.0.0.0" : s.listen.host);
    if (s.sparse) s.exit_when_done = false;
    if (!s.sparse) ++dense_;
    s.calls.on_done = [this] {
      ++done_;
      raise(event_);
    };
    s.calls.on_stop = [this] { stop(); };
    if (manager_) s.calls.on_tick = [this, part = shards_.size()] { manager_->alive(part); };
    shards_.push_back(std::make_unique<Service>(std::move(s)));
  }
}

Server::~Server() { end(); }

std::string Server::lines() const {
  std::string out;
  for (size_t i = 0; i < shards_.size(); ++i)
    out += text(sparse_[i] ? "sparse " : "dense ", hosts_[i], ":", shards_[i]->port(), "\n");
  return out;
}

void Server::announce() const {
  for (size_t i = 0; i < shards_.size(); ++i)
    log_info(text("Server listening on ", hosts_[i], ":", shards_[i]->port()));
}

void Server::run(Service& service) {
  try {
    service.run();
  } catch (...) {
    if (!failed_.exchange(true)) problem_ = std::current_exception();
    raise(event_);
  }
}

void Server::wait() {
  const BlockedSignals blocked;
  for (const auto& s : shards_) threads_.emplace_back([this, &s] { run(*s); });
  while (stop_signal() == 0 && !asked_ && done_ < dense_ && !failed_) {
    await(event_, blocked.before());
    check_interrupt();
  }
}

void Server::serve() {
  try {
    wait();
  } catch (...) {
    end();
    throw;
  }  // from here on a second signal ends the process at once
  if (stop_signal() != 0) log_info("stopping: a signal asked for it");
  if (manager_) manager_->stopping();
  end();
  if (failed_) std::rethrow_exception(problem_);
}

void Server::end() {
  for (const auto& s : shards_) s->stop();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

void Server::stop() {
  asked_ = true;
  raise(event_);
}

std::string Server::failure() const {
  for (const auto& s : shards_)
    if (!s->failure().empty()) return s->failure();
  return "";
}

}  // namespace paddle
