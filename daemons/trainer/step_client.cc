#include "trainer/step_client.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/log.h"
#include "graph/text.h"
#include "io/program_buffer.h"
#include "obs/events.h"

namespace paddle {
namespace {

Program without_seeds(const Program& program) {
  Program out(program);
  out.random_seed = 0;
  for (const auto& op : out.global().ops())
    if (op->attrs.get<int32_t>("seed", 0) != 0) op->attrs.set("seed", 0);
  return out;
}

// A script has no passes that we know of: its place is the number of its step.
wire::Position place_of(uint64_t step) { return {.record = step, .batch = step}; }

}  // namespace

std::string network_digest(const Program& main, const Program& startup) {
  return program_digest(without_seeds(main)) + program_digest(without_seeds(startup));
}

std::string network_outline(const Program& main, const Program& startup) {
  return outline_text(without_seeds(main)) + outline_text(without_seeds(startup));
}

StepClient::StepClient(const Cut& cut, Scope& scope, const PsOptions& options,
                       double parameter_period)
    : cut_(cut),
      scope_(scope),
      options_(options),
      client_(cut, scope, options, [this] { first_values(); }),
      steps_(client_, cut.params, scope),
      model_(parameter_period) {}

// Only these modes make the next step wait for the one before.
bool StepClient::waits() const {
  return options_.hello.mode == wire::Mode::sync || options_.hello.mode == wire::Mode::half_async;
}

// All that a shard may have to be given again.
void StepClient::keep_first() {
  first_.clear();
  std::set<std::string> names(cut_.shared.begin(), cut_.shared.end());
  for (const SliceSpec& s : cut_.slices) {
    names.insert(s.param);
    names.insert(s.states.begin(), s.states.end());
  }
  for (size_t t = 0; t < cut_.trainer.tables.size(); ++t)
    if (cut_.trainer.tables[t].first_values_sent) {
      names.insert(cut_.trainer.tables[t].param);
      for (const auto& [slot, var] : cut_.table_inputs[t])
        if (slot != "Grad") names.insert(var);
    }
  for (const std::string& name : names) {
    const Variable* v = scope_.find(name);
    require(v != nullptr && !v->tensor.empty(), Error::Kind::config, "the variable '", name,
            "' has no value: run the startup program before the first step");
    first_.emplace_back(name, v->tensor.clone());
  }
}

void StepClient::first_values() {
  for (const auto& [name, value] : first_) {
    const Tensor& to = scope_.tensor(name);
    require(to.shape() == value.shape() && to.dtype() == value.dtype(), Error::Kind::config, "'",
            name, "' has changed its shape since training began");
    std::memcpy(to.raw(), value.raw(), value.bytes());
  }
}

// While it is held, memory that slices may land in stays, whatever is put into the scope.
void StepClient::hold() {
  held_.clear();
  for (const ParamGrad& p : cut_.params)
    held_.emplace_back(scope_.find(p.param), scope_.tensor(p.param));
}

bool StepClient::moved() const {
  for (const auto& [variable, tensor] : held_)
    if (variable->tensor.raw() != tensor.raw()) return true;
  return false;
}

void StepClient::join() {
  keep_first();
  hold();
  const Rewind start = client_.join(0);
  require(!start.over, Error::Kind::peer,
          "the job ended: all its trainers had finished, this one too; to train again start all of "
          "them");
  joined_ = true;
  step_ = start.step;
  emit(event::Joined{trainer(), client_.trainers(), static_cast<int64_t>(step_)});
  emit(event::Training{.trainer = trainer()});
  report_.begin();
  if (step_ == 0) {
    keep_first();  // another trainer's may have come
  } else {
    log_info(text("this trainer takes part from step ", step_, " on"));
  }
  if (trainer() == 0) model_.begin(cut_.trainer, cut_.params, scope_, step_);
}

// Before anything is asked of the pservers.
void StepClient::ready() {
  require(!closed_, Error::Kind::config,
          "this trainer has left the job (close()), so it cannot run or save any more: make an "
          "executor and a transpiled program of their own for another job");
  if (!joined_) return join();
  if (broken_) {
    const Rewind to = client_.rejoin();
    if (waits()) go_between_steps(to);
    broken_ = false;
  }
  if (!moved()) return;
  for (size_t i = 0; i < held_.size(); ++i) {
    const std::string& name = cut_.params[i].param;
    const Tensor &now = scope_.tensor(name), &was = held_[i].second;
    require(now.shape() == was.shape() && now.dtype() == was.dtype(), Error::Kind::config,
            "the parameter '", name, "' has become ", name_of(now.dtype()), now.shape(),
            " in the scope, and the job has ", name_of(was.dtype()), was.shape());
  }
  client_.refresh(step_);
  client_.locate();
  hold();
}

// To the step that all pservers can go on with. True where the step in hand is done.
bool StepClient::go_to(const Rewind& to) {
  if (in_step_ && steps_.rewind(to)) return true;
  if (to.step != step_)
    log_warn(text("the pservers are at step ", to.step, ", and this trainer was at step ", step_,
                  ": it goes on there with the batch at hand",
                  to.step < step_ ? text("; the ", step_ - to.step,
                                         " batches since then are not repeated, as a script "
                                         "cannot go back in its data (snapshots of the pservers, "
                                         "snapshot_dir, make them fewer)")
                                  : ""));
  emit(event::RolledBack{trainer(), static_cast<int64_t>(step_), static_cast<int64_t>(to.step)});
  step_ = to.step;
  return false;
}

// The same where no step is at hand, but the last one may have ended with an error.
void StepClient::go_between_steps(const Rewind& to) {
  if (!go_to(to)) return;
  step_ = to.step;
  in_step_ = false;
}

void StepClient::run(Plan& plan, const Program& program, const std::function<void()>& feed,
                     int64_t samples, const std::function<StepFigures()>& figures) {
  for (bool done = false; !done;) {
    try {
      ready();
      in_step_ = true;
      steps_.run(program, {step_, place_of(step_), place_of(step_ + 1)}, [&] {
        feed();
        plan.run(step_);
      });
      if (waits()) client_.refresh(step_ + 1);
      done = true;
    } catch (const Rewind& to) {
      done = go_to(to);
    } catch (...) {
      broken_ = joined_;
      throw;
    }
  }
  in_step_ = false;
  ++step_;
  client_.heartbeats().report({.step = step_, .batch = step_, .state = "training"});
  report_.step_done(trainer(), step_, samples, figures);
  if (trainer() == 0) model_.look(cut_.params, scope_, step_);
}

// Between two steps: what went wrong is mended and tried again.
template <class Body>
void StepClient::retried(const Body& body) {
  for (;;) {
    try {
      ready();
      body();
      return;
    } catch (const Rewind& to) {
      if (to.over) return;
      go_between_steps(to);
    } catch (...) {
      broken_ = joined_;
      throw;
    }
  }
}

void StepClient::collect() {
  retried([&] {
    client_.refresh(step_);
    client_.collect();
  });
}

void StepClient::look_up(Plan& plan, uint64_t step, const std::function<void()>& feed) {
  retried([&] {
    client_.refresh(step_);
    feed();
    plan.run(step);
  });
}

// A stream that broke cannot go on in the middle: the caller saves anew.
void StepClient::save_table(const std::string& param, const TableWriter::Sink& sink) {
  ready();
  client_.refresh(step_);
  client_.save_table(param, sink);
}

// Whether the pservers keep tables that are arrays in the scope.
bool StepClient::has_arrays() const {
  return std::any_of(cut_.trainer.tables.begin(), cut_.trainer.tables.end(),
                     [](const TableSpec& t) { return t.first_values_sent; });
}

void StepClient::close() {
  if (closed_) return;
  // What is used after this is the end of its work; in geo that is on the shards once it has
  // finished.
  const bool geo = options_.hello.mode == wire::Mode::geo;
  const bool collects = trainer() == 0 || has_arrays();
  retried([&] {
    if (collects && !geo) {
      client_.refresh(step_);
      client_.collect();
    }
    client_.finish(step_);
    if (collects && geo) client_.collect();
  });
  client_.say_bye();
  report_.report(trainer(), step_);
  emit(event::Finished{.trainer = trainer()});
  if (const uint64_t dropped = client_.updates().dropped() + client_.rows().dropped(); dropped > 0)
    log_warn(text(dropped, " gradients were too old and not applied"));
  closed_ = true;
}

}  // namespace paddle
