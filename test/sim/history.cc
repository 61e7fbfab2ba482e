#include "sim/history.h"

#include <algorithm>
#include <map>
#include <memory>

#include "exec/executor.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "sim/trainer_host.h"

namespace paddle::sim {
namespace {

constexpr double lease = 10, peer_timeout = 120;
// Longer than any wait that may end well, after the last fault has passed.
constexpr double longest_calm = 3 * peer_timeout;
constexpr uint64_t most_events = 400'000;  // of a history that makes progress

constexpr const char* fault_names[] = {
    "cut",          "silence",      "freeze_trainer", "freeze_pserver", "kill_trainer",
    "kill_pserver", "stop_pserver", "lose_pserver",   "lose_snapshot"};

std::unique_ptr<Model> make_model(size_t params, size_t trainers, size_t shards) {
  auto out = std::make_unique<Model>();
  Net net;
  const Builder b(net);
  Names costs, endpoints;
  for (size_t i = 0; i < params; ++i)
    costs.push_back(
        mean(b, create_parameter(b, {static_cast<int64_t>(4 + 3 * i), 1}, {.name = text("p", i)})));
  const std::string loss = mean(b, costs.size() > 1 ? concat(b, costs, 0) : costs[0]);
  minimize(b, loss, Optimizer("sgd", 1));
  for (size_t i = 0; i < shards; ++i) endpoints.push_back(text("127.0.0.1:", 7164 + i));
  out->cut = transpile(
      net.main, net.startup,
      {.trainers = static_cast<uint32_t>(trainers), .endpoints = endpoints, .slice_var_up = false});
  Executor().run(net.startup, out->first);
  for (const ParamGrad& p : out->cut.params) {
    const Tensor& t = out->first.tensor(p.param);
    std::fill_n(t.data<float>(), t.numel(), 0.0f);
  }
  return out;
}

// Made once: building and cutting a program takes longer than a history.
const Model& model_of(const JobPlan& p) {
  static std::map<std::tuple<size_t, size_t, size_t>, std::unique_ptr<Model>> models;
  auto& m = models[{p.params, p.trainers, p.shards}];
  if (!m) m = make_model(p.params, p.trainers, p.shards);
  return *m;
}

class History {
 public:
  History(const JobPlan& plan, bool traces)
      : plan_(plan), world_(plan.seed, traces), network_(world_) {
    network_.slow = plan.slow;
    network_.latest_end = plan.latest_end;
    ShardOptions o{.host = "", .job = "job"};
    o.trainers = static_cast<uint32_t>(plan.trainers);
    o.policy = plan.policy;
    o.lease_seconds = lease;
    o.peer_timeout = peer_timeout;
    o.log_period = 0;
    if (plan.snapshot_period > 0)
      o.snapshots = {.directory = "disk", .period = plan.snapshot_period};
    std::vector<PserverHost*> all;
    for (size_t i = 0; i < plan.shards; ++i) {
      pservers_.push_back(std::make_unique<PserverHost>(network_, i, o, plan.snapshot_period > 0));
      all.push_back(pservers_.back().get());
    }
    for (size_t i = 0; i < plan.trainers; ++i)
      trainers_.push_back(std::make_unique<TrainerHost>(network_, all, i, setup(i)));
  }
  ~History() {
    for (const auto& t : trainers_) t->kill();
  }

  Outcome run() {
    for (const auto& p : pservers_)
      world_.after(world_.random.between(0, 0.01), [&p] { p->start(); });
    for (const auto& t : trainers_)
      world_.after(world_.random.between(0, 0.05), [&t] { t->start(); });
    double calm = 0;
    for (const Fault& f : plan_.faults) {
      world_.after(f.at, [this, &f] { happen(f); });
      calm = std::max(calm, f.at + f.lasts);
    }
    Outcome out;
    while (!over() && world_.seconds_passed() < calm + longest_calm &&
           world_.happened() < most_events && world_.step()) {
    }
    out.events = world_.happened();
    out.seconds = world_.seconds_passed();
    out.problem = problem();
    return out;
  }
  const std::vector<std::vector<float>>& saved() const { return trainers_[0]->saved(); }

 private:
  TrainerSetup setup(size_t index) const {
    TrainerSetup s{.model = &model_of(plan_),
                   .options = {},
                   .records = plan_.records,
                   .batch_seconds = plan_.batch_seconds};
    s.options.peer_timeout = peer_timeout;
    s.options.queue_size = plan_.queue_size;
    s.options.geo_steps = plan_.mode == wire::Mode::geo ? plan_.geo_steps : 0;
    wire::Hello& h = s.options.hello;
    h = wire::make_hello(wire::Role::trainer);
    h.job = "job";
    h.program = "program";
    h.mode = plan_.mode;
    h.trainer = static_cast<uint32_t>(index);
    h.trainers = static_cast<uint32_t>(plan_.trainers);
    h.shards = static_cast<uint32_t>(plan_.shards);
    return s;
  }

  bool over() const {
    return std::all_of(trainers_.begin(), trainers_.end(), [](const auto& t) {
      return !t->alive() && (t->finished() || !t->failure().empty());
    });
  }

  void happen(const Fault& f) {
    TrainerHost& t = *trainers_[f.trainer];
    PserverHost& p = *pservers_[f.shard];
    const bool loses = f.kind == FaultKind::kill_pserver || f.kind == FaultKind::stop_pserver ||
                       f.kind == FaultKind::lose_pserver || f.kind == FaultKind::lose_snapshot;
    if (loses && p.alive()) ++losses_;
    world_.trace("fault: ", name_of(f.kind), ", trainer ", f.trainer, ", pserver ", f.shard, ", ",
                 f.lasts, " s, ways ", f.ways);
    const Time until = world_.now() + to_duration(f.lasts);
    switch (f.kind) {
      case FaultKind::cut: return network_.cut(f.trainer, f.shard);
      case FaultKind::silence:
        if (f.ways & 1) network_.silence(f.trainer, f.shard, Way::to_shard, until);
        if (f.ways & 2) network_.silence(f.trainer, f.shard, Way::to_trainer, until);
        return;
      case FaultKind::freeze_trainer: return t.freeze(f.lasts);
      case FaultKind::freeze_pserver: return p.freeze(f.lasts);
      case FaultKind::kill_trainer:
        if (!t.alive()) return;  // it has ended by itself, or is about to be started again
        t.kill();
        return world_.after(f.lasts, [&t] { t.start(); });
      case FaultKind::stop_pserver:
        if (!p.alive()) return;
        p.stop();
        return start_again(p, f.lasts);
      case FaultKind::kill_pserver:
      case FaultKind::lose_pserver:
      case FaultKind::lose_snapshot:
        if (!p.alive()) return;
        p.kill();
        if (f.kind == FaultKind::lose_pserver) p.disk().wipe();
        if (f.kind == FaultKind::lose_snapshot) p.disk().lose_newest();
        return start_again(p, f.lasts);
    }
  }
  void start_again(PserverHost& p, double wait) {
    world_.after(wait, [this, &p] {
      p.kill();  // one that was asked to stop may still be at it
      p.start();
    });
  }

  std::string problem() const {
    for (const auto& t : trainers_)
      if (!t->failure().empty() && !may_give_up(*t))
        return text("trainer ", t->index(), " gave up: ", t->failure());
    if (!over()) {
      std::string who;
      for (const auto& t : trainers_)
        if (t->alive()) who += text(" trainer ", t->index(), " waits for ", t->waiting(), ";");
      return text("no end after ", world_.seconds_passed(), " s and ", world_.happened(),
                  " events:", who);
    }
    if (saved().empty()) return "trainer 0 has saved nothing";
    return wrong_values();
  }

  // One that comes after the end, as it was killed when it had nothing left to do, is refused; and
  // where a pserver was lost together with the news that trainer 0 has saved, the others learn it
  // from nobody.
  bool may_give_up(const TrainerHost& t) const {
    if (t.index() == 0) return late_saver(t);
    if (!trainers_[0]->finished()) return false;
    const bool late =
        has(FaultKind::kill_trainer) && t.failure().find("ended") != std::string::npos;
    const bool alone = may_lose() && t.failure().find("trainer 0") != std::string::npos;
    return late || alone;
  }
  // Trainer 0 was killed between saving and leaving.
  bool late_saver(const TrainerHost& t) const {
    return has(FaultKind::kill_trainer) && !t.saved().empty() &&
           t.failure().find("ended") != std::string::npos;
  }
  std::string wrong_values() const;
  float expected_count() const;
  std::string wrong_counts() const;
  bool has(FaultKind kind) const {
    return std::any_of(plan_.faults.begin(), plan_.faults.end(),
                       [&](const Fault& f) { return f.kind == kind; });
  }
  // Whether some process with state was lost.
  bool may_lose() const {
    return has(FaultKind::kill_trainer) || has(FaultKind::kill_pserver) ||
           has(FaultKind::stop_pserver) || has(FaultKind::lose_pserver) ||
           has(FaultKind::lose_snapshot);
  }

  const JobPlan& plan_;
  World world_;
  Network network_;
  std::vector<std::unique_ptr<PserverHost>> pservers_;
  std::vector<std::unique_ptr<TrainerHost>> trainers_;
  int losses_ = 0;  // of pservers
};

// What the gradients of one trainer add up to. Geo: an exchange sends a share of the difference and
// keeps the rest for the next one.
float History::expected_count() const {
  if (plan_.mode != wire::Mode::geo) return static_cast<float>(plan_.records);
  float kept = 0, sent = 0;
  const auto exchange = [&] {
    const float part = kept / static_cast<float>(plan_.trainers);
    sent += part;
    kept -= part;
  };
  for (uint64_t step = 0; step < plan_.records; ++step) {
    kept += 1;
    if ((step + 1) % plan_.geo_steps == 0) exchange();
  }
  exchange();
  return sent;
}

// Sync: the same bits as without faults. Otherwise the parameters have counted the gradients.
std::string History::wrong_values() const {
  std::vector<std::vector<float>> expected;
  if (plan_.mode == wire::Mode::sync) {
    if (plan_.faults.empty()) return "";
    JobPlan calm = plan_;
    calm.faults.clear();
    History reference(calm, false);
    const Outcome o = reference.run();
    if (!o.problem.empty()) return "without faults: " + o.problem;
    expected = reference.saved();
  } else {
    return wrong_counts();
  }
  for (size_t i = 0; i < expected.size(); ++i)
    for (size_t k = 0; k < expected[i].size(); ++k)
      if (saved()[i][k] != expected[i][k])
        return text("parameter ", i, ", element ", k, " is ", saved()[i][k], ", expected ",
                    expected[i][k]);
  return "";
}

// Each gradient of a trainer was applied once, or is reported as lost.
std::string History::wrong_counts() const {
  const float all = expected_count();
  for (size_t i = 0; i < saved().size(); ++i)
    for (size_t t = 0; t < plan_.trainers && t < saved()[i].size(); ++t) {
      const TrainerHost& trainer = *trainers_[t];
      const float applied = -saved()[i][t];
      const float lost = trainer.lost().size() > i ? static_cast<float>(trainer.lost()[i]) : 0;
      // A killed trainer of geo takes with it what it has not exchanged.
      const bool unknown = plan_.mode == wire::Mode::geo && has(FaultKind::kill_trainer);
      // Geo: what is lost is counted in steps, and each is worth a little less or more.
      const float rounding = plan_.mode == wire::Mode::geo ? (lost > 0 ? 1 : 1e-4f) : 0;
      // A pserver that was lost again before everybody had noticed the first time leaves no trace
      // of how much is missing.
      if (losses_ > 1) continue;
      if (applied > all + rounding && !trainer.place_lost())
        return text("parameter ", i, " has ", applied, " gradients of trainer ", t, ", there were ",
                    all);
      if (applied + lost < all - rounding && !unknown)
        return text("parameter ", i, " has ", applied, " gradients of trainer ", t, " of ", all,
                    ", and ", lost, " were reported as lost");
      if (lost > 0 && !may_lose())
        return text("parameter ", i, ": ", lost, " gradients of trainer ", t, " were lost");
    }
  return "";
}

}  // namespace

const char* name_of(FaultKind kind) { return fault_names[static_cast<size_t>(kind)]; }

JobPlan plan_of(uint64_t seed, const std::vector<FaultKind>& kinds) {
  Random r(mix64(seed));
  JobPlan p{.seed = seed};
  const uint64_t mode = r.below(10);
  p.mode = mode < 5   ? wire::Mode::sync
           : mode < 7 ? wire::Mode::half_async
           : mode < 9 ? wire::Mode::async
                      : wire::Mode::geo;
  constexpr size_t trainers[] = {1, 2, 2, 4};
  p.trainers = trainers[r.below(4)];
  p.shards = 1 + r.below(3);
  p.params = 1 + r.below(4);
  p.records = 4 + r.below(12);
  p.snapshot_period = r.chance(0.6) ? 1 + r.below(6) : 0;
  p.queue_size = 1 + r.below(5);
  p.geo_steps = 1 + r.below(3);
  p.batch_seconds = r.chance(0.2) ? 0.3 : 0.01;
  p.slow = r.chance(0.3) ? 0.05 : 0.002;
  p.latest_end = r.chance(0.3) ? 5 : 0.01;
  const double length = static_cast<double>(p.records) * (p.batch_seconds + 3 * p.slow) + 0.1;
  const uint64_t faults = r.below(5);
  for (uint64_t i = 0; i < faults; ++i) {
    Fault f;
    f.at = r.between(0, r.chance(0.8) ? length : 3 * length);
    f.kind = kinds.empty() ? static_cast<FaultKind>(r.below(std::size(fault_names)))
                           : kinds[r.below(kinds.size())];
    f.trainer = r.below(p.trainers);
    f.shard = r.below(p.shards);
    f.lasts = r.chance(0.6) ? r.between(0.001, 0.5) : r.between(0.5, 25);
    f.ways = 1 + static_cast<int>(r.below(3));
    p.faults.push_back(f);
  }
  return p;
}

std::string text_of(const JobPlan& p) {
  std::string out =
      text("seed ", p.seed, ": ", wire::name_of(p.mode), ", ", p.trainers, " trainers, ", p.shards,
           " shards, ", p.params, " parameters, ", p.records, " batches, snapshots every ",
           p.snapshot_period, " steps, a batch takes ", p.batch_seconds, " s, messages up to ",
           p.slow, " s, ends are heard within ", p.latest_end, " s\n");
  for (const Fault& f : p.faults)
    out += text("  at ", f.at, " s: ", name_of(f.kind), ", trainer ", f.trainer, ", pserver ",
                f.shard, ", for ", f.lasts, " s, ways ", f.ways, "\n");
  return out;
}

Outcome run(const JobPlan& plan, bool traces) { return History(plan, traces).run(); }

JobPlan shortened(const JobPlan& plan) {
  JobPlan best = plan;
  for (bool fewer = true; fewer;) {
    fewer = false;
    for (size_t i = 0; i < best.faults.size() && !fewer; ++i) {
      JobPlan p = best;
      p.faults.erase(p.faults.begin() + static_cast<std::ptrdiff_t>(i));
      if (run(p, false).problem.empty()) continue;
      best = p;
      fewer = true;
    }
  }
  return best;
}

}  // namespace paddle::sim
