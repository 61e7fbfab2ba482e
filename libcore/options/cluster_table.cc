// Rows about the cluster. Which program acts on them:
//   both      port, ports_num, ports_num_for_sparse (trainer: where to connect; pserver: where to
//             listen), num_gradient_servers and job_name (trainer: sent in Hello; pserver: where
//             given, others are refused), peer_timeout, spin_microseconds, token_file, cert_file,
//             key_file, ca_file (also status), comment and nics (logged)
//   trainer   pservers, trainer_id, new_job, local, cluster_train, sync, async, half_async,
//             geo_steps (all through options/cluster.h), geo_memory, rows_ahead, row_cache,
//             row_cache_steps, async_merge, async_queue_size, async_memory, slice_var_up,
//             min_block_size, split_method
//   pserver   host, insecure, ready_file, exit_when_done, lease_seconds, reconnect_seconds,
//   on_trainer_loss,
//             max_staleness, async_lagged_grad_discard_ratio, snapshot_dir, snapshot_period,
//             snapshots_keep, snapshot_changes, log_period_server
//   run       role, is_worker, current_endpoint, kubernetes, pservers_num, pserver_service
//   launch    server_num, worker_num, python and the machines (paddle/nodes.h)
//   status    pservers and the ports, watch, json
#include "options/tables.h"

namespace paddle {
namespace {

const std::string network = "Cluster", modes = "Modes of training", cut = "Placing parameters";

Option pservers_row() {
  return {.name = "pservers",
          .default_value = "127.0.0.1",
          .help =
              "The pservers, separated by commas: hosts, which listen on port, or host:port; "
              "the same list in the same order for every trainer",
          .group = network,
          .environment = {"PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_PSERVER_ENDPOINTS",
                          "PADDLE_PSERVERS", "PADDLE_PSERVER_IPS", "PSERVERS"}};
}

OptionTable port_rows() {
  using enum OptionType;
  return {
      {.name = "port",
       .type = integer,
       .default_value = "7164",
       .help = "First port of a pserver; 0 lets the kernel of the pserver choose",
       .group = network,
       .check = between(0, 65535),
       .environment = {"PADDLE_PSERVER_PORT", "PADDLE_PORT"}},
      {"ports_num", integer, "1", "Dense shards of a pserver, one port each from port on", network,
       between(1, 64)},
      {"ports_num_for_sparse", integer, "1",
       "Shards for sparse tables, on the ports after the dense ones; where pservers are given as "
       "host:port and this is not, there are none",
       network, between(0, 64)},
  };
}

OptionTable shared_rows() {
  using enum OptionType;
  OptionTable rows = port_rows();
  const OptionTable more = {
      {.name = "num_gradient_servers",
       .type = integer,
       .default_value = "1",
       .help = "Number of trainers in the job",
       .group = network,
       .check = between(1, 65535),
       .aliases = {"trainers"},
       .environment = {"PADDLE_TRAINERS_NUM", "PADDLE_TRAINERS", "TRAINERS", "WORKER_NUM",
                       "OMPI_COMM_WORLD_SIZE"}},
      {"job_name", text, "default",
       "Name of the job; trainers and pservers of different jobs refuse each other", network},
      {"peer_timeout", integer, "600",
       "Seconds that a wait for a peer may last before the process gives up with exit code 7",
       network, between(1, most)},
      {"spin_microseconds", integer, "-1",
       "Busy waiting for messages before sleeping; -1 does it after waits that were short", network,
       between(-1, 1000000)},
      {"shared_memory", flag, "true",
       "Trainers and pservers of one user on one machine exchange through shared memory", network},
      {.name = "comment",
       .default_value = "",
       .help = "Words that help to find the process in ps; without effect",
       .group = network,
       .in_job_file = false},
      {.name = "nics",
       .default_value = "",
       .help = "Taken from old scripts and without effect: a pserver listens on host, or on all "
               "addresses",
       .group = network,
       .in_job_file = false},
  };
  rows.insert(rows.end(), more.begin(), more.end());
  const OptionTable security = security_rows();
  rows.insert(rows.end(), security.begin(), security.end());
  return rows;
}

OptionTable mode_rows() {
  using enum OptionType;
  return {
      {.name = "sync",
       .type = flag,
       .default_value = "true",
       .help = "A step ends when the gradients of all trainers are applied; --sync=false is async",
       .group = modes,
       .aliases = {"sync_mode"}},
      {"async", flag, "false", "Gradients are applied as they arrive; no trainer waits", modes},
      {"half_async", flag, "false",
       "Gradients are applied as they arrive; a trainer waits for its own", modes},
      {.name = "geo_steps",
       .type = integer,
       .default_value = "0",
       .help = "Trainers update by themselves and exchange differences after so many steps; 0 is "
               "another mode",
       .group = modes,
       .check = between(0, most),
       .aliases = {"geo"}},
      {"geo_memory", text, "1g",
       "Memory that a trainer in geo may hold for rows of sparse tables: bytes, a number with k, "
       "m, g or t, or a share of the machine's memory",
       modes, amount_of_memory()},
      {"rows_ahead", flag, "true",
       "Trainers ask for the rows of the next batch while this one is computed (sparse tables; not "
       "in geo)",
       modes},
      {"row_cache", text, "0",
       "Memory in which a trainer in async or half-async keeps rows of sparse tables for some "
       "steps "
       "(row_cache_steps) instead of asking for them each time: bytes, a number with k, m, g or t, "
       "or a share of the machine's memory; 0: none",
       modes, zero_or(amount_of_memory())},
      {.name = "row_cache_steps",
       .type = integer,
       .default_value = "10",
       .help = "For how many steps behind the one that asked for it a row of row_cache may be used",
       .group = modes,
       .check = between(1, most)},
      {"async_merge", text, "sum",
       "How async joins gradients that wait to be sent: sum, or mean for rules other than sgd",
       modes, one_of({"sum", "mean"})},
      {.name = "async_queue_size",
       .type = integer,
       .default_value = "20",
       .help = "Steps whose gradients async may join before the trainer waits",
       .group = modes,
       .check = between(1, most),
       .environment = {"FLAGS_communicator_send_queue_size"}},
      {"async_memory", text, "8m",
       "Memory that a trainer in async may use to join gradients, smallest ones first; for others "
       "it waits until the one before was answered: bytes, as geo_memory",
       modes, amount_of_memory()},
  };
}

OptionTable cut_rows() {
  using enum OptionType;
  return {
      {"slice_var_up", flag, "true", "Cut large parameters into slices for several shards", cut},
      {"min_block_size", integer, "8192", "Elements that a slice has at least", cut,
       between(1, most)},
      {"split_method", text, "bytes",
       "How slices find their shard: bytes (even load), round_robin or hash (of the name)", cut,
       one_of({"bytes", "round_robin", "hash"})},
  };
}

OptionTable join(std::initializer_list<OptionTable> tables) {
  OptionTable all;
  for (const OptionTable& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

OptionTable pserver_rows() {
  using enum OptionType;
  const std::string serving = "Serving", trainers = "Trainers", snapshots = "Snapshots";
  return {
      {.name = "host",
       .default_value = "",
       .help = "Address or name to listen on; \"\" is every address of the machine, or "
               "127.0.0.1 without token_file, certificates and insecure",
       .group = serving,
       .environment = {"PADDLE_CURRENT_IP", "POD_IP"}},
      {"ready_file", text, "",
       "File that appears once the pserver listens, with lines 'dense host:port' and 'sparse "
       "host:port'",
       serving},
      {"exit_when_done", flag, "false",
       "End when all trainers of the job are done, instead of waiting for the next job", serving},
      {"memory_limit", text, "75%",
       "Memory that a pserver may hold for parameters, gradients and messages: bytes, a number "
       "with "
       "k, m, g or t, or a share of the machine's memory (of its control group's where that is "
       "lower); a model that needs more is refused",
       serving, amount_of_memory()},
      {"log_period_server", integer, "500", "Log rates after every so many steps; 0 never", serving,
       between(0, most)},
      {"lease_seconds", integer, "10", "A trainer that sends nothing for this many seconds is lost",
       trainers, between(2, most)},
      {"reconnect_seconds", integer, "2",
       "A trainer whose connection closed and that does not return within so long is lost",
       trainers, between(0, most)},
      {"on_trainer_loss", text, "wait",
       "What sync does without a lost trainer: wait (for its return), drop (go on without it) or "
       "fail (end the job)",
       trainers, one_of({"wait", "drop", "fail"})},
      {"max_staleness", integer, "0",
       "Versions that the parameters behind an async gradient may lag; gradients that lag more are "
       "dropped and counted; 0 is no bound",
       trainers, between(0, most)},
      {"async_lagged_grad_discard_ratio", real, "0",
       "Drop async gradients that lag this many times the number of trainers; 0 drops none",
       trainers, at_least(0)},
      {"snapshot_dir", text, "",
       "Directory of the snapshots, below the workspace unless it is absolute; \"\" makes none",
       snapshots},
      {"snapshot_period", integer, "100", "Steps from one snapshot to the next", snapshots,
       between(1, most)},
      {"snapshots_keep", integer, "3", "Newest snapshots that are kept", snapshots,
       between(1, 1000)},
      {"snapshot_changes", integer, "16",
       "Snapshots in a row that hold of a sparse table only the rows that changed since the one "
       "before, before one holds all of them again; 0: every one holds all",
       snapshots, between(0, 1000)},
  };
}

}  // namespace

OptionTable trainer_cluster_rows() {
  using enum OptionType;
  return join(
      {{pservers_row(),
        {.name = "local",
         .type = flag,
         .default_value = "true",
         .help = "Train in this process alone; false once pservers are given",
         .group = network},
        {.name = "cluster_train",
         .type = flag,
         .default_value = "false",
         .help = "Train with pservers; the opposite of local",
         .group = network,
         .environment = {"PADDLE_CLUSTER_TRAIN"}},
        {.name = "trainer_id",
         .type = integer,
         .default_value = "0",
         .help = "Number of this trainer, from 0; without it a pserver gives the first that "
                 "is free",
         .group = network,
         .check = between(0, 65534),
         .environment = {"PADDLE_TRAINER_ID", "TRAINER_ID", "CURRENT_ID", "OMPI_COMM_WORLD_RANK"},
         .in_job_file = false},
        {.name = "new_job",
         .type = flag,
         .default_value = "false",
         .help = "Begin a new job at once, even if the last one of this name has just ended",
         .group = network,
         .in_job_file = false}},
       shared_rows(),
       mode_rows(),
       cut_rows()});
}

OptionTable pserver_options() {
  return join({shared_rows(), {insecure_row()}, pserver_rows(), common_options()});
}

OptionTable status_options() {
  using enum OptionType;
  const std::string group = "Output";
  return join({{pservers_row()},
               port_rows(),
               security_rows(),
               {{"workspace", text, "", "Without pservers: only the job of this workspace", group},
                {"watch", flag, "false", "Show it again every second until Ctrl-C", group},
                {"json", flag, "false", "One JSON object per look instead of tables", group}},
               answer_rows()});
}

OptionTable doctor_options() {
  using enum OptionType;
  const std::string job = "Job", output = "Output";
  const auto number_of_trainers = [](const Option& row) {
    return row.name == "num_gradient_servers";
  };
  OptionTable trainers = shared_rows();
  std::erase_if(trainers, [&](const Option& row) { return !number_of_trainers(row); });
  return join({{pservers_row()},
               port_rows(),
               trainers,
               security_rows(),
               {{"config_args", text, "", "name=value,… for the placeholders of the job file", job},
                {"workspace", text, ".", "Where the job will leave its files", job},
                {"save_dir", text, "", "Where it will save models", job},
                {"snapshot_dir", text, "", "Where pservers here will write snapshots", job},
                {"timeout", integer, "3", "Seconds that names, peers and file systems get", output,
                 between(1, 3600)},
                {"strict", flag, "false", "Exit code 8 for warnings too", output},
                {"json", flag, "false", "One JSON object instead of lines", output}},
               answer_rows()});
}

OptionTable admin_options() {
  return join({{pservers_row()},
               port_rows(),
               security_rows(),
               {{"wait_seconds", OptionType::integer, "60",
                 "How long to wait until a snapshot is on the disk", "Output", between(1, 86400)}},
               answer_rows()});
}

namespace {

OptionTable ui_rows() {
  const std::string group = "Live page";
  return {{.name = "ui_port",
           .type = OptionType::integer,
           .default_value = "0",
           .help = "Port of the live page (docs/ui.md); 0 lets the kernel choose, -1 opens none",
           .group = group,
           .check = between(-1, 65535),
           .in_job_file = false},
          {.name = "ui_host",
           .default_value = "127.0.0.1",
           .help = "Address that the live page is opened on",
           .group = group,
           .in_job_file = false}};
}

}  // namespace

OptionTable ui_options() {
  const std::string group = "Job";
  return join({{pservers_row()},
               port_rows(),
               security_rows(),
               {{"event_file", OptionType::text, "", "File with the events of the job", group},
                {"workspace", OptionType::text, "", "Workspace of paddle launch", group}},
               ui_rows(),
               answer_rows()});
}

OptionTable logs_options() {
  using enum OptionType;
  const std::string group = "Logs";
  return join(
      {{{"workspace", text, ".", "Workspace of paddle launch", group},
        {"log_dir", text, "", "Directory of the logs; \"\" is log/ in the workspace", group},
        {"follow", flag, "false", "Go on with what is added, until Ctrl-C", group},
        {"role", text, "", "pserver or trainer: only these", group,
         one_of({"pserver", "trainer", ""})},
        {"node", integer, "-1",
         "Only this machine of paddle launch --hosts, from 0; -1: all of them", group,
         between(-1, 100000)},
        {"since", text, "", "Leave out what is older than this: 90s, 15m, 2h, 1d", group}},
       answer_rows()});
}

OptionTable run_rows() {
  using enum OptionType;
  const std::string group = "Role";
  return {
      {.name = "kubernetes",
       .type = flag,
       .default_value = "false",
       .help = "Take number and peers from the pod: its name or completion index, and the names of "
               "the pservers' StatefulSet",
       .group = group,
       .in_job_file = false},
      {.name = "pservers_num",
       .type = integer,
       .default_value = "0",
       .help = "With kubernetes: replicas of the pservers' StatefulSet",
       .group = group,
       .check = between(0, 65535),
       .environment = {"PADDLE_PSERVERS_NUM"},
       .in_job_file = false},
      {.name = "pserver_service",
       .default_value = "pserver",
       .help =
           "With kubernetes: the headless service of the pservers; its StatefulSet has the same "
           "name",
       .group = group,
       .environment = {"PADDLE_PSERVER_SERVICE"},
       .in_job_file = false},
      {.name = "role",
       .default_value = "",
       .help = "PSERVER or TRAINER",
       .group = group,
       .check = one_of({"PSERVER", "TRAINER", ""}),
       .environment = {"PADDLE_TRAINING_ROLE", "TRAINING_ROLE"}},
      {.name = "is_worker",
       .type = flag,
       .default_value = "false",
       .help = "The role as a yes or no, where role is not given: true is TRAINER",
       .group = group,
       .environment = {"IS_WORKER"}},
      {.name = "current_endpoint",
       .default_value = "",
       .help = "host:port that this pserver listens on, as it stands in pservers",
       .group = group,
       .environment = {"PADDLE_CURRENT_ENDPOINT", "CURRENT_ENDPOINT", "SERVER_ENDPOINT"}},
  };
}

// paddle launch: a job on several machines.
OptionTable machine_rows() {
  using enum OptionType;
  const std::string group = "Machines";
  const auto row = [&](const char* name, OptionType type, const char* value, const char* help,
                       OptionCheck check = nullptr) {
    return Option{.name = name,
                  .type = type,
                  .default_value = value,
                  .help = help,
                  .group = group,
                  .check = std::move(check),
                  .in_job_file = false};
  };
  return {
      row("hosts", text, "",
          "Machines to start the job on by ssh, separated by commas: [user@]host[:port of sshd]; "
          "each gets server_num pservers and worker_num trainers, without these one of each"),
      row("hostfile", text, "", "File with the hosts, one a line, in place of hosts"),
      row("job_dispatch_package", text, "",
          "Directory whose contents are copied to the workspace of every host first"),
      row("ssh", text, "ssh", "Command that reaches a host, with its options"),
      row("remote_program", text, "paddle", "The program paddle on the hosts"),
      row("nodes", text, "",
          "The machines of a job, separated by commas, if this command is started on each of them"),
      row("node_rank", integer, "0", "Which of the nodes this one is, from 0", between(0, 65534)),
      row("slurm", flag, "false", "Take nodes and node_rank from the variables of Slurm's srun"),
      row("stop_with_input", flag, "false",
          "Stop when standard input ends, or says nothing for 15 s: whoever started this is gone"),
      row("token_with_input", flag, "false",
          "Take the job's token from the first line of standard input; --hosts sends it"),
  };
}

OptionTable launch_rows() {
  using enum OptionType;
  const std::string group = "Processes";
  return join(
      {{{"server_num", integer, "2", "Pservers to start", group, between(1, 256)},
        {"worker_num", integer, "2", "Trainers to start", group, between(1, 1024)},
        {"pin_cpus", flag, "true",
         "Keep each trainer to its share of the processors, where there are enough for all", group},
        {.name = "tls",
         .type = flag,
         .default_value = "false",
         .help = "On one machine: encrypt what the processes send, with certificates that are made "
                 "for this job and removed with it",
         .group = group,
         .in_job_file = false},
        {.name = "certs_dir",
         .default_value = "",
         .help = "Directory as 'paddle certs' makes it, on every machine of the job: pservers and "
                 "trainers use TLS with their certificates of it",
         .group = group,
         .in_job_file = false},
        {.name = "python",
         .default_value = "python3",
         .help = "What runs the trainers where config is a Python script (*.py)",
         .group = group,
         .in_job_file = false}},
       ui_rows(),
       machine_rows()});
}

std::string program_with(const std::string& name) {
  const auto has = [&](const OptionTable& table) {
    for (const Option& option : table)
      if (option.name == name) return true;
    return false;
  };
  if (has(pserver_options())) return "paddle pserver";
  if (has(trainer_options())) return "paddle trainer";
  if (has(run_rows())) return "paddle run";
  if (has(launch_rows())) return "paddle launch";
  if (has(status_options())) return "paddle status";
  if (has(admin_options())) return "paddle admin";
  if (has(doctor_options())) return "paddle doctor";
  if (has(ui_options())) return "paddle ui";
  if (has(token_options())) return "paddle token";
  if (has(certs_options())) return "paddle certs";
  return "";
}

}  // namespace paddle
