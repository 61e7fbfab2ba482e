#include "trainer/train.h"

#include "base/file.h"
#include "base/log.h"
#include "base/run_main.h"
#include "base/suggest.h"
#include "obs/events.h"
#include "trainer/batches.h"
#include "trainer/evaluator_states.h"
#include "trainer/model_directory.h"
#include "trainer/parameter_stats.h"
#include "trainer/row_cache_log.h"
#include "trainer/train_report.h"

namespace paddle {
namespace {

class TrainLoop {
 public:
  explicit TrainLoop(Session& session)
      : s_(session),
        o_(session.options()),
        client_(session.client()),
        passes_(static_cast<uint64_t>(o_.integer("num_passes"))),
        meters_(session.model().evaluators),
        report_(session) {}

  void run() {
    try {
      try {
        work();
      } catch (const Stopped&) {  // logged below
      }
      if (client_ && stop_signal()) client_->deliver();
    } catch (const Error& e) {
      // The peers know already what came from one of them.
      if (client_ && e.kind() != Error::Kind::peer)
        client_->heartbeats().send_final_error(e.what());
      throw;
    }
    report_.ended();
  }

 private:
  void work() {
    const TrainPosition first = s_.at;
    if (client_) {
      const Rewind start = client_->join(s_.at.step);
      if (start.over)
        return log_note("all trainers of this job had finished: nothing is left to do");
      log_note(text("joined as trainer ", client_->trainer(), " of ", client_->trainers(),
                    " at step ", start.step));
      emit(
          event::Joined{client_->trainer(), client_->trainers(), static_cast<int64_t>(start.step)});
      go_to(start, first);
      if (start.step > first.step) warn_of_local_state();
    }
    // Better now than after hours of training.
    if (!o_.text("save_dir").empty() && s_.is_first()) {
      make_writable_directory(in_workspace(o_, o_.text("save_dir")));
      warn_of_older_models(s_);
    }
    Batches data(s_.train_data(),
                 s_.executor().on_gpu() || (client_ != nullptr && client_->takes_announcements()));
    report_.begin(s_.batches_of_pass());
    if (client_) send_state("training");
    for (bool done = false; !done;) {
      try {
        passes(data);
        if (client_ && !stop_signal()) leave();
        done = true;
      } catch (const Rewind& back) {
        if (back.over) return;
        report_.rolled_back(back.step, place_after(back, first).pass);
        go_to(back, first);
      }
    }
  }

  void passes(Batches& data) {
    while (s_.at.pass < passes_ && !stop_signal()) {
      data.seek({s_.at.pass, s_.at.record});
      if (s_.at.record == 0) s_.clear_evaluators();
      pass(data);
    }
  }

  void pass(Batches& data) {
    Plan& plan = s_.train_plan();
    if (meters_.enter(s_.at.pass, s_.at.step, s_.at.batch, s_.at.record == 0))
      s_.clear_evaluators();
    while (data.next()) {
      const Batch& batch = data.batch();
      const TrainPosition after{.step = s_.at.step + 1,
                                .pass = s_.at.pass,
                                .record = data.position().record,
                                .batch = s_.at.batch + 1,
                                .samples = s_.at.samples + static_cast<uint64_t>(batch.samples)};
      const bool counts = meters_.counts(s_.at.step);
      if (!counts) counted_ = EvaluatorStates(s_.model().evaluators, s_.scope());
      done_ = {.samples = batch.samples};
      done_.outcome = &step(plan, data, after);
      count_step();
      s_.at = after;
      after_batch(counts);
      if (stop_signal()) return;
    }
    end_pass();
  }

  // A step that is computed again after a break was counted before, in the meters and in the states
  // of evaluators.
  void count_step() {
    if (done_.outcome == nullptr) return;
    if (meters_.counts(s_.at.step))
      meters_.add(s_.at.step, done_.samples, done_.outcome->cost, done_.outcome->values);
    else
      counted_.put_back(s_.scope());
    done_ = {};
  }

  const Session::Outcome& step(Plan& plan, Batches& data, const TrainPosition& after) {
    if (!client_)
      return s_.run(plan, data.batch(), s_.at.step, data.position(),
                    s_.executor().on_gpu() ? data.following() : nullptr);
    const Session::Outcome* out = nullptr;
    const auto compute = [&] {
      out = &s_.run(plan, data.batch(), s_.at.step, data.position(), data.following());
      done_.outcome = out;
    };
    s_.steps().run(s_.train_program(), {s_.at.step, place_of(s_.at), place_of(after)}, compute);
    return *out;
  }

  static wire::Position place_of(const TrainPosition& at) {
    return {.pass = at.pass, .record = at.record, .batch = at.batch, .samples = at.samples};
  }

  static wire::Position place_after(const Rewind& to, const TrainPosition& first) {
    return to.place.value_or(place_of(first));
  }

  // To the step that all pservers can go on with.
  void go_to(const Rewind& to, const TrainPosition& first) {
    if (s_.steps().rewind(to) && to.step == s_.at.step + 1) count_step();
    done_ = {};
    const wire::Position p = place_after(to, first);
    s_.at = {.step = to.step,
             .pass = p.pass,
             .record = p.record,
             .batch = p.batch,
             .samples = p.samples};
  }

  // This process has begun in the middle of a job, and pservers keep parameters alone.
  void warn_of_local_state() {
    const Names local = s_.statistics();
    if (local.empty()) return;
    log_warn(text("the moving statistics ", listed(local),
                  " live in each trainer and start anew with this process: they are right again "
                  "after some hundred batches",
                  s_.is_first() ? "; a model that is saved before holds them as they are" : ""));
  }

  // The end of a job with pservers: all stay until all have finished and the first trainer has
  // saved. A pserver that fails may send everybody back, and what is saved is what all of them
  // made.
  void leave() {
    client_->finish(s_.at.step);
    send_state("finished");
    client_->wait_for_others();
    if (s_.is_first()) {
      client_->collect();
      log_test();
      save(pass_name(passes_ - 1));
    }
    client_->wait_for_save();
    client_->say_bye();
    if (const uint64_t dropped = client_->updates().dropped() + client_->rows().dropped();
        dropped > 0)
      log_warn(text(dropped, " gradients were too old and not applied"));
  }

  // For the pservers, which show it in their status.
  void send_state(const char* state) {
    client_->heartbeats().report({.step = s_.at.step,
                                  .pass = s_.at.pass,
                                  .passes = passes_,
                                  .batch = s_.at.batch,
                                  .batches = static_cast<uint64_t>(report_.batches()),
                                  .samples = s_.at.samples,
                                  .rate = rate_.per_second(s_.at.samples),
                                  .cost = meters_.whole.cost(),
                                  .state = state});
  }

  static bool every(uint64_t n, int64_t period) {
    return period > 0 && n % static_cast<uint64_t>(period) == 0;
  }

  void after_batch(bool counts) {
    if (client_ && rate_.due()) send_state("training");
    report_.batch_done(meters_);
    if (every(s_.at.batch, o_.integer("log_period"))) {
      report_.log_period(meters_);
      cache_log_.log();
      if (client_ && counts) client_->tally(report_.tally(meters_, false));
    }
    if (every(s_.at.batch, o_.integer("show_parameter_stats_period"))) log_parameter_stats(s_);
    if (every(s_.at.batch, o_.integer("test_period"))) log_test();
    if (every(s_.at.batch, o_.integer("saving_period_by_batches"))) {
      const auto part = s_.at.batch / static_cast<uint64_t>(o_.integer("saving_period_by_batches"));
      save(pass_name(s_.at.pass, part));
    }
  }

  void log_test() {
    if (!s_.is_first() || s_.test_data() == nullptr) return;
    if (client_) {
      send_state("testing");
      client_->refresh(s_.at.step);
    }
    report_.tested(s_.test());
  }

  void end_pass() {
    report_.pass_ended(meters_.whole);
    cache_log_.log();
    if (client_) client_->tally(report_.tally(meters_, true));
    const uint64_t done = s_.at.pass;
    const bool last = done + 1 == passes_;
    if (client_ && last) {  // see leave()
      ++s_.at.pass;
      s_.at.record = s_.at.batch = 0;
      return;
    }
    if (o_.integer("test_period") == 0) log_test();
    report_.pass_complete();
    ++s_.at.pass;
    s_.at.record = s_.at.batch = 0;
    if (every(done, o_.integer("saving_period")) || last) save(pass_name(done));
  }

  void save(const std::string& name) {
    if (o_.text("save_dir").empty() || !s_.is_first()) return;
    uint64_t step = s_.at.step;
    if (client_) {
      send_state("saving");
      client_->refresh(s_.at.step);
      step = client_->collect().value_or(step);
    }
    const std::string before = report_.last_saved();
    report_.saved(save_model(s_, name, step), step);
    if (o_.flag("save_only_one") && !before.empty() && before != report_.last_saved())
      remove_model(before);
  }

  Session& s_;
  const Options& o_;
  PsClient* client_;  // null where there are no pservers
  uint64_t passes_;
  SampleRate rate_;
  PassMeters meters_;
  TrainReport report_;
  RowCacheLog cache_log_;
  struct Done {
    int64_t samples = 0;
    const Session::Outcome* outcome = nullptr;  // null: it was not computed
  };
  Done done_;                // the step at hand, where it was not counted yet
  EvaluatorStates counted_;  // before it, where it was counted before a break
};

}  // namespace

void train(Session& session) {
  session.initialize();
  require(session.at.pass < static_cast<uint64_t>(session.options().integer("num_passes")),
          Error::Kind::config, "the model to start from has done ", session.at.pass,
          " passes, and num_passes is ", session.options().integer("num_passes"),
          ": raise --num_passes");
  TrainLoop(session).run();
}

}  // namespace paddle
