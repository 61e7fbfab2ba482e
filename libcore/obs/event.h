// What happens in a job, as plain values: one struct per kind of event. Each names its fields once
// (`each`); the writer, the reader of `paddle launch` and docs/events.md follow from that.
// An event reports; no process of a job depends on one being read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace paddle::event {

using Evaluators = std::vector<std::pair<std::string, double>>;  // name and value

struct Started {
  static constexpr const char* kind = "started";
  static constexpr const char* when = "a process has read its options and begins to work";
  std::string version, job, config;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("version", e.version, "of the program");
    visit("job", e.job, "name of the job (`--job_name`)");
    visit("config", e.config, "trainer: the job file; pserver and Python script: \"\"");
  }
};

struct Listening {
  static constexpr const char* kind = "listening";
  static constexpr const char* when = "a shard of a pserver accepts connections";
  std::string endpoint;
  bool sparse = false;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("endpoint", e.endpoint, "host:port");
    visit("sparse", e.sparse, "whether the shard is for sparse tables");
  }
};

struct Serving {
  static constexpr const char* kind = "serving";
  static constexpr const char* when = "the process answers HTTP requests (`--http_port`)";
  std::string address;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("address", e.address, "http://host:port");
  }
};

struct Joined {
  static constexpr const char* kind = "joined";
  static constexpr const char* when = "a trainer has joined the job on all pservers";
  int64_t trainer = 0, trainers = 0, step = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("trainer", e.trainer, "its id");
    visit("trainers", e.trainers, "number of trainers in the job");
    visit("step", e.step, "the step that it goes on with");
  }
};

struct Training {
  static constexpr const char* kind = "training";
  static constexpr const char* when = "a trainer begins with its first batch";
  int64_t trainer = 0, pass = 0, passes = 0, batches = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("trainer", e.trainer, "its id; 0 without pservers");
    visit("pass", e.pass, "the first pass of this run, counted from 0");
    visit("passes", e.passes, "number of passes (`--num_passes`)");
    visit("batches", e.batches, "batches of this trainer in a pass; 0: not known");
  }
};

struct Progress {
  static constexpr const char* kind = "progress";
  static constexpr const char* when = "during training, about five times a second";
  int64_t trainer = 0, step = 0, pass = 0, passes = 0, batch = 0, batches = 0, samples = 0;
  double samples_per_second = 0, cost = 0;
  Evaluators evaluators;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("trainer", e.trainer, "its id; 0 without pservers");
    visit("step", e.step, "batches that it has done since the job began");
    visit("pass", e.pass, "passes that are done");
    visit("passes", e.passes, "number of passes; 0: not known, of a Python script");
    visit("batch", e.batch, "batches of the present pass that are done; of a Python script 0");
    visit("batches", e.batches, "batches of this trainer in a pass; 0: not known");
    visit("samples", e.samples, "samples since the job began");
    visit("samples_per_second", e.samples_per_second, "since the event before");
    visit("cost", e.cost,
          "mean over the present pass; of a Python script that fetches its loss, a recent one");
    visit("evaluators", e.evaluators,
          "mean over the present pass; of a Python script, other numbers that it fetches");
  }
};

struct PassEnded {
  static constexpr const char* kind = "pass_ended";
  static constexpr const char* when = "a trainer has done the last batch of a pass";
  int64_t trainer = 0, pass = 0, batches = 0, samples = 0;
  double cost = 0;
  Evaluators evaluators;
  int64_t step = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("trainer", e.trainer, "its id; 0 without pservers");
    visit("pass", e.pass, "the pass, counted from 0");
    visit("batches", e.batches, "batches of the pass");
    visit("samples", e.samples, "samples of the pass");
    visit("cost", e.cost, "mean over the pass");
    visit("evaluators", e.evaluators, "mean over the pass");
    visit("step", e.step, "batches that it has done since the job began");
  }
};

// An op of the network, as `paddle make_diagram` draws it.
struct NetworkOp {
  static constexpr const char* kind = "op";
  static constexpr const char* when =
      "trainer 0 begins with its first batch: one for each op of the network, the first 300";
  int64_t number = 0, ops = 0;
  std::string type, inputs, outputs;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("number", e.number, "of the op, from 0");
    visit("ops", e.ops, "how many the network has");
    visit("type", e.type, "what it computes");
    visit("inputs", e.inputs, "names of variables, with spaces between them");
    visit("outputs", e.outputs, "the same");
  }
};

struct Parameter {
  static constexpr const char* kind = "parameter";
  static constexpr const char* when =
      "trainer 0 looks at its parameters (`--parameter_period`): one for each of the 100 largest";
  int64_t step = 0, elements = 0;
  std::string name, shape, counts;
  double norm = 0, mean = 0, min = 0, max = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("step", e.step, "batches that it has done since the job began");
    visit("name", e.name, "of the parameter");
    visit("shape", e.shape, "as \"[13, 1]\"");
    visit("elements", e.elements,
          "how many numbers it has; those that are not finite are left out below");
    visit("norm", e.norm, "square root of the sum of the squares");
    visit("mean", e.mean, "of the numbers");
    visit("min", e.min, "the least");
    visit("max", e.max, "the greatest");
    visit("counts", e.counts,
          "how many numbers are in each of 30 equal parts of min … max, with spaces between");
  }
};

// Numbers over all trainers: of a pass so far, and of the period that has just ended.
struct Totals {
  static constexpr const char* kind = "totals";
  static constexpr const char* when =
      "the first shard has the numbers of all trainers, at the end of a log period or of a pass";
  int64_t trainers = 0, pass = 0, batch = 0;
  bool pass_ended = false;
  int64_t samples = 0;
  double cost = 0;
  Evaluators evaluators;
  int64_t first_batch = 0, period_samples = 0;
  double period_cost = 0;
  Evaluators period_evaluators;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("trainers", e.trainers, "how many trainers are in the numbers");
    visit("pass", e.pass, "the pass, counted from 0");
    visit("batch", e.batch, "batches of the pass that each trainer has done, at most");
    visit("pass_ended", e.pass_ended, "whether all have done the last batch of the pass");
    visit("samples", e.samples, "samples of the pass so far");
    visit("cost", e.cost, "mean over the pass so far");
    visit("evaluators", e.evaluators, "over the pass so far; `batch_auc` over the last batches");
    visit("first_batch", e.first_batch,
          "batches before the period, which ends at `batch` (`--log_period`)");
    visit("period_samples", e.period_samples,
          "samples of the period; 0: its numbers are not known, or it has none");
    visit("period_cost", e.period_cost, "mean over the period");
    visit("period_evaluators", e.period_evaluators, "over the period");
  }
};

struct TestResult {
  static constexpr const char* kind = "test_result";
  static constexpr const char* when = "trainer 0 has tested the model on the test data";
  int64_t pass = 0, samples = 0;
  double cost = 0;
  Evaluators evaluators;
  int64_t step = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("pass", e.pass, "the pass that it has just done, counted from 0");
    visit("samples", e.samples, "samples of the test data");
    visit("cost", e.cost, "mean over the test data");
    visit("evaluators", e.evaluators, "mean over the test data");
    visit("step", e.step, "batches that trainer 0 has done since the job began");
  }
};

struct Saved {
  static constexpr const char* kind = "saved";
  static constexpr const char* when = "trainer 0 has saved a model; it is complete on the disk";
  std::string path;
  int64_t step = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("path", e.path, "directory of the model");
    visit("step", e.step, "updates that its values hold");
  }
};

struct Waiting {
  static constexpr const char* kind = "waiting";
  static constexpr const char* when = "a process has waited for a peer for some seconds";
  std::string reason;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("reason", e.reason, "for whom and since when, as the log says it");
  }
};

struct RolledBack {
  static constexpr const char* kind = "rolled_back";
  static constexpr const char* when =
      "a trainer goes back to the step that all pservers can go on with";
  int64_t trainer = 0, from = 0, to = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("trainer", e.trainer, "its id");
    visit("from", e.from, "the step that it was at");
    visit("to", e.to, "the step that it goes on with");
  }
};

struct Warning {
  static constexpr const char* kind = "warning";
  static constexpr const char* when = "the process has logged a warning";
  std::string message;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("message", e.message, "as in the log");
  }
};

struct Failed {
  static constexpr const char* kind = "error";
  static constexpr const char* when = "the process has logged an error";
  std::string message;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("message", e.message, "as in the log");
  }
};

struct Finished {
  static constexpr const char* kind = "finished";
  static constexpr const char* when =
      "a trainer has done all passes and, for trainer 0, saved the model";
  int64_t trainer = 0;
  std::string model;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("trainer", e.trainer, "its id; 0 without pservers");
    visit("model", e.model, "directory of the last model that it saved; \"\": none");
  }
};

struct Exit {
  static constexpr const char* kind = "exit";
  static constexpr const char* when = "the process ends; its last event";
  int64_t code = 0;
  std::string reason;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("code", e.code, "exit code ([exit-codes.md](exit-codes.md))");
    visit("reason", e.reason, "the error that ended it; \"\" after a normal end");
  }
};

struct Dropped {
  static constexpr const char* kind = "dropped";
  static constexpr const char* when =
      "events before this one could not be written: the pipe or the disk was full";
  int64_t count = 0;
  template <class Self, class Visit>
  static void each(Self& e, Visit&& visit) {
    visit("count", e.count, "how many");
  }
};

using Any = std::variant<Started, Listening, Serving, Joined, Training, NetworkOp, Parameter,
                         Progress, PassEnded, Totals, TestResult, Saved, Waiting, RolledBack,
                         Warning, Failed, Finished, Exit, Dropped>;

// Who reports it, and when: the first fields of every line.
struct Source {
  std::string role;     // trainer, pserver or launch
  std::string process;  // host:pid
};

}  // namespace paddle::event
