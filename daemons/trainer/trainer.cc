#include "trainer/trainer.h"

#include <chrono>
#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/host.h"
#include "base/log.h"
#include "base/suggest.h"
#include "base/version.h"
#include "graph/dot.h"
#include "options/cluster.h"
#include "options/environment.h"
#include "options/program.h"
#include "options/tables.h"
#include "trainer/gpu_estimate.h"
#include "trainer/model_directory.h"
#include "trainer/train.h"
#include "trainer/trainer_pages.h"

namespace paddle {
namespace {

constexpr const char* usage_lines =
    " --config=JOB.json [flags]\n"
    "A job file describes the network, the optimizer and the data.";

// Seed 0 asks for another one every time; from here on it is a number like any other, and the log
// tells it.
void choose_seed(Options& options) {
  if (options.integer("seed") != 0) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  options.replace("seed", std::to_string(1 + static_cast<uint64_t>(now) % 2147483646), "the clock");
  log_info(text("seed=", options.integer("seed"), " (from the clock)"));
}

// The job file. Where that of a saved model is taken, so are the values of its placeholders.
std::string config_of(Options& options) {
  const std::string& config = options.text("config");
  if (!config.empty()) return config;
  const std::string& model = options.text("init_model_path");
  const std::string job = model.empty() ? "" : job_of_model(model);
  require(!job.empty(), Error::Kind::config,
          "there is no job: give --config=JOB.json (ready ones are in configs/ of the source "
          "and, installed, in share/paddle/configs)");
  const std::string values = config_args_of_model(model);
  if (!options.given("config_args") && !values.empty())
    options.replace("config_args", values, model);
  return job;
}

}  // namespace

int trainer_main(std::span<const std::string> arguments, const std::string& name) {
  const Environment environment = current_environment();
  Options options = Options::parse(arguments, environment, trainer_options());
  if (answer_help(options, "usage: " + name + usage_lines, std::cout)) return 0;
  const std::string config = config_of(options);
  JobFile file = read_job(config, options.text("config_args"), options);
  settle_local(options);
  if (answer_print_config(options, std::cout)) return 0;
  begin_log(options, "paddle_trainer", arguments, environment, Screen::warnings);
  const std::unique_ptr<HttpServer> http = begin_telling(options, config);
  choose_seed(options);
  raise_file_limit();

  const std::string& job = options.text("job");
  Session session(std::move(file), options, environment,
                  job == "checkgrad" ? ModelKind::differentiates : ModelKind::trains);
  log_info(text("job ", config, ": ", session.model().net.main.parameters().size(), " parameters, ",
                session.model().net.main.global().ops().size(),
                " ops, trainer mode: ", job == "test" ? "Testing" : "Normal"));
  Notes notes = run_notes(name, arguments);
  notes.emplace_back("program digest", session.model().digest);
  write_record(session.options(), "train", notes, session.file().source);
  if (options.given("trainer_id") || options.flag("local"))  // else a pserver numbers it
    write_nodefile(options, static_cast<size_t>(options.integer("trainer_id")));
  if (job == "train") train(session);
  if (job == "test") test_models(session);
  if (job == "time") options.flag("dry_run") ? estimate_gpu_step(session) : measure_time(session);
  if (job == "checkgrad") check_gradients(session);
  return 0;
}

int make_diagram_main(std::span<const std::string> arguments) {
  const std::string usage = "usage: paddle make_diagram JOB.json FILE.dot [name=value,…]";
  if (answer_usage(arguments,
                   usage + "\nWrites the network of a job file as a Graphviz file; draw it with "
                           "dot -Tsvg.\n",
                   std::cout))
    return 0;
  require(arguments.size() == 2 || arguments.size() == 3, Error::Kind::config, usage);
  Options options = Options::parse({}, {}, trainer_options());
  const JobFile file = read_job(arguments[0], arguments.size() > 2 ? arguments[2] : "", options);
  const Model model = build_model(file, 1);
  write_file_atomically(arguments[1], program_dot(model.test));
  std::cerr << "wrote " << arguments[1] << ": draw it with dot -Tsvg " << arguments[1] << "\n";
  return 0;
}

}  // namespace paddle
