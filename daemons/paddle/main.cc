// The front command. Each row is one word after `paddle`, in the order in which the usage text
// lists them.
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "base/version.h"
#include "exec/gpu.h"
#include "obs/events.h"
#include "obs/metrics.h"
#include "options/commands.h"
#include "options/completion.h"
#include "options/environment.h"
#include "options/man_page.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/flags.h"
#include "paddle/help_topics.h"
#include "paddle/launch_plan.h"
#include "paddle/layer_examples.h"
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

int list_metrics(std::span<const std::string> words) {
  if (answer_usage(words,
                   "usage: paddle list_metrics\n"
                   "Prints the metrics of pservers and trainers (--http_port) as Markdown.\n",
                   std::cout))
    return 0;
  require_no_arguments(words);
  std::cout << metric_lists() << std::flush;
  return 0;
}

int print_version(std::span<const std::string> words) {
  if (answer_usage(words,
                   "usage: paddle version\n"
                   "Prints the version and how the program was compiled.\n",
                   std::cout))
    return 0;
  require_no_arguments(words);
  const GpuKind kind = gpu_kind(variable(current_environment(), "PADDLE_CUDA_DEVICE"));
  std::cout << version_block(has_gpu_module(kind)) << std::flush;
  return 0;
}

int train(std::span<const std::string> words) { return trainer_main(words, "paddle train"); }
int trainer(std::span<const std::string> words) { return trainer_main(words, "paddle trainer"); }

int list_layers(std::span<const std::string> words) {
  return list_layers_main(words, layer_examples());
}
int completion(std::span<const std::string> words);
int print_man_page(std::span<const std::string> words);

std::vector<Command> commands() {
  return {
      {"train", "Start a job: train, test, time or check a network", train, trainer_options},
      {"trainer", "The same, as one of several trainers with pservers", trainer, trainer_options},
      {"infer", "Predict with a saved model, for the records of files", infer_main, infer_options},
      {"export", "Write what predictions need of a saved model", export_main, export_options},
      {"compare", "Show what differs between two models or two runs", compare_main,
       compare_options},
      {"pserver", "Start a parameter server", pserver_main, pserver_options},
      {"launch", "Start pservers and trainers of a job on this machine", launch_main,
       launch_options},
      {"run", "Be a pserver or a trainer, as environment variables say", run_main_of_role,
       [] { return with_daemon_options(run_rows()); }},
      {"status", "Show what a job is doing", status_main, status_options},
      {"doctor", "Check this machine and the pservers of a job", doctor_main, doctor_options},
      {"admin", "Ask the pservers of a job for a snapshot, or to stop", admin_main, admin_options},
      {"ui", "Show a job on a page in the browser", ui_main, ui_options},
      {"logs", "Show the logs of a launched job in the order of time", logs_main, logs_options},
      {"table", "Print, export or import a sparse table of a saved model", table_main,
       table_command_options},
      {"token", "Make a token for the processes of a job", token_main, token_options},
      {"certs", "Make certificates for the processes of a job", certs_main, certs_options},
      {"version", "Print the version and how it was compiled", print_version},
      {"dump_config", "Print the programs that a job file makes", dump_config_main},
      {"make_diagram", "Write the network of a job file as a Graphviz file", make_diagram_main},
      {"make_clicks", "Write click logs with a known best AUC, to try jobs on", make_clicks_main},
      {"list_layers", "Print what job files may hold; with a name explain it", list_layers},
      {"list_events", "Print the events that --event_file gets", list_events},
      {"list_metrics", "Print the metrics that --http_port gives", list_metrics},
      {"completion", "Print what bash, zsh or fish need to complete words", completion},
      {"man_page", "Print the manual page of a command", print_man_page},
      {"help", "Print this text, or a page of the documentation", print_topic},
  };
}

int completion(std::span<const std::string> words) {
  const std::string usage =
      "usage: paddle completion bash|zsh|fish\n"
      "Prints the completion of a shell: source <(paddle completion bash)\n";
  if (answer_usage(words, usage, std::cout)) return 0;
  require(words.size() == 1, Error::Kind::config, usage);
  std::cout << completion_script(words[0], "paddle", commands()) << std::flush;
  return 0;
}

// What a command prints for --help.
std::string help_of(const Command& command) {
  const std::vector<std::string> help{"--help"};
  std::ostringstream out;
  std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
  try {
    command.run(help);
  } catch (...) {
    std::cout.rdbuf(before);
    throw;
  }
  std::cout.rdbuf(before);
  return std::move(out).str();
}

int print_man_page(std::span<const std::string> words) {
  const std::string usage =
      "usage: paddle man_page [COMMAND]\n"
      "Prints a page for man(1); without COMMAND that of paddle itself. The\n"
      "installation has them: man paddle-status\n";
  if (answer_usage(words, usage, std::cout)) return 0;
  require(words.size() < 2, Error::Kind::config, usage);
  const std::vector<Command> all = commands();
  if (words.empty()) {
    std::cout << man_page("paddle", all, version_text()) << std::flush;
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& c : all) {
    names.push_back(c.name);
    if (c.name != words[0]) continue;
    std::cout << man_page("paddle", c, help_of(c), version_text()) << std::flush;
    return 0;
  }
  throw Error(Error::Kind::config, "there is no command '", words[0], "'",
              did_you_mean(words[0], names));
}

}  // namespace
}  // namespace paddle

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return paddle::run_command("paddle", paddle::commands(), words, std::cout, std::cerr);
}
