#include "trainer/train.h"

#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/run_main.h"
#include "base/suggest.h"
#include "obs/events.h"
#include "obs/plot.h"
#include "obs/progress.h"
#include "trainer/model_directory.h"
#include "trainer/parameter_stats.h"

namespace paddle {
namespace {

class TrainLoop {
 public:
  explicit TrainLoop(Session& session)
      : s_(session),
        o_(session.options()),
        client_(session.client()),
        passes_(static_cast<uint64_t>(o_.integer("num_passes"))),
        meters_(session.model().evaluators) {}

  void run() {
    try {
      work();
    } catch (const Stopped&) {  // logged below
    } catch (const Error& e) {
      // The peers know already what came from one of them.
      if (client_ && e.kind() != Error::Kind::peer) client_->send_final_error(e.what());
      throw;
    }
    progress_.clear();
    if (o_.flag("show_curve")) draw_curve();
    if (stop_signal())
      log_warn(text("stopped by a signal in pass ", s_.at.pass, " after ", s_.at.batch,
                    s_.at.batch == 1 ? " batch" : " batches", how_to_go_on()));
    else if (!saved_.empty())
      log_info("the model is in " + saved_);
    if (!stop_signal()) emit(event::Finished{trainer_id(), saved_});
  }

 private:
  void work() {
    const TrainPosition first = s_.at;
    if (client_) {
      const Rewind start = client_->join(s_.at.step);
      log_info(text("joined as trainer ", client_->trainer(), " of ", client_->trainers(),
                    " at step ", start.step));
      emit(event::Joined{trainer_id(), client_->trainers(), static_cast<int64_t>(start.step)});
      go_to(start, first);
      if (start.step > first.step) warn_of_local_state();
    }
    // Better now than after hours of training.
    if (!o_.text("save_dir").empty() && s_.is_first())
      make_writable_directory(in_workspace(o_, o_.text("save_dir")));
    Reader& data = s_.train_data();
    batches_ = s_.batches_of_pass();
    if (client_) report("training");
    log_info(text("training passes ", s_.at.pass, " to ", passes_ - 1));
    emit(event::Training{trainer_id(), static_cast<int64_t>(s_.at.pass),
                         static_cast<int64_t>(passes_), batches_});
    for (bool done = false; !done;) {
      try {
        passes(data);
        if (client_ && !stop_signal()) leave();
        done = true;
      } catch (const Rewind& back) {
        emit(event::RolledBack{trainer_id(), static_cast<int64_t>(s_.at.step),
                               static_cast<int64_t>(back.step)});
        go_to(back, first);
      }
    }
  }

  // The path counts from the workspace where it is not absolute, and it has that in front already.
  std::string how_to_go_on() const {
    if (saved_.empty()) return s_.is_first() ? "; nothing was saved" : "";
    const bool inside = o_.text("workspace") != ".";
    return "; go on with --init_model_path=" +
           (inside ? std::filesystem::absolute(saved_).string() : saved_);
  }

  void passes(Reader& data) {
    while (s_.at.pass < passes_ && !stop_signal()) {
      data.seek({s_.at.pass, s_.at.record});
      if (s_.at.record == 0) s_.clear_evaluators();
      pass(data);
    }
  }

  void pass(Reader& data) {
    Plan& plan = s_.train_plan();
    meters_.enter(s_.at.pass, s_.at.step, s_.at.record == 0);
    while (data.next(batch_)) {
      const TrainPosition after{.step = s_.at.step + 1,
                                .pass = s_.at.pass,
                                .record = data.position().record,
                                .batch = s_.at.batch + 1,
                                .samples = s_.at.samples + static_cast<uint64_t>(batch_.samples)};
      const Session::Outcome& o = step(plan, data, after);
      meters_.add(s_.at.step, batch_.samples, o.cost, o.values);
      s_.at = after;
      after_batch();
      if (stop_signal()) return;
    }
    end_pass();
  }

  const Session::Outcome& step(Plan& plan, Reader& data, const TrainPosition& after) {
    if (!client_) return s_.run(plan, data, batch_, s_.at.step);
    const Session::Outcome* out = nullptr;
    s_.steps().run(s_.train_program(), {s_.at.step, place_of(s_.at), place_of(after)},
                   [&] { out = &s_.run(plan, data, batch_, s_.at.step); });
    return *out;
  }

  static wire::Position place_of(const TrainPosition& at) {
    return {.pass = at.pass, .record = at.record, .batch = at.batch, .samples = at.samples};
  }

  // To the step that all pservers can go on with.
  void go_to(const Rewind& to, const TrainPosition& first) {
    s_.steps().rewind(to);
    const wire::Position p = to.place.value_or(place_of(first));
    s_.at = {.step = to.step,
             .pass = p.pass,
             .record = p.record,
             .batch = p.batch,
             .samples = p.samples};
    if (costs_.size() > p.pass - first.pass) costs_.resize(p.pass - first.pass);
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
    report("finished");
    client_->wait_for_others();
    if (s_.is_first()) {
      client_->collect();
      log_test();
      save(pass_name(passes_ - 1));
    }
    client_->wait_for_save();
    client_->say_bye();
    if (client_->dropped() > 0)
      log_warn(text(client_->dropped(), " gradients were too old and not applied"));
  }

  void report(const char* state) {
    client_->report({.step = s_.at.step,
                     .pass = s_.at.pass,
                     .passes = passes_,
                     .batch = s_.at.batch,
                     .batches = static_cast<uint64_t>(batches_),
                     .samples = s_.at.samples,
                     .rate = rate_.per_second(s_.at.samples),
                     .cost = meters_.whole.cost(),
                     .state = state});
  }

  int64_t trainer_id() const { return client_ ? client_->trainer() : 0; }

  void report_progress() {
    emit(event::Progress{.trainer = trainer_id(),
                         .step = static_cast<int64_t>(s_.at.step),
                         .pass = static_cast<int64_t>(s_.at.pass),
                         .passes = static_cast<int64_t>(passes_),
                         .batch = static_cast<int64_t>(s_.at.batch),
                         .batches = batches_,
                         .samples = static_cast<int64_t>(s_.at.samples),
                         .samples_per_second = event_rate_.per_second(s_.at.samples),
                         .cost = meters_.whole.cost(),
                         .evaluators = meters_.whole.evaluators()});
  }

  static bool every(uint64_t n, int64_t period) {
    return period > 0 && n % static_cast<uint64_t>(period) == 0;
  }

  void after_batch() {
    if (client_ && rate_.due()) report("training");
    if (progress_.due()) draw();
    if (events_on() && event_pace_.due()) report_progress();
    if (!progress_.active() && every(s_.at.batch, o_.integer("dot_period"))) show_dot();
    if (every(s_.at.batch, o_.integer("log_period"))) log_period();
    if (every(s_.at.batch, o_.integer("show_parameter_stats_period"))) log_parameter_stats(s_);
    if (every(s_.at.batch, o_.integer("test_period"))) log_test();
    if (every(s_.at.batch, o_.integer("saving_period_by_batches"))) {
      const auto part = s_.at.batch / static_cast<uint64_t>(o_.integer("saving_period_by_batches"));
      save(pass_name(s_.at.pass, part));
    }
  }

  void log_period() {
    const std::string all = meters_.whole.evaluators_text(),
                      current = meters_.period.evaluators_text();
    log_progress(text(" Batch=", s_.at.batch, " samples=", s_.at.samples,
                      " AvgCost=", number_text(meters_.whole.cost()),
                      " CurrentCost=", number_text(meters_.period.cost()), " Eval: ", all,
                      " CurrentEval: ", current));
    meters_.period.clear();
  }

  void log_test() {
    if (!s_.is_first() || s_.test_data() == nullptr) return;
    if (client_) {
      report("testing");
      client_->refresh(s_.at.step);
    }
    const Meter m = s_.test();
    log_info(text(" Test samples=", m.samples(), " cost=", number_text(m.cost()),
                  " Eval: ", m.evaluators_text()));
    emit(
        event::TestResult{static_cast<int64_t>(s_.at.pass), m.samples(), m.cost(), m.evaluators()});
  }

  void end_pass() {
    log_info(text(" Pass=", s_.at.pass, " Batch=", s_.at.batch, " samples=",
                  meters_.whole.samples(), " AvgCost=", number_text(meters_.whole.cost()),
                  " Eval: ", meters_.whole.evaluators_text()));
    emit(event::PassEnded{trainer_id(), static_cast<int64_t>(s_.at.pass),
                          static_cast<int64_t>(s_.at.batch), meters_.whole.samples(),
                          meters_.whole.cost(), meters_.whole.evaluators()});
    costs_.push_back(meters_.whole.cost());
    const uint64_t done = s_.at.pass;
    const bool last = done + 1 == passes_;
    if (client_ && last) {  // see leave()
      ++s_.at.pass;
      s_.at.record = s_.at.batch = 0;
      return;
    }
    if (o_.integer("test_period") == 0) log_test();
    ++s_.at.pass;
    s_.at.record = s_.at.batch = 0;
    if (every(done, o_.integer("saving_period")) || last) save(pass_name(done));
  }

  void save(const std::string& name) {
    if (o_.text("save_dir").empty() || !s_.is_first()) return;
    uint64_t step = s_.at.step;
    if (client_) {
      report("saving");
      client_->refresh(s_.at.step);
      step = client_->collect().value_or(step);
    }
    const std::string before = saved_;
    saved_ = save_model(s_, name, step);
    log_info("saved " + saved_);
    emit(event::Saved{saved_, static_cast<int64_t>(step)});
    if (o_.flag("save_only_one") && !before.empty() && before != saved_) remove_model(before);
  }

  void draw() {
    progress_.draw({.pass = static_cast<int64_t>(s_.at.pass),
                    .passes = static_cast<int64_t>(passes_),
                    .batch = static_cast<int64_t>(s_.at.batch),
                    .batches = batches_,
                    .samples = static_cast<int64_t>(s_.at.samples),
                    .cost = meters_.whole.cost(),
                    .evaluators = meters_.whole.evaluators_text(4)});
  }

  void draw_curve() {
    const auto last = static_cast<double>(s_.at.pass) - 1;
    const std::string drawing =
        plot(costs_, {.title = "cost of the passes",
                      .x_label = "pass",
                      .x_first = last - static_cast<double>(costs_.size()) + 1,
                      .x_last = last,
                      .unicode = s_.utf8()});
    std::fputs(drawing.c_str(), stderr);
  }

  Session& s_;
  const Options& o_;
  PsClient* client_;  // null where there are no pservers
  uint64_t passes_;
  SampleRate rate_, event_rate_;
  Pace event_pace_{0.2};
  int64_t batches_ = 0;  // of a pass; 0 = not known
  Batch batch_;
  PassMeters meters_;
  Progress progress_;
  std::string saved_;
  std::vector<double> costs_;
};

}  // namespace

void train(Session& session) {
  session.initialize();
  require(session.at.pass < static_cast<uint64_t>(session.options().integer("num_passes")),
          Error::Kind::config, "training starts at pass ", session.at.pass, ", but num_passes is ",
          session.options().integer("num_passes"), ": raise --num_passes");
  TrainLoop(session).run();
}

}  // namespace paddle
