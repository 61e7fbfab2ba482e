#include "paddle/launch_plan.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <cctype>
#include <chrono>

#include "base/error.h"
#include "base/file.h"
#include "options/cluster.h"
#include "options/tables.h"
#include "paddle/cpus.h"
#include "paddle/flags.h"
#include "paddle/launch_tls.h"
#include "paddle/process.h"
#include "trainer/job_file.h"

namespace paddle {
namespace {

using Words = std::vector<std::string>;

// On several machines.
bool may_be_given(const std::string& name) {
  return name == "port" || name == "host" || name == "insecure";
}

// Pservers and trainers need different certificates.
std::string instead_of(const std::string& name) {
  if (name == "cert_file" || name == "key_file" || name == "ca_file")
    return "--certs_dir=DIR names the directory that 'paddle certs' made";
  return "server_num and worker_num say how many there are";
}

// What launch gives to its processes itself. On several machines the ports must be known before.
void refuse_own_flags(std::span<const GivenFlag> given, bool several) {
  std::vector<std::string> problems;
  for (const GivenFlag& flag : given)
    for (const char* own :
         {"port", "ports_num_for_sparse", "host", "ready_file", "exit_when_done", "pservers",
          "num_gradient_servers", "trainer_id", "local", "cluster_train", "record_file",
          "cert_file", "key_file", "ca_file", "insecure"})
      if (flag.name == own && !(several && may_be_given(flag.name)))
        problems.push_back(flag.source + ": launch gives " + flag.name +
                           " to its processes itself; take it out (" + instead_of(flag.name) + ")");
  if (!problems.empty()) throw Error(Error::Kind::config, problem_list(problems));
}

std::string event_flag() { return text("--event_file=/dev/fd/", event_descriptor); }

bool is_address(const std::string& name) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

// PADDLE_INIT_NAME=value for --name=value.
std::string as_variable(const std::string& flag) {
  const size_t equals = flag.find('=');
  std::string name = flag.substr(2, equals - 2);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "PADDLE_INIT_" + name + flag.substr(equals);
}

class Planner {
 public:
  Planner(const Options& options, std::span<const GivenFlag> given, const Environment& environment)
      : options_(options), given_(given), environment_(environment) {
    plan_.nodes = nodes_of(options, environment);
    refuse_own_flags(given, plan_.nodes.has_value());
    plan_.config = options.text("config");
    require(!plan_.config.empty(), Error::Kind::config,
            "there is no job: give --config=JOB.json (ready ones are in configs/ of the source "
            "and, installed, in share/paddle/configs), or --config=SCRIPT.py");
    plan_.script = plan_.config.ends_with(".py");
    plan_.workspace = options.text("workspace");
    plan_.log_dir = log_options(options, "").log_dir;
    plan_.shards = static_cast<size_t>(options.integer("ports_num"));
    servers_ = count("server_num");
    workers_ = count("worker_num");
    list_pservers();
    plan_certificates();
    plan_token();
  }

  LaunchPlan plan() {
    Words trainer = trainer_flags();
    const size_t threads = plan_.script ? script_threads(trainer) : read_job_file(trainer);
    for (size_t i = 0; i < servers_; ++i) plan_.servers.push_back(server(i));
    const std::vector<int> cpus = own_cpus();
    for (size_t i = 0; i < workers_; ++i) {
      plan_.workers.push_back(worker(i, trainer));
      if (options_.flag("pin_cpus"))
        plan_.workers.back().cpus = cpu_share(cpus, i, workers_, threads);
    }
    return std::move(plan_);
  }

 private:
  size_t machines() const { return plan_.nodes ? plan_.nodes->names.size() : 1; }
  size_t rank() const { return plan_.nodes ? plan_.nodes->rank : 0; }
  // Of each machine: one where there are several, unless a number is given.
  size_t count(const char* name) const {
    return plan_.nodes && !options_.given(name) ? 1 : static_cast<size_t>(options_.integer(name));
  }
  int64_t port_of(size_t server) const {
    return options_.integer("port") + static_cast<int64_t>(server * plan_.shards);
  }
  // Any free port, or one for each process from the given one on; -1 opens none.
  std::string http_flag(size_t process) const {
    const int64_t first = options_.given("http_port") ? options_.integer("http_port") : 0;
    return text("--http_port=", first > 0 ? first + static_cast<int64_t>(process) : first);
  }
  std::string trainers_flag() const {
    return text("--num_gradient_servers=", workers_ * machines());
  }

  void plan_certificates() {
    plan_.makes_certs = options_.flag("tls");
    plan_.certs_dir = options_.text("certs_dir");
    if (!plan_.makes_certs) return;
    require(!plan_.nodes && plan_.certs_dir.empty(), Error::Kind::config,
            "--tls makes certificates for a job of one machine: for several, or with certificates "
            "that are there, give --certs_dir=DIR with what 'paddle certs --dir=DIR' made");
    plan_.certs_dir = text(plan_.log_dir, "/tls.", ::getpid());
  }

  // The machines of a job cannot agree on a new token by themselves: `launch --hosts` gives one to
  // all of them.
  void plan_token() {
    const bool given = options_.given("token_file") || !plan_.certs_dir.empty();
    if (options_.flag("token_with_input") || (!plan_.nodes && !given))
      plan_.token_file = text(plan_.log_dir, "/token.", ::getpid());
    if (!plan_.nodes || given || !plan_.token_file.empty() || options_.flag("insecure")) return;
    for (const std::string& name : plan_.nodes->names)
      require(name.starts_with("127.") || name == "localhost", Error::Kind::config,
              "the processes of ", plan_.nodes->names.size(),
              " machines need a token that they prove to each other: make it once ('paddle token "
              "--new FILE'), copy it to all machines and give its path as --token_file or "
              "PADDLE_TOKEN_FILE; on a network that you trust, --insecure does without");
  }
  void add_credentials(Words& flags, const char* role) const {
    if (!plan_.token_file.empty()) flags.push_back("--token_file=" + plan_.token_file);
    for (const std::string& flag : certificate_flags(plan_.certs_dir, role)) flags.push_back(flag);
  }

  void list_pservers() {
    if (!plan_.nodes) return;
    require(options_.integer("port") > 0 && port_of(servers_) <= last_port_, Error::Kind::config,
            "--port=", options_.integer("port"), " leaves no ports for ", servers_,
            " pservers with ", plan_.shards,
            " ports each, which the other machines know before; "
            "choose another one");
    plan_.pservers = shards_of_nodes(plan_.nodes->names, options_);
  }

  // ports_num is gone: every dense shard is in the list of pservers.
  Words trainer_flags() const {
    Words flags = flags_for(trainer_options(), given_);
    for (const char* own :
         {"ports_num", "port", "show_curve", "event_file", "workspace", "http_port"})
      drop_flag(flags, own);  // launch draws the curve
    flags.push_back("--workspace=" + plan_.workspace);
    flags.push_back(event_flag());
    for (const char* more : {"--logtostderr=true", "--local=false", "--ports_num=1"})
      flags.push_back(more);
    flags.push_back(trainers_flag());
    add_credentials(flags, "trainer");
    return flags;
  }

  // Its mistakes are reported before a process runs. Returns the computing threads of a trainer.
  size_t read_job_file(Words& trainer) {
    Options job = Options::parse(trainer, environment_, trainer_options());
    plan_.job = read_job(plan_.config, job.text("config_args"), job).source;
    // The real ones are known when they listen.
    job.replace("pservers", plan_.pservers.empty() ? "127.0.0.1:7164" : plan_.pservers, "launch");
    job.replace("trainer_id", "0", "launch");
    cluster_of(job);
    plan_.passes = job.integer("num_passes");
    if (!job.given("dot_period")) trainer.push_back("--dot_period=0");
    if (plan_.nodes && !job.given("save_dir")) trainer.push_back("--save_dir=output");
    if (job.integer("seed") == 0) {  // all trainers and a repeat have the same
      const auto now = std::chrono::system_clock::now().time_since_epoch().count();
      plan_.record_flags.push_back(text("--seed=", 1 + static_cast<uint64_t>(now) % 2147483646));
      drop_flag(trainer, "seed");
      trainer.push_back(plan_.record_flags.back());
    }
    return static_cast<size_t>(job.integer("trainer_count"));
  }

  size_t script_threads(Words& trainer) const {
    require(is_file(plan_.config), Error::Kind::config, "there is no script '", plan_.config,
            "': give its path from here, or from the workspace on other machines");
    const Options job = Options::parse(trainer, environment_, trainer_options());
    if (!job.given("trainer_count")) trainer.push_back("--trainer_count=1");
    drop_flag(trainer, "config");
    return static_cast<size_t>(job.integer("trainer_count"));
  }

  // Files of a process that has no sibling on this machine stand in the directories themselves.
  std::string log_dir(const std::string& name, size_t siblings) const {
    return siblings == 1 ? plan_.log_dir : plan_.log_dir + "/" + name;
  }
  std::string output_file(const char* word, size_t index, size_t siblings) const {
    return siblings == 1 ? text(plan_.log_dir, "/", word, ".log")
                         : text(plan_.log_dir, "/", word, ".", index, ".log");
  }
  void add_own_files(const std::string& name, size_t siblings, Words& words) const {
    words.push_back("--log_dir=" + log_dir(name, siblings));
    words.push_back("--record_file=" + plan_.workspace + "/job/" + name + ".flags");
  }

  PlannedProcess server(size_t i) const {
    const std::string name = text("pserver.", rank() * servers_ + i);
    Words words = flags_for(pserver_options(), given_);
    for (const char* own : {"event_file", "workspace", "port", "snapshot_dir", "http_port"})
      drop_flag(words, own);
    words.insert(words.begin(), "pserver");
    for (const std::string& more :
         {event_flag(), "--workspace=" + plan_.workspace, std::string("--logtostderr=true"),
          std::string("--ports_num_for_sparse=0"), std::string("--exit_when_done=true"),
          trainers_flag(), text("--port=", plan_.nodes ? port_of(i) : 0), http_flag(i)})
      words.push_back(more);
    add_credentials(words, "pserver");
    // A machine that is named by its address is reached there only; names mean all addresses.
    if (!plan_.nodes) words.push_back("--host=127.0.0.1");
    if (plan_.nodes && !options_.given("host") && is_address(plan_.nodes->own()))
      words.push_back("--host=" + plan_.nodes->own());
    // A directory of snapshots has one owner.
    if (const std::string& snapshots = options_.text("snapshot_dir"); !snapshots.empty())
      words.push_back("--snapshot_dir=" + snapshots + "/" + name);
    add_own_files(name, servers_, words);
    return {name, std::move(words), output_file("server", i, servers_)};
  }

  PlannedProcess worker(size_t i, Words words) const {
    const size_t id = rank() * workers_ + i;
    const std::string name = text("trainer.", id);
    add_own_files(name, workers_, words);
    words.push_back(text("--trainer_id=", id));
    words.push_back(http_flag(servers_ + i));
    const std::string output = output_file("train", i, workers_);
    if (!plan_.script) {
      words.insert(words.begin(), "trainer");
      return {name, std::move(words), output};
    }
    Words command{"/usr/bin/env", "PADDLE_CLUSTER_TRAIN=True", "PYTHONUNBUFFERED=1",
                  text("OMPI_COMM_WORLD_RANK=", id)};  // scripts of the guides read the last one
    for (const std::string& flag : words) command.push_back(as_variable(flag));
    return {name, std::move(command), output};
  }

  static constexpr int64_t last_port_ = 65536;
  const Options& options_;
  const std::span<const GivenFlag> given_;
  const Environment& environment_;
  size_t servers_ = 0, workers_ = 0;
  LaunchPlan plan_;
};

}  // namespace

size_t servers_of_a_node(const Options& options) {
  return options.given("server_num") ? static_cast<size_t>(options.integer("server_num")) : 1;
}

std::string shards_of_nodes(const std::vector<std::string>& nodes, const Options& options) {
  const auto ports =
      static_cast<int64_t>(servers_of_a_node(options)) * options.integer("ports_num");
  std::string out;
  for (const std::string& node : nodes)
    for (int64_t i = 0; i < ports; ++i)
      out += text(out.empty() ? "" : ",", node, ":", options.integer("port") + i);
  return out;
}

OptionTable launch_options() { return with_daemon_options(launch_rows()); }

LaunchPlan plan_launch(const Options& options, std::span<const std::string> arguments,
                       const Environment& environment) {
  const std::vector<GivenFlag> given = read_command_line(arguments, launch_options()).flags;
  return Planner(options, given, environment).plan();
}

std::string pservers_word(const LaunchPlan& plan, const std::string& list) {
  return (plan.script ? "PADDLE_INIT_PSERVERS=" : "--pservers=") + list;
}

void prepare_directories(const LaunchPlan& plan) {
  make_directories(plan.log_dir);
  if (plan.workspace != ".") make_directories(plan.workspace);
  write_file_atomically(plan.workspace + "/nodefile",
                        text(plan.nodes ? plan.nodes->rank : 0, "\n"));
  for (const auto* kind : {&plan.servers, &plan.workers})
    for (const PlannedProcess& p : *kind)
      if (kind->size() > 1) make_directories(plan.log_dir + "/" + p.name);
  const auto point = [&](const std::vector<PlannedProcess>& kind, const std::string& log) {
    if (kind.size() > 1) point_link(kind[0].name + "/" + log, plan.log_dir + "/" + log);
  };
  point(plan.servers, "paddle_pserver2.INFO");
  point(plan.servers, "paddle_pserver_main.INFO");
  point(plan.workers, "paddle_trainer.INFO");
}

}  // namespace paddle
