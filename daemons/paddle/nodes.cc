#include "paddle/nodes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/host.h"
#include "base/run_main.h"
#include "paddle/host_list.h"

namespace paddle {
namespace {

constexpr double silent_seconds = 15;
constexpr int lock_seconds = 30;
constexpr size_t most_hosts = 65536;

// Number of the variable; throws where it is missing or no number.
size_t slurm_number(const Environment& environment, const char* name) {
  const std::string value = variable(environment, name);
  require(!value.empty() && value.find_first_not_of("0123456789") == std::string::npos &&
              value.size() < 7,
          Error::Kind::config, name, value.empty() ? " is not set" : " is no number",
          ": --slurm needs the variables of srun; start the job with `srun --ntasks-per-node=1 "
          "paddle launch --slurm …`");
  return std::stoul(value);
}

Nodes slurm_nodes(const Environment& environment) {
  Nodes nodes;
  nodes.rank = slurm_number(environment, "SLURM_PROCID");
  const size_t tasks = slurm_number(environment, "SLURM_NTASKS");
  std::string list = variable(environment, "SLURM_STEP_NODELIST");  // of this srun
  if (list.empty()) list = variable(environment, "SLURM_JOB_NODELIST");
  nodes.names = expand_hosts(list);
  require(nodes.names.size() == tasks, Error::Kind::config, "srun started ", tasks,
          " tasks on the ", nodes.names.size(), " nodes '", list,
          "': give it --ntasks-per-node=1; server_num and worker_num say how many pservers and "
          "trainers each node has");
  return nodes;
}

// "a[01-03]": all words that `from` to `to` stand for, with the zeros of `from`.
void add_range(const std::string& range, const std::string& list, std::vector<std::string>& out) {
  const size_t dash = range.find('-');
  const std::string from = range.substr(0, dash),
                    to = dash == std::string::npos ? from : range.substr(dash + 1);
  const auto number = [](const std::string& s) {
    return !s.empty() && s.size() < 10 && s.find_first_not_of("0123456789") == std::string::npos;
  };
  require(number(from) && number(to) && std::stoul(from) <= std::stoul(to) &&
              std::stoul(to) - std::stoul(from) < most_hosts,
          Error::Kind::config, "'", range, "' in the list of hosts '", list, "' is no range");
  for (size_t i = std::stoul(from); i <= std::stoul(to); ++i) {
    std::string digits = std::to_string(i);
    if (digits.size() < from.size()) digits.insert(0, from.size() - digits.size(), '0');
    out.push_back(digits);
  }
}

// One entry: "r[1-2]n[01-03]".
std::vector<std::string> expand_entry(const std::string& entry, const std::string& list) {
  const size_t open = entry.find('['), close = entry.find(']');
  require((open == std::string::npos) == (close == std::string::npos) &&
              (open == std::string::npos || open < close),
          Error::Kind::config, "the brackets in the list of hosts '", list, "' do not match");
  if (open == std::string::npos) return {entry};
  std::vector<std::string> middles, out;
  for (const std::string& range : split_list(entry.substr(open + 1, close - open - 1)))
    add_range(range, list, middles);
  for (const std::string& middle : middles)
    for (const std::string& rest : expand_entry(entry.substr(close + 1), list)) {
      require(out.size() < most_hosts, Error::Kind::config, "the list of hosts '", list,
              "' stands for more than ", most_hosts);
      out.push_back(entry.substr(0, open) + middle + rest);
    }
  return out;
}

}  // namespace

std::vector<std::string> expand_hosts(const std::string& list) {
  std::vector<std::string> out;
  std::string entry;
  int depth = 0;
  for (const char c : list + ",") {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || depth > 0) {
      entry += c;
      continue;
    }
    if (!entry.empty())
      for (std::string& host : expand_entry(entry, list)) out.push_back(std::move(host));
    entry.clear();
  }
  require(depth == 0, Error::Kind::config, "the brackets in the list of hosts '", list,
          "' do not match");
  return out;
}

std::optional<Nodes> nodes_of(const Options& options, const Environment& environment) {
  if (options.flag("slurm")) {
    require(!options.given("nodes"), Error::Kind::config,
            "--slurm takes the nodes from srun, and --nodes names them too; give one of them");
    return slurm_nodes(environment);
  }
  if (options.text("nodes").empty()) return std::nullopt;
  Nodes nodes{split_list(options.text("nodes")), static_cast<size_t>(options.integer("node_rank"))};
  require(nodes.rank < nodes.names.size(), Error::Kind::config, "--node_rank=", nodes.rank,
          ", but --nodes names ", nodes.names.size(), " machines, numbered from 0");
  return nodes;
}

WorkspaceLock::WorkspaceLock(const std::string& workspace) {
  make_directories(workspace + "/job");
  const std::string path = workspace + "/job/launch.lock";
  file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!file_) throw io_error("open", path, errno);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(lock_seconds);
  for (bool named = false; ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0; named = true) {
    if (errno != EWOULDBLOCK) throw io_error("lock", path, errno);
    std::string owner = read_file(path, 4096);
    owner = owner.substr(0, owner.find('\n'));
    if (!named)
      std::cerr << "launch: " << owner << " of an earlier run still works in " << workspace
                << "; waiting for its end" << std::endl;
    require(std::chrono::steady_clock::now() < deadline, Error::Kind::io, owner, " still works in ",
            workspace, " after ", lock_seconds,
            " s, so whoever started it is still there: stop that job, or give this one another "
            "--workspace");
    require(stop_signal() == 0, Error::Kind::io, "stopped while ", owner, " still worked");
    ::poll(nullptr, 0, 100);  // there is no lock with a deadline; a signal ends the pause
  }
  const std::string owner = text("process ", ::getpid(), " on ", host_name(), "\n");
  if (::ftruncate(file_.get(), 0) != 0) throw io_error("write", path, errno);
  write_all(file_.get(), owner, path);
}

std::string InputWatch::gone(double now) {
  if (heard_ < 0) heard_ = now;
  pollfd input{descriptor_, POLLIN, 0};
  while (::poll(&input, 1, 0) > 0) {
    char bytes[256];
    const ssize_t n = ::read(descriptor_, bytes, sizeof bytes);
    if (n <= 0) return "its connection has ended";
    heard_ = now;
  }
  return now - heard_ > silent_seconds ? text("nothing heard for ", silent_seconds, " s") : "";
}

}  // namespace paddle
