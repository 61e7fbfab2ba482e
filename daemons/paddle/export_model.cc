// paddle export MODEL --output=DIR: a model of training as one for predictions.
#include <filesystem>
#include <iostream>

#include "base/file.h"
#include "base/version.h"
#include "exec/table_store.h"
#include "io/inference_model.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/host_list.h"
#include "trainer/model.h"
#include "trainer/model_directory.h"

namespace paddle {
namespace {

const char* const export_usage =
    "usage: paddle export MODEL --output=DIR [--outputs=NAME,…] [--params_file=NAME]\n"
    "Writes what predictions need of a saved model: the program from its inputs to\n"
    "the outputs, and their parameters, as paddle infer and PaddlePaddle's\n"
    "load_inference_model read them.";

std::string config_of_export(const std::string& model, const Options& options) {
  if (!options.text("config").empty()) return options.text("config");
  const std::string config = job_of_model(model);
  require(!config.empty(), Error::Kind::config, "'", model,
          "' has no job file that says how its outputs are computed: give --config=JOB.json");
  return config;
}

Model model_to_export(const std::string& directory, const Options& options, JobFile& job) {
  const std::string config = config_of_export(directory, options);
  std::string values = options.text("config_args");
  if (values.empty() && options.text("config").empty()) values = config_args_of_model(directory);
  Options job_options = Options::parse({}, {}, trainer_options());
  job = read_job(config, values, job_options);
  if (!options.text("outputs").empty()) job.job.outputs = split_list(options.text("outputs"));
  require(!job.job.outputs.empty(), Error::Kind::config,
          "the job file names no \"outputs\": say with --outputs which layers predictions are");
  return build_model(job, 1);
}

void copy_into(AtomicDirectory& to, const std::string& from, const std::string& name) {
  std::filesystem::copy_file(from, to.temporary() + "/" + name);
}

void export_model(const std::string& directory, const Options& options) {
  const std::string& output = options.text("output");
  JobFile job;
  const Model model = model_to_export(directory, options, job);
  const Names feeds = needed_inputs(model);
  const InferenceModel made = make_inference_model(model.test, feeds, model.outputs);
  Scope scope;
  load_vars(directory, persistables_of(made.program), into(scope));
  const Names tables = table_names(model.test.pruned(model.outputs));
  AtomicDirectory target(output);
  for (const std::string& table : tables)
    copy_into(target, directory + "/" + table_file_name(table), table_file_name(table));
  save_inference_model(target.temporary(), feeds, model.outputs, model.test, values_of(scope),
                       {.params = options.text("params_file")});
  const std::string name = std::filesystem::path(job.path).filename().string();
  target.write(name, job.source);
  target.write("path.txt", name);
  target.commit(version_block());
  std::cout << "wrote " << output << ": from ";
  for (const std::string& feed : feeds) std::cout << (feed == feeds[0] ? "" : ", ") << feed;
  std::cout << " to ";
  for (size_t i = 0; i < job.job.outputs.size(); ++i)
    std::cout << (i == 0 ? "" : ", ") << job.job.outputs[i];
  std::cout << ", " << persistables_of(made.program).size() << " parameters";
  if (!tables.empty())
    std::cout << ", " << tables.size() << " sparse tables, which paddle infer reads and "
              << "PaddlePaddle does not";
  std::cout << std::endl;
}

}  // namespace

OptionTable export_options() {
  using enum OptionType;
  const std::string group = "Export";
  OptionTable out{
      {"output", text, "", "Directory to write; it must not be there yet", group},
      {"outputs", text, "", "Layers that predictions are; without it those of the job file", group},
      {"params_file", text, "", "One file for all parameters; \"\" makes one for each", group},
      {"config", text, "", "The job file; without it that of the model", group},
      {"config_args", text, "",
       "name=value,… for the job file; without it what the model was trained with", group},
  };
  for (Option& row : answer_rows()) out.push_back(std::move(row));
  return out;
}

int export_main(std::span<const std::string> arguments) {
  const bool named = !arguments.empty() && !arguments[0].starts_with("-");
  const Options options =
      Options::parse(arguments.subspan(named ? 1 : 0), current_environment(), export_options());
  if (answer_help(options, export_usage, std::cout) || answer_print_config(options, std::cout))
    return 0;
  require(named, Error::Kind::config, "the model is missing\n", export_usage);
  const std::string &model = arguments[0], &output = options.text("output");
  require(!output.empty(), Error::Kind::config,
          "--output is missing: name the directory to write\n", export_usage);
  require(is_directory(model), Error::Kind::io, "there is no model '", model, "': check the path");
  require(!std::filesystem::exists(output), Error::Kind::config, "'", output,
          "' is there already: remove it, or give another --output");
  export_model(model, options);
  return 0;
}

}  // namespace paddle
