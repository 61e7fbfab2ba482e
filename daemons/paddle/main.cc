// The front command. Each row is one word after `paddle`, in the order in which the usage text
// lists them.
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "base/version.h"
#include "obs/events.h"
#include "options/commands.h"
#include "options/program.h"
#include "paddle/commands.h"
#include "paddle/run.h"
#include "pserver/pserver.h"
#include "trainer/trainer.h"

namespace paddle {
namespace {

void require_no_arguments(std::span<const std::string> words) {
  require(words.empty(), Error::Kind::config, "it takes no arguments, but got ", listed(words));
}

int list_events(std::span<const std::string> words) {
  if (answer_usage(words,
                   "usage: paddle list_events\n"
                   "Prints the events that --event_file gets, with their fields, as Markdown.\n",
                   std::cout))
    return 0;
  require_no_arguments(words);
  std::cout << event_tables() << std::flush;
  return 0;
}

int print_version(std::span<const std::string> words) {
  if (answer_usage(words,
                   "usage: paddle version\n"
                   "Prints the version and how the program was compiled.\n",
                   std::cout))
    return 0;
  require_no_arguments(words);
  std::cout << version_block() << std::flush;
  return 0;
}

int train(std::span<const std::string> words) { return trainer_main(words, "paddle train"); }
int trainer(std::span<const std::string> words) { return trainer_main(words, "paddle trainer"); }

std::vector<Command> commands() {
  return {
      {"train", "Start a job: train, test, time or check a network", train},
      {"trainer", "The same, as one of several trainers with pservers", trainer},
      {"infer", "Predict with a saved model, for the records of files", infer_main},
      {"pserver", "Start a parameter server", pserver_main},
      {"launch", "Start pservers and trainers of a job on this machine", launch_main},
      {"run", "Be a pserver or a trainer, as environment variables say", run_main_of_role},
      {"status", "Show what the pservers of a job are doing", status_main},
      {"table", "Print, export or import a sparse table of a saved model", table_main},
      {"token", "Make a token for the processes of a job", token_main},
      {"certs", "Make certificates for the processes of a job", certs_main},
      {"version", "Print the version and how it was compiled", print_version},
      {"dump_config", "Print the programs that a job file makes", dump_config_main},
      {"make_diagram", "Write the network of a job file as a Graphviz file", make_diagram_main},
      {"make_clicks", "Write click logs with a known best AUC, to try jobs on", make_clicks_main},
      {"list_layers", "Print what job files may hold; with a name explain it", list_layers_main},
      {"list_events", "Print the events that --event_file gets", list_events},
      {"help", "Print this text", nullptr},  // run_command() answers it
  };
}

}  // namespace
}  // namespace paddle

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return paddle::run_command("paddle", paddle::commands(), words, std::cout, std::cerr);
}
