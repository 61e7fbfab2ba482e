#include "obs/trainer_report.h"

#include <cmath>

#include "obs/json.h"

namespace paddle {
namespace {

struct TakeEvent {
  TrainerReport& r;

  void operator()(const event::Started& e) const {
    r.version = e.version;
    r.job = e.job;
    r.config = e.config;
    r.script = e.config.empty();
  }
  void operator()(const event::Joined& e) const {
    r.state = "joined";
    r.waiting.clear();
    r.trainer = e.trainer;
    r.trainers = e.trainers;
    r.progress.step = e.step;
    ++r.joins;
  }
  void operator()(const event::Training& e) const {
    r.state = "training";
    r.trainer = e.trainer;
    r.progress.pass = e.pass;
    r.progress.passes = e.passes;
    r.progress.batches = e.batches;
  }
  void operator()(const event::Progress& e) const {
    r.progress = e;
    r.fetches_cost = r.fetches_cost || std::isfinite(e.cost);
    r.waiting.clear();
  }
  void operator()(const event::PassEnded& e) const {
    r.progress.pass = e.pass + 1;
    r.progress.batch = 0;
    r.progress.cost = e.cost;
    r.progress.evaluators = e.evaluators;
    r.waiting.clear();
  }
  void operator()(const event::TestResult& e) const {
    r.test = e;
    r.tested = true;
  }
  void operator()(const event::Saved& e) const {
    r.saved = e;
    ++r.saves;
  }
  void operator()(const event::Waiting& e) const { r.waiting = e.reason; }
  void operator()(const event::RolledBack& e) const {
    ++r.rollbacks;
    r.progress.step = e.to;
  }
  void operator()(const event::Warning& e) const {
    ++r.warnings;
    r.last_warning = e.message;
  }
  void operator()(const event::Failed& e) const {
    ++r.errors;
    r.last_error = e.message;
  }
  void operator()(const event::Finished& e) const {
    r.state = "finished";
    r.waiting.clear();
    if (!e.model.empty()) r.saved.path = e.model;
  }
  template <class Other>
  void operator()(const Other&) const {}
};

std::string evaluators_json(const event::Evaluators& values) {
  JsonObject out;
  for (const auto& [name, value] : values) {
    const std::string key = json_value(name);
    out.raw(std::string_view(key).substr(1, key.size() - 2), json_value(value));
  }
  return out.done();
}

}  // namespace

void take_event(TrainerReport& report, const event::Any& event) {
  std::visit(TakeEvent{report}, event);
}

std::string trainer_json(const TrainerReport& r) {
  const event::Progress& p = r.progress;
  JsonObject out;
  out.add("role", "trainer")
      .add("trainer", r.trainer)
      .add("trainers", r.trainers)
      .add("build", r.version)
      .add("job", r.job)
      .add("config", r.config)
      .add("state", r.state)
      .add("waiting", r.waiting)
      .add("step", p.step)
      .add("pass", p.pass)
      .add("passes", p.passes)
      .add("batch", p.batch)
      .add("batches", p.batches)
      .add("samples", p.samples)
      .add("samples_per_second", p.samples_per_second)
      .add("cost", p.cost)
      .raw("evaluators", evaluators_json(p.evaluators));
  if (r.tested)
    out.add("test_cost", r.test.cost).raw("test_evaluators", evaluators_json(r.test.evaluators));
  out.add("saved", r.saved.path)
      .add("saved_step", r.saved.step)
      .add("joins", r.joins)
      .add("rollbacks", r.rollbacks)
      .add("warnings", r.warnings)
      .add("last_warning", r.last_warning)
      .add("errors", r.errors)
      .add("last_error", r.last_error);
  return out.done() + "\n";
}

}  // namespace paddle
