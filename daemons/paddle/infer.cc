// paddle infer --model DIR --data FILE …: what a saved model says about the records of files.
#include <unistd.h>

#include <chrono>
#include <iostream>

#include "base/file.h"
#include "base/run_main.h"
#include "exec/executor.h"
#include "exec/table_store.h"
#include "io/inference_model.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/prediction_text.h"
#include "paddle/result_file.h"
#include "trainer/data_source.h"
#include "trainer/model_directory.h"

namespace paddle {
namespace {

const char* const infer_usage =
    "usage: paddle infer --model=DIR --data FILE … [--output=FILE]\n"
    "                    [--output_format=csv|json]\n"
    "Computes the outputs of a saved model, one line for each record of the files.";

// The words behind --data up to the next flag are files; the others are flags.
struct InferWords {
  std::vector<std::string> files, flags;
};

InferWords divide(std::span<const std::string> arguments) {
  InferWords out;
  bool files = false;
  for (const std::string& word : arguments) {
    const bool flag = word.size() > 1 && word.starts_with("-");
    if (flag) files = word == "--data" || word == "-data";
    if (word.starts_with("--data=")) {
      out.files.push_back(word.substr(7));
      files = true;
    } else if (!flag && files) {
      out.files.push_back(word);
    } else if (!files) {
      out.flags.push_back(word);
    }
  }
  return out;
}

// What came on stdin, as a file: formats look at the beginning of a file before they read it.
class StdinCopy {
 public:
  StdinCopy() {
    file_ = ::mkstemp(path_.data());
    if (file_ < 0) throw io_error("create", path_, errno);
    std::vector<char> buffer(size_t{1} << 16);
    while (const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size())) {
      if (n < 0 && errno == EINTR && stop_signal() == 0) continue;
      if (n < 0) throw io_error("read", "stdin", errno);
      for (ssize_t done = 0; done < n;) {
        const ssize_t written = ::write(file_, buffer.data() + done, static_cast<size_t>(n - done));
        if (written < 0) throw io_error("write", path_, errno);
        done += written;
      }
    }
  }
  ~StdinCopy() {
    ::close(file_);
    ::unlink(path_.c_str());
  }
  StdinCopy(const StdinCopy&) = delete;
  StdinCopy& operator=(const StdinCopy&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/paddle-infer-XXXXXX";
  int file_ = -1;
};

// The job of the model, with the user's files in the place of its test files.
JobFile job_to_infer(const Options& options, std::vector<std::string> files, Options& job_options) {
  const std::string& model = options.text("model");
  std::string config = options.text("config"), values = options.text("config_args");
  if (config.empty()) config = job_of_model(model);
  require(!config.empty(), Error::Kind::config, "'", model,
          "' has no job file that says what the data looks like: give --config=JOB.json");
  if (values.empty() && options.text("config").empty()) values = config_args_of_model(model);
  JobFile file = read_job(config, values, job_options);
  ReaderSpec& data = file.job.data.spec;
  data.test_files = std::move(files);
  if (options.integer("batch_size") > 0) {
    data.batch_size = options.integer("batch_size");
    data.window = 0;
  }
  if (data.window == 0) data.window = 64 * data.batch_size;  // files of any size
  return file;
}

struct Feeding {
  Names names;                 // of the program's feeds
  std::vector<size_t> fields;  // of the reader
};

Feeding feeds_of(const InferenceModel& model, const Reader& reader, const std::string& directory) {
  Feeding out;
  for (const std::string& name : model.feeds) {
    size_t i = 0;
    while (i < reader.fields().size() && reader.fields()[i].name != name) ++i;
    require(i < reader.fields().size(), Error::Kind::config, "the model '", directory, "' needs '",
            name, "', which the data does not have");
    out.names.push_back(name);
    out.fields.push_back(i);
  }
  return out;
}

uint64_t predict(Plan& plan, Reader& reader, const Feeding& feeding,
                 std::vector<Prediction> outputs, const Options& options, ResultFile& file) {
  const PredictionForm form =
      options.text("output_format") == "json" ? PredictionForm::json : PredictionForm::csv;
  const bool header = form == PredictionForm::csv && options.flag("header");
  uint64_t records = 0;
  std::string lines;
  for (Batch batch; reader.next(batch);) {
    for (size_t i = 0; i < feeding.fields.size(); ++i)
      plan.feed(i, batch.fields[feeding.fields[i]]);
    plan.run(0);
    for (size_t k = 0; k < outputs.size(); ++k) outputs[k].view = &plan.fetched(k);
    if (records == 0 && header) file.write(prediction_header(outputs));
    lines.clear();
    add_predictions(outputs, batch.samples, records + 1, form, lines);
    file.write(lines);
    records += static_cast<uint64_t>(batch.samples);
    require(stop_signal() == 0, Error::Kind::io, "stopped by a signal after ", records, " records");
  }
  return records;
}

void infer(const Options& options, std::vector<std::string> files) {
  const std::string& directory = options.text("model");
  Options job_options = Options::parse({}, {}, trainer_options());
  const JobFile job = job_to_infer(options, std::move(files), job_options);
  const Model made = build_model(job, 1);
  require(is_file(directory + "/__model__"), Error::Kind::config, "'", directory,
          "' has no program for predictions: name \"outputs\" in the job file and train again");
  Scope scope;
  const InferenceModel model = load_inference_model(directory, into(scope));
  load_tables(scope.part<TableStore>(), table_names(model.program), directory);
  const std::unique_ptr<Reader> reader = open_data(job, made, job_options, "", Part::test);
  const Feeding feeding = feeds_of(model, *reader, directory);
  Executor executor({.threads = static_cast<int>(options.integer("trainer_count")), .plan = {}});
  Plan& plan = executor.plan(model.program, scope, feeding.names, model.fetches);
  const Names& names =  // the job has those that people know
      job.job.outputs.size() == model.fetches.size() ? job.job.outputs : model.fetches;
  std::vector<Prediction> outputs;
  for (const std::string& name : names) outputs.push_back({name});
  ResultFile file(options.text("output"));
  const auto start = std::chrono::steady_clock::now();
  const uint64_t records = predict(plan, *reader, feeding, outputs, options, file);
  file.finish();
  if (options.text("output").empty()) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << "wrote " << options.text("output") << ": " << records << " predictions, "
            << static_cast<int64_t>(static_cast<double>(records) / seconds) << " records/s\n";
}

}  // namespace

OptionTable infer_options() {
  using enum OptionType;
  const std::string group = "Prediction";
  OptionTable out{
      {"model", text, "", "Directory of a saved model, such as output/pass-00000", group},
      {"data", text, "",
       "Files of the job's format, as paths or patterns, plain or compressed; several may follow; "
       "- is stdin",
       group},
      {"output", text, "", "The file to write; without it stdout", group},
      {"output_format", text, "csv", "csv, or json: one object per line", group,
       one_of({"csv", "json"})},
      {"header", flag, "true", "csv: the names of the columns as the first line", group},
      {"config", text, "",
       "The job file whose \"data\" describes the files; without it that of the model", group},
      {"config_args", text, "",
       "name=value,… for the job file; without it what the model was trained with", group},
      {"batch_size", integer, "0", "Records computed at once; 0 = as the job file says", group,
       between(0, 1e9)},
      {"trainer_count", integer, "1", "Threads", group, between(1, 1024)},
  };
  for (Option& row : answer_rows()) out.push_back(std::move(row));
  return out;
}

int infer_main(std::span<const std::string> arguments) {
  InferWords words = divide(arguments);
  const Options options = Options::parse(words.flags, current_environment(), infer_options());
  if (answer_help(options, infer_usage, std::cout) || answer_print_config(options, std::cout))
    return 0;
  require(!options.text("model").empty(), Error::Kind::config,
          "--model is missing: name the directory of a saved model\n", infer_usage);
  require(!words.files.empty(), Error::Kind::config,
          "--data is missing: name the files with the records\n", infer_usage);
  require(is_directory(options.text("model")), Error::Kind::io, "there is no model '",
          options.text("model"), "': check the path");
  std::optional<StdinCopy> input;
  for (std::string& name : words.files)
    if (name == "-") {
      require(!input, Error::Kind::config, "--data names stdin twice");
      name = input.emplace().path();
    }
  infer(options, std::move(words.files));
  return 0;
}

}  // namespace paddle
