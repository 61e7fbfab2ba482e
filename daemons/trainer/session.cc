#include "trainer/session.h"

#include <cmath>

#include "base/log.h"
#include "trainer/data_source.h"
#include "trainer/model_directory.h"

namespace paddle {
namespace {

ExecutorOptions executor_options(const Options& options) {
  return {.threads = static_cast<int>(options.integer("trainer_count")),
          .plan = {.check_nan_inf = options.flag("check_nan_inf"),
                   .profile = options.flag("show_layer_stat")}};
}

}  // namespace

std::string in_workspace(const Options& options, const std::string& path) {
  const std::string& workspace = options.text("workspace");
  return path.empty() || path[0] == '/' || workspace == "." ? path : workspace + "/" + path;
}

Session::Session(JobFile file, const Options& options, const Environment& environment,
                 ModelKind kind)
    : options_(options),
      environment_(environment),
      file_(std::move(file)),
      model_(build_model(file_, static_cast<uint32_t>(options.integer("seed")), kind)),
      executor_(executor_options(options)) {}

Reader& Session::train_data() {
  if (!train_data_) {
    train_data_ = open_data(file_, model_, options_, variable(environment_, "HOME"), Part::train);
    log_info(train_data_->source());
  }
  return *train_data_;
}

Reader* Session::test_data() {
  if (!test_data_ && has_test_data(file_)) {
    test_data_ = open_data(file_, model_, options_, variable(environment_, "HOME"), Part::test);
    log_info(test_data_->source());
  }
  return test_data_.get();
}

void Session::initialize() {
  executor_.run(model_.net.startup, scope_);
  load_initial_model(*this);
}

Names Session::field_names(const Reader& reader) const {
  Names out;
  for (const FieldSpec& f : reader.fields()) out.push_back(f.name);
  return out;
}

Plan& Session::train_plan() {
  return executor_.plan(model_.net.main, scope_, field_names(train_data()), model_.fetches());
}

Plan& Session::test_plan() {
  return executor_.plan(model_.test, scope_, field_names(*test_data()), model_.fetches());
}

const Session::Outcome& Session::run(Plan& plan, const Reader& reader, const Batch& batch,
                                     uint64_t step) {
  for (size_t i = 0; i < batch.fields.size(); ++i) plan.feed(i, batch.fields[i]);
  plan.run(step);
  outcome_.cost = number_of(plan.fetched(0));
  outcome_.values.resize(model_.evaluators.size());
  for (size_t i = 0; i < outcome_.values.size(); ++i)
    outcome_.values[i] = number_of(plan.fetched(i + 1));
  require(std::isfinite(outcome_.cost), Error::Kind::numeric, "the cost is ", outcome_.cost,
          " in the batch that ends at record ", reader.position().record, " of pass ",
          reader.position().pass,
          ": lower the learning rate, clip gradients (\"gradient_clip\"), or find the first bad op "
          "with --check_nan_inf");
  return outcome_;
}

void Session::clear_evaluators() {
  for (const Evaluator& e : model_.evaluators)
    for (const std::string& name : e.states) scope_.tensor(name).zero();
}

Meter Session::test() {
  Meter meter(model_.evaluators);
  Reader* reader = test_data();
  if (reader == nullptr) return meter;
  std::vector<std::pair<std::string, Tensor>> kept;
  for (const Evaluator& e : model_.evaluators)
    for (const std::string& name : e.states) kept.emplace_back(name, scope_.tensor(name).clone());
  clear_evaluators();
  Plan& plan = test_plan();
  Batch batch;
  reader->start_pass(0);
  while (reader->next(batch)) {
    const Outcome& o = run(plan, *reader, batch, 0);
    meter.add(batch.samples, o.cost, o.values);
  }
  for (const auto& [name, tensor] : kept) {
    const Tensor& t = scope_.tensor(name);
    std::copy_n(static_cast<const char*>(tensor.raw()), tensor.bytes(),
                static_cast<char*>(t.raw()));
  }
  return meter;
}

}  // namespace paddle
