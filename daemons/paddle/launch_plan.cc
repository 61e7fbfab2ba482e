#include "paddle/launch_plan.h"

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "options/cluster.h"
#include "options/tables.h"
#include "paddle/cpus.h"
#include "paddle/flags.h"
#include "paddle/process.h"
#include "trainer/job_file.h"

namespace paddle {
namespace {

// What launch gives to its processes itself.
void refuse_own_flags(std::span<const GivenFlag> given) {
  std::vector<std::string> problems;
  for (const GivenFlag& flag : given)
    for (const char* own : {"port", "ports_num_for_sparse", "host", "ready_file", "exit_when_done",
                            "pservers", "num_gradient_servers", "trainer_id", "local",
                            "cluster_train", "cert_file", "key_file", "ca_file", "insecure"})
      if (flag.name == own)
        problems.push_back(flag.source + ": launch gives " + flag.name +
                           " to its processes itself; take it out (server_num and worker_num say "
                           "how many there are)");
  if (!problems.empty()) throw Error(Error::Kind::config, problem_list(problems));
}

std::string numbered(const std::string& word, size_t i, size_t count, const std::string& end) {
  return count == 1 ? word + end : text(word, ".", i, end);
}

std::string log_dir_of(const LaunchPlan& plan, const std::string& name, size_t count) {
  return count == 1 ? plan.log_dir : plan.log_dir + "/" + name;
}

std::string event_flag() { return text("--event_file=/dev/fd/", event_descriptor); }

std::vector<std::string> server_flags(std::span<const GivenFlag> given) {
  std::vector<std::string> flags = flags_for(pserver_options(), given);
  drop_flag(flags, "event_file");
  flags.push_back(event_flag());
  for (const char* more : {"--logtostderr=true", "--host=127.0.0.1", "--port=0",
                           "--ports_num_for_sparse=0", "--exit_when_done=true"})
    flags.push_back(more);
  return flags;
}

// ports_num is gone: every dense shard is in the list of pservers.
std::vector<std::string> worker_flags(std::span<const GivenFlag> given) {
  std::vector<std::string> flags = flags_for(trainer_options(), given);
  drop_flag(flags, "ports_num");
  drop_flag(flags, "show_curve");  // launch draws it
  drop_flag(flags, "event_file");
  flags.push_back(event_flag());
  for (const char* more : {"--logtostderr=true", "--local=false", "--ports_num=1"})
    flags.push_back(more);
  return flags;
}

}  // namespace

OptionTable launch_options() { return with_daemon_options(launch_rows()); }

LaunchPlan plan_launch(const Options& options, std::span<const std::string> arguments,
                       const Environment& environment) {
  const std::vector<GivenFlag> given = read_command_line(arguments, launch_options()).flags;
  refuse_own_flags(given);
  LaunchPlan plan;
  plan.config = options.text("config");
  require(!plan.config.empty(), Error::Kind::config,
          "there is no job: give --config=JOB.json (ready ones are in configs/)");
  plan.log_dir = log_options(options, "").log_dir;
  const auto servers = static_cast<size_t>(options.integer("server_num")),
             workers = static_cast<size_t>(options.integer("worker_num"));
  if (!options.given("token_file")) plan.token_file = text(plan.log_dir, "/token.", ::getpid());
  const std::string trainers = text("--num_gradient_servers=", workers);

  std::vector<std::string> trainer = worker_flags(given);
  trainer.push_back(trainers);
  const auto add_token = [&](std::vector<std::string>& flags) {
    if (!plan.token_file.empty()) flags.push_back("--token_file=" + plan.token_file);
  };
  add_token(trainer);
  Options job = Options::parse(trainer, environment, trainer_options());
  read_job(plan.config, job.text("config_args"), job);
  job.replace("pservers", "127.0.0.1", "launch");  // the real ones are known when they listen
  job.replace("port", "7164", "launch");
  job.replace("trainer_id", "0", "launch");
  cluster_of(job);
  plan.passes = job.integer("num_passes");
  plan.shards = static_cast<size_t>(options.integer("ports_num"));
  if (!job.given("dot_period")) trainer.push_back("--dot_period=0");

  const std::string& snapshots = options.text("snapshot_dir");
  for (size_t i = 0; i < servers; ++i) {
    const std::string name = text("pserver.", i), dir = log_dir_of(plan, name, servers);
    PlannedProcess p{name, server_flags(given),
                     plan.log_dir + "/" + numbered("server", i, servers, ".log")};
    p.arguments.insert(p.arguments.begin(), "pserver");
    add_token(p.arguments);
    for (const std::string& more : {trainers, "--log_dir=" + dir}) p.arguments.push_back(more);
    // A directory of snapshots has one owner.
    if (!snapshots.empty()) p.arguments.push_back("--snapshot_dir=" + snapshots + "/" + name);
    plan.servers.push_back(std::move(p));
  }
  const std::vector<int> cpus = own_cpus();
  const auto threads = static_cast<size_t>(job.integer("trainer_count"));
  for (size_t i = 0; i < workers; ++i) {
    const std::string name = text("trainer.", i), dir = log_dir_of(plan, name, workers);
    PlannedProcess p{name, trainer, plan.log_dir + "/" + numbered("train", i, workers, ".log")};
    if (options.flag("pin_cpus")) p.cpus = cpu_share(cpus, i, workers, threads);
    p.arguments.insert(p.arguments.begin(), "trainer");
    for (const std::string& more : {"--log_dir=" + dir, text("--trainer_id=", i)})
      p.arguments.push_back(more);
    plan.workers.push_back(std::move(p));
  }
  return plan;
}

void prepare_directories(const LaunchPlan& plan) {
  make_directories(plan.log_dir);
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
