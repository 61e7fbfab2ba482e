#include "pserver/pserver.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/host.h"
#include "base/log.h"
#include "base/run_main.h"
#include "base/version.h"
#include "obs/events.h"
#include "obs/http_pages.h"
#include "obs/metrics.h"
#include "options/environment.h"
#include "options/program.h"
#include "options/record.h"
#include "options/tables.h"
#include "pserver/server.h"

namespace paddle {
namespace {

constexpr const char* usage_line =
    "usage: paddle pserver [--port=7164] [--num_gradient_servers=N] [flags]\n"
    "A pserver needs no job file: the first trainer brings the model.";

// One shard per port.
std::vector<ShardOptions> shards_of(const Options& o) {
  const auto dense = static_cast<size_t>(o.integer("ports_num"));
  const auto sparse = static_cast<size_t>(o.integer("ports_num_for_sparse"));
  const auto first = o.integer("port");
  require(first == 0 || first + static_cast<int64_t>(dense + sparse) - 1 <= 65535,
          Error::Kind::config, "--port=", first, " leaves no room for ", dense + sparse,
          " ports; choose a lower one");
  const ShardOptions common = shard_options(o);
  std::vector<ShardOptions> out;
  for (size_t i = 0; i < dense + sparse; ++i) {
    ShardOptions s = common;
    s.sparse = i >= dense;
    s.index = s.sparse ? i - dense : i;
    s.listen.port = first == 0 ? 0 : static_cast<uint16_t>(first + static_cast<int64_t>(i));
    s.listen.spin_microseconds = s.sparse ? 0 : o.integer("spin_microseconds");
    out.push_back(std::move(s));
  }
  return out;
}

// Scripts look for the log under both of its old names.
void link_log() {
  const std::filesystem::path file = log_file();
  if (file.empty()) return;
  point_link("paddle_pserver2.INFO", file.parent_path() / "paddle_pserver_main.INFO");
}

// `lines` as in the ready file.
void report_listening(const std::string& lines, ShardBoard& board) {
  std::istringstream in(lines);
  size_t shard = 0;
  for (std::string kind, endpoint; in >> kind >> endpoint;) {
    emit(event::Listening{.endpoint = endpoint, .sparse = kind == "sparse"});
    board.set_endpoint(shard++, endpoint);
  }
}

// The board outlives the server, and the shards' reports go there once a second.
std::unique_ptr<HttpServer> open_http(const Options& o, const ShardBoard& board,
                                      const wire::Credentials& credentials) {
  constexpr double silent_seconds = 10;
  const auto silent = [&board] { return board.silent(silent_seconds, Clock::now()); };
  return serve_pages(
      {o.text("http_host"), o.integer("http_port"), o.flag("insecure")},
      {.metrics =
           [&board] { return shard_metrics(board.all()) + process_metrics(process_report()); },
       .status = [&board] { return status_json(board.all()); },
       .sick = silent,
       .not_ready = silent},
      credentials.token);
}

}  // namespace

int pserver_main(std::span<const std::string> arguments) {
  const Environment environment = current_environment();
  const Options options = Options::parse(arguments, environment, pserver_options());
  if (answer_help(options, usage_line, std::cout)) return 0;
  if (answer_print_config(options, std::cout)) return 0;
  begin_log(options, "paddle_pserver2", arguments, environment, Screen::messages);
  start_events(options.text("event_file"), "pserver");
  emit(event::Started{version_text(), options.text("job_name"), ""});
  link_log();
  raise_file_limit();
  write_record(options, "pserver", run_notes("paddle pserver", arguments), "");
  // Whoever waits for the file must not read the ports of an earlier process.
  ::unlink(options.text("ready_file").c_str());
  std::vector<ShardOptions> shards = shards_of(options);
  ShardBoard board(shards.size());
  const wire::Credentials credentials = shards[0].listen.credentials;
  if (options.integer("http_port") >= 0)
    for (size_t i = 0; i < shards.size(); ++i)
      shards[i].calls.on_report = [&board, i](wire::Status status) {
        board.put(i, std::move(status), Clock::now());
      };
  for (ShardOptions& s : shards) s.calls.on_totals = [](const event::Totals& t) { emit(t); };
  ServiceManager manager(variable(environment, "NOTIFY_SOCKET"),
                         variable(environment, "WATCHDOG_USEC"), shards.size());
  Server server(std::move(shards), &manager);
  server.announce();
  report_listening(server.lines(), board);
  const std::unique_ptr<HttpServer> http = open_http(options, board, credentials);
  if (!options.text("ready_file").empty())
    write_file_atomically(options.text("ready_file"), server.lines());
  manager.ready(text("listening on port ", server.port(0)));
  server.serve();
  stopped_cleanly();
  const std::string failure = server.failure();
  require(failure.empty() || !options.flag("exit_when_done"), Error::Kind::peer, failure);
  return 0;
}

}  // namespace paddle
