// paddle dump_config: the programs that a job makes, whole or cut, as text or as a drawing.
#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/suggest.h"
#include "graph/dot.h"
#include "graph/text.h"
#include "options/program.h"
#include "options/tables.h"
#include "trainer/cut_options.h"
#include "trainer/model.h"
#include "trainer/step_traffic.h"
#include "trainer/trainer.h"

namespace paddle {
namespace {

constexpr const char* dump_usage =
    "usage: paddle dump_config JOB.json [name=value,…] [--role=ROLE] [flags]\n"
    "Prints the program that a job file makes. Flags are written --name=value.";

OptionTable dump_options() {
  using enum OptionType;
  const std::string group = "Output";
  OptionTable table = {
      {.name = "role",
       .default_value = "",
       .help = "Half of the program to print, once it is cut for the pservers: trainer or pserver; "
               "\"\" prints the program of one process",
       .group = group,
       .check = one_of({"trainer", "pserver", ""}),
       .in_job_file = false},
      {.name = "endpoint",
       .default_value = "",
       .help = "With role=pserver: the half of this shard (host:port) alone",
       .group = group,
       .in_job_file = false},
      {.name = "whole",
       .type = flag,
       .default_value = "false",
       .help = "Print the startup program too",
       .group = group,
       .in_job_file = false},
      {.name = "dot",
       .type = flag,
       .default_value = "false",
       .help = "Print Graphviz instead of text; draw it with dot -Tsvg",
       .group = group,
       .in_job_file = false},
  };
  const OptionTable job = trainer_options();
  table.insert(table.end(), job.begin(), job.end());
  return table;
}

class Printer {
 public:
  explicit Printer(const Options& options)
      : whole_(options.flag("whole")), dot_(options.flag("dot")) {}

  void print(const std::string& title, const Program& main, const Program& startup) const {
    if (!title.empty()) heading(title);
    if (whole_) {
      heading("startup program");
      print(startup);
      heading("main program");
    }
    print(main);
  }

 private:
  void heading(const std::string& words) const {
    std::cout << (dot_ ? "// " : "") << words << "\n";
  }
  void print(const Program& program) const {
    std::cout << (dot_ ? program_dot(program) : program_text(program));
  }

  bool whole_, dot_;
};

// The shards to print.
std::vector<size_t> chosen_shards(const Options& options, const Names& endpoints) {
  std::vector<size_t> shards;
  const std::string& wanted = options.text("endpoint");
  for (size_t i = 0; i < endpoints.size(); ++i)
    if (wanted.empty() || endpoints[i] == wanted) shards.push_back(i);
  require(!shards.empty(), Error::Kind::config, "there is no shard ", wanted,
          did_you_mean(wanted, endpoints), ": the dense shards are ", listed(endpoints));
  return shards;
}

void print_half(const Options& options, const Model& model) {
  const Cluster cluster = cluster_of(options);
  require(cluster.mode != TrainMode::geo, Error::Kind::config,
          "with geo_steps the trainers run the whole program: leave out --role");
  const TranspileOptions how = cut_options(options, cluster);
  const Cut cut = transpile(model.net.main, model.net.startup, how);
  const Printer printer(options);
  if (options.text("role") == "trainer") {
    require(options.text("endpoint").empty(), Error::Kind::config,
            "--endpoint chooses a shard: it belongs to --role=pserver");
    printer.print("", cut.trainer, model.net.startup);
  } else {
    for (const size_t i : chosen_shards(options, how.endpoints))
      printer.print(text("shard ", i, " ", how.endpoints[i]), cut.pservers[i], cut.startups[i]);
  }
  std::cout << std::flush;
  std::cerr << placement_table(cut, how.endpoints);
  if (how.sync || cluster.mode == TrainMode::half_async)
    std::cerr << traffic_line(step_traffic(SliceLayout(cut)));
  for (const std::string& note : cut.notes) std::cerr << "note: " << note << "\n";
}

}  // namespace

int dump_config_main(std::span<const std::string> arguments) {
  std::vector<std::string> words, flags;
  for (const std::string& a : arguments) (a.starts_with("-") ? flags : words).push_back(a);
  Options options = Options::parse(flags, current_environment(), dump_options());
  if (answer_help(options, dump_usage, std::cout)) return 0;
  if (words.empty() && options.given("config")) words.push_back(options.text("config"));
  require(words.size() == 1 || words.size() == 2, Error::Kind::config, dump_usage);
  const JobFile file = read_job(words[0], words.size() > 1 ? words[1] : "", options);
  if (answer_print_config(options, std::cout)) return 0;
  const Model model = build_model(file, 1);
  if (!options.text("role").empty()) {
    print_half(options, model);
  } else {
    require(options.text("endpoint").empty(), Error::Kind::config,
            "--endpoint chooses a shard: it belongs to --role=pserver");
    Printer(options).print("", model.net.main, model.net.startup);
    std::cout << std::flush;
  }
  return 0;
}

}  // namespace paddle
