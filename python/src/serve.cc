// A pserver inside a Python process: the very shard of `paddle pserver`.
#include <unistd.h>

#include <fstream>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "graph/text.h"
#include "io/program_buffer.h"
#include "job.h"
#include "options/environment.h"
#include "options/record.h"
#include "options/tables.h"
#include "pserver/server.h"

namespace paddle {
namespace {

const Op* listening(const Program& program) {
  for (const auto& op : program.global().ops())
    if (op->type == "listen_and_serv") return op.get();
  return nullptr;
}

// The ops of all blocks but the first, as text: what a shard does with what comes.
Names updates_of(const Program& program) {
  Names out;
  for (size_t i = 1; i < program.num_blocks(); ++i)
    for (const auto& op : program.block(static_cast<int32_t>(i)).ops()) {
      Op bare = *op;
      bare.attrs.remove(role::callstack_attr);
      out.push_back(op_text(bare));
    }
  return out;
}

// "" where what a trainer brought is the half that this process was started with.
std::string difference(const Program& own, const StoreConfig& theirs) {
  const std::string remedy =
      ": the scripts (or the job file) of this pserver and of the trainer define different "
      "networks, or cut them differently; start all processes of a job with the same script";
  for (const KeptVariable& v : theirs.variables) {
    const Var* mine = own.global().find(v.name);
    if (mine == nullptr)
      return text("this pserver's program has no variable '", v.name, "', the trainer's has",
                  remedy);
    if (mine->shape != v.shape || mine->dtype != v.dtype)
      return text("'", v.name, "' is ", name_of(mine->dtype), mine->shape,
                  " in this pserver's program and ", name_of(v.dtype), v.shape, " in the trainer's",
                  remedy);
  }
  const Names here = updates_of(own), there = updates_of(theirs.program);
  for (size_t i = 0; i < std::min(here.size(), there.size()); ++i)
    if (here[i] != there[i])
      return text("this pserver would run ", here[i], " where the trainer's program has ", there[i],
                  remedy);
  if (here.size() != there.size())
    return text("this pserver's program updates parameters by ", here.size(),
                " ops, the trainer's by ", there.size(), remedy);
  return "";
}

// As any endpoint; the port may be 0 as well, for one that the system chooses.
wire::Endpoint listening_endpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.substr(colon) != ":0")
    return wire::parse_endpoint(text, "the endpoint to listen on");
  wire::Endpoint at =
      wire::parse_endpoint(text.substr(0, colon) + ":1", "the endpoint to listen on");
  at.port = 0;
  return at;
}

// Where scripts look for the port that was chosen.
std::string chosen_port_file() { return text("/tmp/paddle.", ::getpid(), ".selected_port"); }

ShardOptions shard_of(const ProgramPtr& program, const Op& listen, const Options& o,
                      std::map<std::string, Tensor> presets) {
  ShardOptions s = shard_options(o);
  const wire::Endpoint at = listening_endpoint(listen.attrs.get<std::string>("endpoint"));
  s.listen.host = at.host;
  s.listen.port = at.port;
  s.trainers = static_cast<uint32_t>(listen.attrs.get<int32_t>("Fanin"));
  s.index = static_cast<size_t>(std::max(0, listen.attrs.get<int32_t>("pserver_id")));
  s.listen.spin_microseconds = o.integer("spin_microseconds");
  s.own.check = [program](const StoreConfig& c) { return difference(*program, c); };
  s.own.presets = std::move(presets);
  return s;
}

// Names and addresses of other machines' view of this one (behind a router, in a container) cannot
// be listened on: then every address is.
std::unique_ptr<Server> open_server(const ShardOptions& s) {
  try {
    return std::make_unique<Server>(std::vector<ShardOptions>{s});
  } catch (const Error& e) {
    ShardOptions everywhere = s;
    everywhere.listen.host.clear();
    try {
      auto server = std::make_unique<Server>(std::vector<ShardOptions>{everywhere});
      log_warn(text(e.what(), "; listening on every address instead"));
      return server;
    } catch (const Error& of_all) {
      throw Error(e.kind(), e.what(), "; ", of_all.what());
    }
  }
}

void serve(const ProgramPtr& program, const std::map<std::string, PyTensor>& presets,
           const std::map<std::string, std::string>& flags,
           const std::map<std::string, std::vector<std::string>>& rows) {
  const Op* listen = listening(*program);
  require(listen != nullptr, Error::Kind::config,
          "this program is no pserver's: it has no listen_and_serv op (get_pserver_program() "
          "makes one)");
  const Options o = script_options(pserver_options(), flags);
  std::map<std::string, Tensor> values;
  for (const auto& [name, tensor] : presets) values[name] = tensor.get();
  ShardOptions s = shard_of(program, *listen, o, std::move(values));
  for (const auto& [table, chunks] : rows)
    for (const std::string& chunk : chunks) {
      const auto* bytes = reinterpret_cast<const std::byte*>(chunk.data());
      s.own.preset_rows[table].emplace_back(bytes, bytes + chunk.size());
    }
  begin_script_log(o, "paddle_pserver2");
  write_script_record(o, "pserver", program_digest(*program));
  const py::gil_scoped_release others;
  const std::unique_ptr<Server> server = open_server(s);
  log_info(text("Server listening on ", s.listen.host, ":", server->port(0)));
  if (s.listen.port == 0)
    write_file_atomically(chosen_port_file(), std::to_string(server->port(0)) + "\n");
  if (!o.text("ready_file").empty()) write_file_atomically(o.text("ready_file"), server->lines());
  server->serve();
  const std::string failure = server->failure();
  require(failure.empty() || !o.flag("exit_when_done"), Error::Kind::peer, failure);
}

}  // namespace

Options script_options(const OptionTable& table, const std::map<std::string, std::string>& flags) {
  // Variables without the prefix say which role and place a process has; scripts read these
  // themselves, and by other names.
  Environment environment;
  for (const auto& [name, value] : current_environment())
    if (name.starts_with("PADDLE_INIT_") || name.starts_with("FLAGS_communicator_") ||
        name.starts_with("GLOG_") || name == "PADDLE_TOKEN_FILE")
      environment[name] = value;
  for (const char* own : {"PADDLE_INIT_PORT", "PADDLE_INIT_PSERVERS", "PADDLE_INIT_TRAINER_ID",
                          "PADDLE_INIT_NUM_GRADIENT_SERVERS", "PADDLE_INIT_HOST"})
    environment.erase(own);
  Options options = Options::parse({}, environment, table);
  for (const auto& [name, value] : flags)
    if (!options.given(name)) options.replace(name, value, "the script");
  return options;
}

void begin_script_log(const Options& options, const std::string& program) {
  static std::string begun;  // a process has one log
  if (!options.given("log_dir") && !options.given("workspace")) return;
  if (std::exchange(begun, program) == program) return;
  start_log(log_options(options, program));
  log_info("PaddlePaddle " + version_text() + ": " + program + " of a Python script");
}

void write_script_record(const Options& options, const std::string& name,
                         const std::string& digest) {
  std::vector<std::string> words;  // of the command line
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  if (words.empty()) words.emplace_back("python3");
  Notes notes = run_notes(words[0], std::span(words).subspan(1));
  notes.emplace_back("program digest", digest);
  write_record(options, name, notes, "");
}

void bind_serve(py::module_& m) {
  m.def("serve", &serve, py::arg("program"), py::arg("presets") = std::map<std::string, PyTensor>{},
        py::arg("flags") = std::map<std::string, std::string>{},
        py::arg("rows") = std::map<std::string, std::vector<std::string>>{},
        "Serves a pserver's half until a signal, or the end of the job with exit_when_done.");
}

}  // namespace paddle
