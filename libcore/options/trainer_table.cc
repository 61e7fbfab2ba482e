#include "options/tables.h"

namespace paddle {
namespace {

OptionTable job_rows() {
  using enum OptionType;
  const std::string group = "Job";
  return {
      {.name = "config",
       .default_value = "",
       .help = "Job file: inputs, layers, cost, optimizer, data",
       .group = group,
       .in_job_file = false},
      {.name = "config_args",
       .default_value = "",
       .help = "Values for the names the job file leaves open: k1=v1,k2=v2",
       .group = group,
       .in_job_file = false},
      {"job", text, "train", "What to do: train, test, checkgrad or time", group,
       one_of({"train", "test", "checkgrad", "time"})},
      {"data_dir", text, "", "Directory to look for data files in first", group},
      {.name = "data_home",
       .default_value = "",
       .help = "Directory of data sets to look in next; \"\" is ~/.cache/paddle/dataset",
       .group = group,
       .environment = {"PADDLE_DATA_HOME"}},
  };
}

OptionTable training_rows() {
  using enum OptionType;
  const std::string group = "Training";
  return {
      {"num_passes", integer, "100",
       "Passes over the data; with job=test the pass after the last one tested", group,
       between(1, most)},
      {"trainer_count", integer, "1", "Threads of this process", group, between(1, 1024)},
      {"seed", integer, "1", "Start of all random numbers; 0 takes the clock", group,
       between(0, most)},
      {.name = "use_gpu",
       .type = flag,
       .default_value = "false",
       .help = "Compute on a GPU, with auto where there is one; pservers compute on the CPU",
       .group = group,
       .words = {"auto"}},
      {"gpu_id", integer, "-1",
       "Number of the GPU, from 0; -1 takes trainer_id modulo the number of GPUs", group,
       between(-1, 1023)},
      {"gpu_tf32", flag, "false",
       "Matrix products of a GPU in TF32: faster, and exact to three digits only", group},
      {"gpu_replay", flag, "true",
       "Ops of a GPU that need nothing of the host are started together, as CUDA graphs", group},
      {.name = "check_nan_inf",
       .type = flag,
       .default_value = "false",
       .help = "Look for NaN and Inf after every op and stop with the names of op and variable",
       .group = group,
       .environment = {"FLAGS_check_nan_inf"}},
      {"checkgrad_eps", real, "1e-5", "Step of the central differences of job=checkgrad", group,
       above(0)},
      {"checkgrad_samples", integer, "100",
       "Elements of each parameter that job=checkgrad looks at; 0 is all of them", group,
       between(0, most)},
      {"time_batches", integer, "1000",
       "Batches that job=time measures, after a tenth as many to warm up", group, between(1, most)},
  };
}

OptionTable model_rows() {
  using enum OptionType;
  const std::string group = "Models";
  return {
      {"save_dir", text, "", "Directory that gets pass-00000, pass-00001, ...; \"\" saves nothing",
       group},
      {"saving_period", integer, "1", "Save after every so many passes", group, between(1, most)},
      {"saving_period_by_batches", integer, "0",
       "Save after every so many batches too, as pass-00000-001; 0 does not", group,
       between(0, most)},
      {"save_only_one", flag, "false", "Remove the model saved before once a newer one stands",
       group},
      {"start_pass", integer, "0",
       "First pass; the model of the pass before is loaded from save_dir", group, between(0, most)},
      {"init_model_path", text, "",
       "Directory of the model to start from, also one that Python saved; goes before start_pass",
       group},
      {"load_missing_parameter_strategy", text, "fail",
       "For a parameter the loaded model lacks: fail, rand (initialise as usual) or zero", group,
       one_of({"fail", "rand", "zero"})},
  };
}

OptionTable report_rows() {
  using enum OptionType;
  const std::string group = "Reports and tests";
  return {
      {"log_period", integer, "100",
       "Log the cost after every so many batches; 0 only after each pass", group, between(0, most)},
      {"dot_period", integer, "1",
       "Print a dot after every so many batches where no progress line is shown; 0 prints none",
       group, between(0, most)},
      {"show_layer_stat", flag, "false", "Print what each op costs at the end of job=time", group},
      {"dry_run", flag, "false",
       "With job=time: print what a step asks of a GPU, and how long that takes at least", group},
      {"show_curve", flag, "false", "Draw the cost of the passes at the end", group},
      {"test_period", integer, "0", "Test after every so many batches; 0 after each pass", group,
       between(0, most)},
      {"test_pass", integer, "-1", "First pass that job=test tests; -1 is that of init_model_path",
       group, between(-1, most)},
      {"show_parameter_stats_period", integer, "0",
       "Log mean and largest absolute value of every parameter after every so many batches; 0 "
       "never",
       group, between(0, most)},
      {.name = "event_dir",
       .default_value = "",
       .help = "Directory that gets event files for TensorBoard, of trainer N in trainer-N "
               "(docs/events.md)",
       .group = "Log and events",
       .in_job_file = false},
      {.name = "parameter_period",
       .type = real,
       .default_value = "5",
       .help = "Least seconds between two looks at the norms and histograms of the parameters, for "
               "event_file and event_dir; they are at ends of passes (of a Python script: of "
               "steps) and take less than a hundredth of the time; 0 looks at every end, -1 never",
       .group = "Log and events",
       .check = at_least(-1)},
  };
}

}  // namespace

OptionTable trainer_options() {
  OptionTable table = job_rows();
  for (OptionTable more :
       {training_rows(), trainer_cluster_rows(), model_rows(), report_rows(), common_options()})
    table.insert(table.end(), more.begin(), more.end());
  return table;
}

}  // namespace paddle
