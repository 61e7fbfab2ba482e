#include "trainer/train_report.h"

#include <cstdio>
#include <filesystem>
#include <tuple>

#include "base/log.h"
#include "base/run_main.h"
#include "base/wrap.h"
#include "obs/plot.h"
#include "obs/tally.h"

namespace paddle {
namespace {

std::string file_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Of the log, under the name that stays the same: "; the log is in log/paddle_trainer.INFO".
std::string where_the_log_is() {
  if (log_file().empty()) return "";
  const std::filesystem::path directory = std::filesystem::path(log_file()).parent_path();
  return "; the log is in " + (directory / "paddle_trainer.INFO").lexically_normal().string();
}

}  // namespace

TrainReport::TrainReport(Session& session)
    : s_(session),
      o_(session.options()),
      passes_(o_.integer("num_passes")),
      lines_(passes_),
      model_(o_.real("parameter_period")) {}

int64_t TrainReport::trainer_id() const { return s_.client() ? s_.client()->trainer() : 0; }

void TrainReport::report(const event::Any& event) {
  emit(event);
  const std::string line = lines_.take(event, pass_rate_, log_columns());
  if (!line.empty()) show_line(line);
}

void TrainReport::begin(int64_t batches) {
  batches_ = batches;
  first_pass_ = s_.at.pass;
  log_info(text("training passes ", s_.at.pass + 1, " to ", passes_,
                "; log lines and model directories number them from 0"));
  show_line(wrapped(text(file_of(s_.file().path), ": ", s_.model().net.main.parameters().size(),
                         " parameters, ", passes_, passes_ == 1 ? " pass" : " passes",
                         batches > 0 ? text(" of ", batches, " batches") : "",
                         s_.at.pass > 0 ? text(", from pass ", s_.at.pass + 1, " on") : ""),
                    log_columns()));
  report(event::Training{trainer_id(), static_cast<int64_t>(s_.at.pass), passes_, batches});
  if (s_.is_first()) model_.begin(s_.model().test, s_.model().params, s_.scope(), s_.at.step);
  pass_start_ = Clock::now();
}

void TrainReport::batch_done(const PassMeters& meters) {
  if (progress_.due()) draw(meters.whole);
  if (events_on() && event_pace_.due()) report_progress(meters.whole);
  const int64_t period = o_.integer("dot_period");
  if (!progress_.active() && period > 0 && s_.at.batch % static_cast<uint64_t>(period) == 0)
    show_dot();
}

void TrainReport::report_progress(const Meter& meter) {
  report(event::Progress{.trainer = trainer_id(),
                         .step = static_cast<int64_t>(s_.at.step),
                         .pass = static_cast<int64_t>(s_.at.pass),
                         .passes = passes_,
                         .batch = static_cast<int64_t>(s_.at.batch),
                         .batches = batches_,
                         .samples = static_cast<int64_t>(s_.at.samples),
                         .samples_per_second = event_rate_.per_second(s_.at.samples),
                         .cost = meter.cost(),
                         .evaluators = meter.evaluators()});
}

void TrainReport::draw(const Meter& meter) {
  progress_.draw({.pass = static_cast<int64_t>(s_.at.pass),
                  .passes = passes_,
                  .batch = static_cast<int64_t>(s_.at.batch),
                  .batches = batches_,
                  .samples = static_cast<int64_t>(s_.at.samples),
                  .cost = meter.cost(),
                  .evaluators = meter.evaluators()});
}

void TrainReport::log_period(PassMeters& meters) {
  const std::string all = meters.whole.evaluators_text(), current = meters.period.evaluators_text();
  log_progress(text(" Batch=", s_.at.batch, " samples=", s_.at.samples,
                    " AvgCost=", number_text(meters.whole.cost()), " CurrentCost=",
                    number_text(meters.period.cost()), " Eval: ", all, " CurrentEval: ", current));
  meters.period.clear();
}

void TrainReport::pass_ended(const Meter& meter) {
  log_info(text(" Pass=", s_.at.pass, " Batch=", s_.at.batch, " samples=", meter.samples(),
                " AvgCost=", number_text(meter.cost()), " Eval: ", meter.evaluators_text()));
  const double seconds = std::chrono::duration<double>(Clock::now() - pass_start_).count();
  pass_rate_ = seconds > 0 ? static_cast<double>(meter.samples()) / seconds : -1;
  costs_.push_back(meter.cost());
  if (progress_.active()) draw(meter);
  report(event::PassEnded{trainer_id(), static_cast<int64_t>(s_.at.pass),
                          static_cast<int64_t>(s_.at.batch), meter.samples(), meter.cost(),
                          meter.evaluators(), static_cast<int64_t>(s_.at.step)});
  if (s_.is_first()) model_.look(s_.model().params, s_.scope(), s_.at.step);
}

// What the numbers of all trainers need.
wire::Tally TrainReport::tally(const PassMeters& meters, bool pass_ended) const {
  const Meter& meter = meters.whole;
  wire::Tally out{.pass = s_.at.pass,
                  .batch = s_.at.batch,
                  .first_batch = meters.first_batch(),
                  .pass_ended = pass_ended,
                  .samples = static_cast<uint64_t>(meter.samples()),
                  .cost = meter.cost_sum()};
  size_t bins = 0;
  const std::vector<Evaluator>& evaluators = s_.model().evaluators;
  for (size_t i = 0; i < evaluators.size(); ++i) {
    const Evaluator& e = evaluators[i];
    wire::Count count{.name = e.name};
    if (!e.under.empty()) {
      std::tie(count.over, count.under) = meter.ratio(i);
    } else if (!e.histogram.empty() || !e.window.empty()) {
      const bool window = e.histogram.empty();
      const Names& states = window ? e.window : e.histogram;
      count.kind = window ? wire::CountKind::window : wire::CountKind::histogram;
      // Of a window the first bins are those of its only batch.
      const auto positive = s_.scope().tensor(states[0]).values<int64_t>(),
                 negative = s_.scope().tensor(states[1]).values<int64_t>();
      const size_t n = window ? (positive.size() - 1) / 2 : positive.size();
      count.bins = histogram_of(positive.first(n), negative.first(n));
      bins += count.bins.size();
      if (bins > wire::max_bins) continue;  // too many to send: it has no number for all trainers
    } else {
      count.over = meter.sum(i);
      count.under = static_cast<double>(meter.samples());
    }
    out.counts.push_back(std::move(count));
  }
  return out;
}

void TrainReport::pass_complete() {
  const std::string line = lines_.flush(log_columns());
  if (!line.empty()) show_line(line);
  pass_start_ = Clock::now();
}

void TrainReport::tested(const Meter& meter) {
  log_info(text(" Test samples=", meter.samples(), " cost=", number_text(meter.cost()),
                " Eval: ", meter.evaluators_text()));
  report(event::TestResult{static_cast<int64_t>(s_.at.pass), meter.samples(), meter.cost(),
                           meter.evaluators(), static_cast<int64_t>(s_.at.step)});
}

void TrainReport::saved(const std::string& path, uint64_t step) {
  saved_ = path;
  log_info("saved " + path);
  report(event::Saved{path, static_cast<int64_t>(step)});
}

void TrainReport::rolled_back(uint64_t step, uint64_t pass) {
  report(event::RolledBack{trainer_id(), static_cast<int64_t>(s_.at.step),
                           static_cast<int64_t>(step)});
  if (pass >= first_pass_ && costs_.size() > pass - first_pass_) costs_.resize(pass - first_pass_);
  pass_start_ = Clock::now();
}

void TrainReport::ended() {
  progress_.clear();
  pass_complete();
  if (o_.flag("show_curve")) draw_curve();
  if (stop_signal())
    log_warn(text("stopped by a signal in ", pass_text(static_cast<int64_t>(s_.at.pass), passes_),
                  " after ", s_.at.batch, s_.at.batch == 1 ? " batch" : " batches",
                  how_to_go_on()));
  else
    log_end();
  if (!stop_signal()) report(event::Finished{trainer_id(), saved_});
}

void TrainReport::log_end() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  show_line(wrapped(text("done in ", duration_text(seconds), where_the_log_is()), log_columns()));
  if (!s_.is_first()) return;
  if (!s_.generated().empty())
    log_warn(
        text("this training used generated data, and its figures say nothing about real data (",
             s_.generated(), ")"));
  if (saved_.empty())
    log_note("nothing was saved; --save_dir=output saves a model after every pass");
  else
    log_note(text("the model is in ", saved_, " (", pass_text(passes_ - 1, passes_), ")"));
}

// The path counts from the workspace where it is not absolute, and it has that in front already.
std::string TrainReport::how_to_go_on() const {
  if (saved_.empty()) return s_.is_first() ? "; nothing was saved" : "";
  const bool inside = o_.text("workspace") != ".";
  return "; go on with --init_model_path=" +
         (inside ? std::filesystem::absolute(saved_).string() : saved_);
}

void TrainReport::draw_curve() const {
  const auto last = static_cast<double>(s_.at.pass);  // people count passes from 1
  const std::string drawing =
      plot(costs_, {.title = "cost of the passes",
                    .x_label = "pass",
                    .x_first = last - static_cast<double>(costs_.size()) + 1,
                    .x_last = last,
                    .unicode = s_.utf8()});
  std::fputs(drawing.c_str(), stderr);
}

}  // namespace paddle
