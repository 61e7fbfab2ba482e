#include "paddle/launch_hosts.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/run_main.h"
#include "base/wrap.h"
#include "obs/events.h"
#include "options/record.h"
#include "options/tables.h"
#include "paddle/flags.h"
#include "paddle/job_page.h"
#include "paddle/launch_plan.h"
#include "paddle/launch_tls.h"
#include "paddle/lines.h"
#include "paddle/output.h"
#include "paddle/process.h"
#include "wire/token.h"

namespace paddle {
namespace {

using Words = std::vector<std::string>;
constexpr std::chrono::milliseconds look_period{100};
constexpr double beat_seconds = 1;
constexpr double remote_stop_seconds = 30;  // a launch needs up to 20 to stop its processes
constexpr int ssh_failed = 255, not_found = 127;

// Unless the user has another protection, or wants none.
bool needs_token(const Options& options) {
  return !options.given("token_file") && !options.given("certs_dir") && !options.flag("insecure");
}

// The options of ssh come first, so that those the user gives do not replace them by accident.
Words ssh_words(const Host& host, const Options& options) {
  Words words{"/usr/bin/env"};
  std::string word;
  for (const char c : options.text("ssh") + " ") {
    if (c != ' ') word += c;
    if (c == ' ' && !word.empty()) words.push_back(std::exchange(word, ""));
  }
  for (const char* more :
       {"-T", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5",
        "-oServerAliveCountMax=3", "-oLogLevel=ERROR"})
    words.push_back(more);
  if (!host.port.empty()) words.insert(words.end(), {"-p", host.port});
  words.insert(words.end(), {"--", host.target});
  return words;
}

std::string shell_line(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

// Below the home directory of the host where files are copied there, else the directory that is
// here: the hosts have the same, or share it.
std::string workspace_of(const Options& options) {
  const std::string& given = options.text("workspace");
  if (options.text("job_dispatch_package").empty())
    return std::filesystem::absolute(given).lexically_normal().string();
  if (options.given("workspace")) return given;
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char name[32];
  std::strftime(name, sizeof name, "JOB%Y%m%d%H%M%S", &parts);
  return std::string("paddle/") + name;
}

// For the shell of the host. ssh may begin elsewhere than in the home directory.
std::string remote_path(const std::string& path) {
  return path[0] == '/' ? shell_word(path) : "\"$HOME\"/" + shell_word(path);
}

class HostsLaunch {
 public:
  HostsLaunch(const std::vector<Host>& hosts, const Options& options,
              std::span<const std::string> arguments, const Environment& environment)
      : hosts_(hosts),
        options_(options),
        arguments_(arguments),
        environment_(environment),
        workspace_(workspace_of(options)),
        local_log_(log_options(options, "").log_dir),
        terminal_(2, variable(environment, "TERM") != "dumb") {
    make_directories(local_log_);
  }

  int run() {
    if (options_.integer("ui_port") >= 0)
      page_.emplace(options_, options_.text("workspace"), options_.text("config"));
    if (const int code = dispatch(); code != 0) return code;
    say(text("starting on ", hosts_.size(), " hosts, in ", workspace_, "; logs are there in log/"));
    const bool brings_token = needs_token(options_);
    start_all([&](size_t i) {
      Words words = ssh_words(hosts_[i], options_);
      words.push_back(remote_command(hosts_, i, options_, arguments_, environment_, workspace_));
      return words;
    });
    std::shared_ptr<const wire::Token> token;
    if (brings_token) token = give_token();
    if (page_) show_page(std::move(token));
    const int code = wait_all();
    if (page_) page_->keep();
    if (code != 0) return code;
    say("the job is done");
    if (model_.empty()) return 0;
    const std::string path = model_[0] == '/' ? model_ : workspace_ + "/" + model_;
    std::cout << "the model is in " << hosts_[0].target << ":" << path << std::endl;
    return 0;
  }

 private:
  struct Node {
    std::unique_ptr<Output> output;
    Lines events;
    Process* process = nullptr;
    bool ended = false;
  };

  int dispatch() {
    const std::string& package = options_.text("job_dispatch_package");
    if (package.empty()) return 0;
    require(is_directory(package), Error::Kind::io, "--job_dispatch_package=", package,
            " is not a directory: name the directory with the job and its files");
    say("copying " + package + " to " + workspace_ + " on " + std::to_string(hosts_.size()) +
        " hosts");
    start_all([&](size_t i) {
      Words ssh = ssh_words(hosts_[i], options_);
      const std::string to = remote_path(workspace_);
      ssh.push_back("mkdir -p " + to + " && tar -xzf - -C " + to);
      return Words{"/bin/sh", "-c",
                   "tar -C " + shell_word(package) + " -czf - . | " + shell_line(ssh)};
    });
    return wait_all();
  }

  // Through the connections: nobody sees it in a list of processes.
  std::shared_ptr<const wire::Token> give_token() {
    const Secret token = wire::new_token_text();
    const auto* text = reinterpret_cast<const char*>(token.bytes().data());
    for (const auto& node : nodes_) node->process->write_input({text, token.size()});
    return std::make_shared<const wire::Token>(wire::parse_token(token.bytes(), "the new token"));
  }

  // The events of all hosts come here. The pservers are asked where this machine reaches them and
  // has the token or the certificates that they require.
  void show_page(std::shared_ptr<const wire::Token> token) {
    say(page_->show(false));
    try {
      ask_pservers(std::move(token));
    } catch (const Error& e) {
      say(text("the page does not show the pservers: ", e.what()));
    }
  }

  void ask_pservers(std::shared_ptr<const wire::Token> token) {
    CredentialFiles files{.token_file = options_.text("token_file")};
    if (options_.given("certs_dir")) files = observer_files(options_.text("certs_dir"));
    for (const std::string& file : {files.token_file, files.cert_file})
      if (!file.empty() && !is_file(file)) return;
    wire::Credentials credentials = wire::client_credentials(files);
    if (token) credentials.token = std::move(token);
    std::vector<std::string> names;
    for (const Host& host : hosts_) names.push_back(host.name);
    page_->watch({.dense = split_list(shards_of_nodes(names, options_))}, credentials,
                 {.perhaps_out_of_reach = true});
  }

  template <class WordsOf>
  void start_all(const WordsOf& words_of) {
    nodes_.clear();
    failed_.clear();
    for (size_t i = 0; i < hosts_.size(); ++i) {
      Node& node = *nodes_.emplace_back(std::make_unique<Node>());
      const std::string name = text("node.", i);
      node.output = std::make_unique<Output>(
          terminal_, name, local_log_ + "/" + name + ".log",
          Output::Look{name.size(), 0, i == 0 ? Output::Show::all : Output::Show::warnings});
      node.process = &group_.start(
          {.name = name,
           .arguments = words_of(i),
           .output = [&node](std::string_view bytes) { node.output->take(bytes); },
           .events =
               [this, &node](std::string_view bytes) {
                 node.events.take(bytes, [this](const std::string& line) { take_event(line); });
               },
           .events_on_stdout = true,
           .has_input = true});
    }
  }

  void take_event(const std::string& line) {
    emit_line(line + "\n");
    if (page_) page_->put(line);
    const std::optional<event::Any> event = read_event(line);
    if (!event) return;
    if (const auto* saved = std::get_if<event::Saved>(&*event)) model_ = saved->path;
  }

  // Until all have ended, or one has failed and the others were stopped.
  int wait_all() {
    while (any_running()) {
      look();
      if (!failed_.empty() || stop_signal() != 0) {
        stop_all();
        break;
      }
    }
    if (!failed_.empty()) return report();
    if (stop_signal() != 0) say("the job was stopped on all hosts");
    return stop_signal() == 0 ? 0 : 128 + stop_signal();
  }

  void look() {
    group_.wait(look_period);
    if (const double now = steady_seconds(); now > next_beat_ && !stopping_) {
      next_beat_ = now + beat_seconds;
      for (const auto& node : nodes_) node->process->write_input("\n");
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = *nodes_[i];
      if (node.ended || node.process->running()) continue;
      node.ended = true;
      node.output->finish();
      // While the others are stopped each says that its starter is gone: no news. Hosts that cannot
      // be reached are.
      const int code = node.process->code();
      if (code != 0 && (!stopping_ || code == ssh_failed)) failed_.push_back(i);
    }
  }

  bool any_running() const {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return !n->ended; });
  }

  // The end of their input stops the processes of a host cleanly.
  void stop_all() {
    stopping_ = true;
    for (const auto& node : nodes_) node->process->close_input();
    for (const double end = steady_seconds() + remote_stop_seconds;
         any_running() && steady_seconds() < end;)
      look();
    for (const auto& node : nodes_) node->process->send(SIGKILL);
    while (any_running()) look();
  }

  int report() {
    for (const size_t i : failed_) {
      const Process& p = *nodes_[i]->process;
      const std::string name = text("node ", i, " (", hosts_[i].word, ")");
      const std::string reason = nodes_[i]->output->last_lines();
      if (p.code() == ssh_failed)
        say(text("\npaddle launch: ", name, ": ssh does not work: ", reason, "; try `ssh ",
                 hosts_[i].target, "` by hand"));
      else if (p.code() == not_found)
        say(text("\npaddle launch: ", name, ": there is no '", options_.text("remote_program"),
                 "': install the package there, or name the program by --remote_program (", reason,
                 ")"));
      else
        say(text("\npaddle launch: ", name, " ended with exit code ", p.code(),
                 ", and the job was stopped on the others. Its output is in ", local_log_, "/",
                 p.name(), ".log; it ended because:\n", reason));
    }
    const int code = nodes_[failed_.front()]->process->code();
    if (code == ssh_failed) return exit_code(Error::Kind::peer);
    return code == not_found ? exit_code(Error::Kind::io) : code;
  }

  void say(const std::string& line) { terminal_.put_line(line + "\n"); }

  const std::vector<Host>& hosts_;
  const Options& options_;
  const std::span<const std::string> arguments_;
  const Environment& environment_;
  const std::string workspace_, local_log_;
  Terminal terminal_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<size_t> failed_;  // in the order in which they ended
  bool stopping_ = false;
  double next_beat_ = 0;
  std::optional<JobPage> page_;
  std::string model_;   // that was saved last, on the first host
  ProcessGroup group_;  // last: ends first
};

}  // namespace

std::string remote_command(const std::vector<Host>& hosts, size_t rank, const Options& options,
                           std::span<const std::string> arguments, const Environment& environment,
                           const std::string& workspace) {
  const OptionTable table = launch_options();
  Words flags = flags_for(table, read_command_line(arguments, table).flags);
  for (const char* own : {"hosts", "hostfile", "token_file", "ssh", "remote_program",
                          "job_dispatch_package", "workspace", "event_file", "stop_with_input",
                          "token_with_input", "record_file", "log_dir", "ui_port", "ui_host"})
    drop_flag(flags, own);
  std::string names;
  for (const Host& host : hosts) names += (names.empty() ? "" : ",") + host.name;
  Words words{"env"};
  for (const auto& [name, value] : environment)
    if (name.starts_with("PADDLE_INIT_")) words.push_back(name + "=" + value);
  words.insert(words.end(), {options.text("remote_program"), "launch"});
  words.insert(words.end(), flags.begin(), flags.end());
  if (needs_token(options)) words.push_back("--token_with_input=true");
  if (options.given("token_file")) words.push_back("--token_file=" + options.text("token_file"));
  for (const std::string& more :
       {"--nodes=" + names, text("--node_rank=", rank), std::string("--stop_with_input=true"),
        std::string("--event_file=/dev/fd/3"), std::string("--ui_port=-1")})
    words.push_back(more);
  return "cd " + remote_path(workspace) + " && exec 3>&1 1>&2 && exec " + shell_line(words);
}

int launch_on_hosts(const std::vector<Host>& hosts, const Options& options,
                    std::span<const std::string> arguments, const Environment& environment) {
  require(!options.text("config").empty(), Error::Kind::config,
          "there is no job: give --config=JOB.json or --config=SCRIPT.py, as it lies in the "
          "workspace of the hosts");
  return HostsLaunch(hosts, options, arguments, environment).run();
}

}  // namespace paddle
