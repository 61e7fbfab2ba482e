// One training: programs, variables, data and where it stands. The four jobs of `paddle train`
// (train, test, time, checkgrad) are built from its parts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/reader.h"
#include "exec/executor.h"
#include "options/options.h"
#include "options/record.h"
#include "trainer/job_file.h"
#include "trainer/meter.h"
#include "trainer/model.h"
#include "trainer/ps_client.h"
#include "trainer/step_protocol.h"

namespace paddle {

// Where training stands between two batches.
struct TrainPosition {
  uint64_t step = 0;  // batches since the beginning of training; selects random numbers
  uint64_t pass = 0;
  uint64_t record = 0;  // records of this pass done
  uint64_t batch = 0;   // batches of this pass done
  uint64_t samples = 0;
};

class Session {
 public:
  Session(JobFile file, const Options& options, const Environment& environment,
          ModelKind kind = ModelKind::trains);

  const Options& options() const { return options_; }
  const JobFile& file() const { return file_; }
  Model& model() { return model_; }
  Scope& scope() { return scope_; }
  Executor& executor() { return executor_; }
  Reader& train_data();
  // Of this trainer; 0 where the data does not tell.
  int64_t batches_of_pass();
  // Null where the job has none.
  Reader* test_data();
  // Where data was generated because none was found: what it is, as a sentence; else "".
  const std::string& generated() const { return generated_; }

  // First values of all parameters, or those of the model that the options name.
  void initialize();
  // One batch through a program; cost and evaluators. It ends at `end` of the data; `following` is
  // the batch after it, or null where that is not known. Throws Error(numeric) for a cost that is
  // no number.
  struct Outcome {
    double cost = 0;
    std::vector<double> values;  // the numbers of all evaluators, one after the other
  };
  const Outcome& run(Plan& plan, const Batch& batch, uint64_t step, const Position& end,
                     const Batch* following = nullptr);
  // Plans for the training program and the test program, with cost and evaluators fetched.
  Plan& train_plan();
  Plan& test_plan();
  // Cost and evaluators over all test data; the training evaluators are left as they were.
  Meter test();
  // Sets the states of evaluators to zero.
  void clear_evaluators();

  // The pservers of the job; null where it trains in this process alone.
  PsClient* client() { return client_.get(); }
  // Trainer 0 tests and saves for all.
  bool is_first() const { return !client_ || client_->trainer() == 0; }
  // How a step is made with them; only where there is a client.
  StepProtocol& steps() { return *steps_; }
  // What the training plan is made of: the trainer half where there are pservers.
  const Program& train_program() const;
  // Moving statistics of batch_norm: what of this is part of a model.
  Names statistics() const;

  // Whether the terminal shows more than ASCII.
  bool utf8() const { return speaks_utf8(environment_); }

  TrainPosition at;

 private:
  Names field_names(const Reader& reader) const;
  std::unique_ptr<PsClient> make_client(ModelKind kind);
  void announce(const Reader& reader);

  Options options_;
  Environment environment_;
  JobFile file_;
  Model model_;
  Cut cut_;
  Scope scope_;
  std::unique_ptr<PsClient> client_;
  std::unique_ptr<StepProtocol> steps_;
  Executor executor_;
  std::unique_ptr<Reader> train_data_, test_data_;
  std::string generated_;
  Outcome outcome_;
};

}  // namespace paddle
