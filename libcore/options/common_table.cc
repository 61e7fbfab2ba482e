#include "options/tables.h"

namespace paddle {

OptionTable answer_rows() {
  using enum OptionType;
  const std::string general = "General";
  return {
      {.name = "print_config",
       .type = flag,
       .default_value = "false",
       .help = "Print every option with its value and where that came from, and end",
       .group = general,
       .in_job_file = false},
      {.name = "help",
       .type = flag,
       .default_value = "false",
       .help = "Print this table and end",
       .group = general,
       .aliases = {"h", "helpfull"},
       .in_job_file = false},
      {.name = "version",
       .type = flag,
       .default_value = "false",
       .help = "Print the version and how it was compiled, and end",
       .group = general,
       .in_job_file = false},
  };
}

OptionTable common_options() {
  using enum OptionType;
  const std::string log = "Log and events";
  OptionTable rows = {
      {"workspace", text, ".",
       "Directory under which log/ and relative output directories are made", log},
      {.name = "log_dir",
       .default_value = "",
       .help = "Directory of the log files; \"\" is log/ in the workspace",
       .group = log,
       .environment = {"GLOG_log_dir"}},
      {.name = "logtostderr",
       .type = flag,
       .default_value = "true",
       .help = "Log to stderr besides the file; without it only errors go there",
       .group = log,
       .environment = {"GLOG_logtostderr"}},
      {"max_log_size", integer, "100", "MiB of a log file, after which a next one follows", log,
       between(1, 1 << 20)},
      {"max_log_files", integer, "10",
       "Log files that are kept of each severity; the oldest are removed", log, between(1, 100000)},
      {.name = "record_file",
       .default_value = "",
       .help = "File that gets every option of this run, to be repeated with --flagfile; \"\" is "
               "job/ in the workspace where that is given",
       .group = log,
       .in_job_file = false},
      {"verbose", flag, "false",
       "On a terminal: show the log lines; without it progress, results and warnings", log},
      {.name = "minloglevel",
       .type = integer,
       .default_value = "0",
       .help = "Least that is logged: 0 information, 1 warnings, 2 errors, 3 fatal errors",
       .group = log,
       .check = between(0, 3),
       .environment = {"GLOG_minloglevel"}},
      {.name = "event_file",
       .default_value = "",
       .help = "File or pipe that gets one JSON line per event (docs/events.md); several processes "
               "may share one",
       .group = log,
       .in_job_file = false},
      {.name = "http_port",
       .type = integer,
       .default_value = "-1",
       .help = "Port for /metrics, /healthz, /readyz and /status over HTTP (docs/metrics.md); 0 "
               "lets the kernel choose, -1 opens none",
       .group = log,
       .check = between(-1, 65535),
       .in_job_file = false},
      {.name = "http_host",
       .default_value = "127.0.0.1",
       .help = "Address that http_port is opened on; one that others can reach needs a token_file, "
               "or insecure on a pserver",
       .group = log,
       .in_job_file = false},
      {.name = "v",
       .type = integer,
       .default_value = "0",
       .help = "Detail of the log: 0 usual, higher numbers say more",
       .group = log,
       .check = between(0, 100),
       .environment = {"GLOG_v"}},
  };
  const OptionTable more = answer_rows();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

LogOptions log_options(const Options& options, const std::string& program) {
  LogOptions log;
  log.program = program;
  log.log_dir = options.text("log_dir");
  if (log.log_dir.empty()) log.log_dir = options.text("workspace") + "/log";
  log.max_file_bytes = static_cast<uint64_t>(options.integer("max_log_size")) << 20;
  log.max_files = static_cast<size_t>(options.integer("max_log_files"));
  log.to_stderr = options.flag("logtostderr");
  log.min_level = static_cast<int>(options.integer("minloglevel"));
  log.verbosity = static_cast<int>(options.integer("v"));
  return log;
}

}  // namespace paddle
