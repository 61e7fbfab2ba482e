#include "paddle/run.h"

#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "base/file.h"
#include "options/cluster.h"
#include "options/program.h"
#include "options/record.h"
#include "options/tables.h"
#include "paddle/flags.h"
#include "paddle/kubernetes.h"
#include "paddle/process.h"
#include "wire/connection.h"

namespace paddle {
namespace {

bool is_trainer(const Options& options) {
  const std::string& role = options.text("role");
  require(!role.empty() || options.given("is_worker"), Error::Kind::config,
          "the role of this process is not set: set PADDLE_TRAINING_ROLE to PSERVER or TRAINER, or "
          "use paddle pserver or paddle trainer");
  return role.empty() ? options.flag("is_worker") : role == "TRAINER";
}

std::string settled(const Options& options, const std::string& name) {
  return name == "trainer_id" ? std::to_string(options.integer(name)) : options.text(name);
}

// Its own place in the list of pservers: said as such, as host and port, or by its number.
void add_place(const Options& options, std::vector<std::string>& words) {
  Options own = options;
  const auto take = [&](const std::string& endpoint) {
    const wire::Endpoint place = wire::parse_endpoint(endpoint, "current_endpoint");
    words.push_back("--host=" + place.host);
    words.push_back(text("--port=", place.port));
  };
  if (options.given("current_endpoint")) {
    own.replace("pservers", options.text("current_endpoint"), options.source("current_endpoint"));
    take(endpoints_of(own).dense.front());
  } else if (!options.given("host") && !options.given("port") && options.given("pservers") &&
             options.given("trainer_id")) {
    own.replace("ports_num", "1", "the first port of each");
    own.replace("ports_num_for_sparse", "0", "the first port of each");
    const std::vector<std::string> all = endpoints_of(own).dense;
    const auto id = static_cast<size_t>(options.integer("trainer_id"));
    require(id < all.size(), Error::Kind::config, "this pserver is number ", id, " (",
            options.source("trainer_id"), "), but there are ", all.size(), " pservers (",
            options.source("pservers"), "), numbered from 0");
    take(all[id]);
  }
  // As the trainers expect it: see endpoints_of().
  if (!options.given("ports_num_for_sparse") && options.given("pservers") &&
      endpoints_of(options).sparse.empty())
    words.push_back("--ports_num_for_sparse=0");
}

}  // namespace

std::vector<std::string> command_of_role(std::span<const std::string> arguments,
                                         const Environment& environment) {
  const OptionTable table = with_daemon_options(run_rows());
  Options options = Options::parse(arguments, environment, table);
  if (answer_help(
          options,
          "usage: paddle run --config=JOB.json [flags]\n"
          "The role stands in PADDLE_TRAINING_ROLE: PSERVER or TRAINER. Flags are those of\n"
          "paddle trainer and paddle pserver.",
          std::cout))
    return {};
  const std::vector<GivenFlag> given = read_command_line(arguments, table).flags;
  std::vector<std::string> words;
  const bool in_pod = options.flag("kubernetes"), trainer = is_trainer(options);
  if (in_pod) settle_pod(options, environment, trainer);
  if (trainer) {
    words = flags_for(trainer_options(), given);
    if (in_pod)
      for (const char* name : {"pservers", "trainer_id"}) {
        drop_flag(words, name);
        words.push_back(text("--", name, "=", settled(options, name)));
      }
    if (!options.given("local") && !options.given("cluster_train"))
      words.push_back("--local=false");
    words.insert(words.begin(), "trainer");
  } else {
    words = flags_for(pserver_options(), given);
    if (in_pod) {  // on every address of the pod: its name may not be known to itself yet
      if (!options.given("ports_num_for_sparse")) words.push_back("--ports_num_for_sparse=0");
      write_nodefile(options, static_cast<size_t>(options.integer("trainer_id")));
    } else {
      add_place(options, words);
    }
    words.insert(words.begin(), "pserver");
  }
  return words;
}

int run_main_of_role(std::span<const std::string> arguments) {
  std::vector<std::string> words = command_of_role(arguments, current_environment());
  if (words.empty()) return 0;
  std::string program = own_executable(), name = "paddle";
  std::vector<char*> pointers{name.data()};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw io_error("execute", program, errno);
}

}  // namespace paddle
