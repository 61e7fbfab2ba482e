#include "sim/history.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

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
constexpr size_t most_waiting = 64;        // messages that wait in one connection

std::unique_ptr<Model> make_model(size_t params, size_t trainers, size_t shards, bool table) {
  auto out = std::make_unique<Model>();
  Net net;
  const Builder b(net);
  Names costs, endpoints;
  for (size_t i = 0; i < params; ++i)
    costs.push_back(
        mean(b, create_parameter(b, {static_cast<int64_t>(4 + 3 * i), 1}, {.name = text("p", i)})));
  const std::string loss = mean(b, costs.size() > 1 ? concat(b, costs, 0) : costs[0]);
  minimize(b, loss, Optimizer("sgd", 1));
  if (table) {
    TableSpec rows{.param = "rows", .grad = "rows@GRAD", .width = row_width};
    for (const auto& op : net.main.global().ops())
      if (op->type == "sgd") rows.learning_rate = op->in["LearningRate"][0];
    net.main.tables.push_back(rows);
  }
  for (size_t i = 0; i < shards; ++i) endpoints.push_back(text("127.0.0.1:", 7164 + i));
  out->cut = transpile(
      net.main, net.startup,
      {.trainers = static_cast<uint32_t>(trainers), .endpoints = endpoints, .slice_var_up = false});
  out->cut.trainer.tables = net.main.tables;
  Executor().run(net.startup, out->first);
  for (const ParamGrad& p : out->cut.params) {
    const Tensor& t = out->first.tensor(p.param);
    std::fill_n(t.data<float>(), t.numel(), 0.0f);
  }
  return out;
}

// Made once: building and cutting a program takes longer than a history.
const Model& model_of(const JobPlan& p) {
  static std::map<std::tuple<size_t, size_t, size_t, bool>, std::unique_ptr<Model>> models;
  auto& m = models[{p.params, p.trainers, p.shards, p.table}];
  if (!m) m = make_model(p.params, p.trainers, p.shards, p.table);
  return *m;
}

class History {
 public:
  History(const JobPlan& plan, bool traces)
      : plan_(plan), world_(plan.seed, traces), network_(world_) {
    network_.slow = plan.slow;
    network_.latest_end = plan.latest_end;
    if (plan.far_pair) network_.far_trainer = 0;
    ShardOptions o;
    o.job = "job";
    o.trainers = static_cast<uint32_t>(plan.trainers);
    o.leases.policy = plan.policy;
    o.leases.lease_seconds = lease;
    o.peer_timeout = peer_timeout;
    o.log_period = 0;
    if (plan.snapshot_period > 0)
      o.snapshots = {.directory = "disk",
                     .period = plan.snapshot_period,
                     .changes = {.most = plan.changes, .share = plan.changes_share}};
    std::vector<PserverHost*> all;
    for (size_t i = 0; i < plan.shards; ++i) {
      pservers_.push_back(std::make_unique<PserverHost>(
          network_, i, o,
          PserverHost::Machine{clock(), plan.snapshot_period > 0, plan.slowest_write}));
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
      calm = std::max(calm, f.at + (f.for_good ? 0 : f.lasts));
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
  const Values& saved() const { return trainers_[0]->saved(); }

 private:
  LocalClock clock() {
    if (plan_.drift == 0) return {};
    return {world_.random.between(-3000, 3000),
            1 + world_.random.between(-plan_.drift, plan_.drift)};
  }
  TrainerSetup setup(size_t index) {
    const bool slow = plan_.slow_trainer && index + 1 == plan_.trainers;
    TrainerSetup s{.model = &model_of(plan_),
                   .options = {},
                   .records = plan_.records,
                   .pass_records = plan_.pass_records,
                   .batch_seconds = plan_.batch_seconds * (slow ? 10 : 1),
                   .clock = clock()};
    s.options.peer_timeout = peer_timeout;
    s.options.queue_size = plan_.queue_size;
    s.options.merge_memory = plan_.merge_memory;
    s.options.rows_ahead = plan_.ahead;
    if (plan_.cache_steps > 0) s.options.row_cache = {64u << 10, plan_.cache_steps};
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
    return std::all_of(trainers_.begin(), trainers_.end(), [this](const auto& t) {
      return !t->alive() && (t->finished() || !t->failure().empty() || t->index() == never_);
    });
  }

  void happen(const Fault& f) {
    TrainerHost& t = *trainers_[f.trainer];
    PserverHost& p = *pservers_[f.shard];
    const bool loses = f.kind == FaultKind::kill_pserver || f.kind == FaultKind::stop_pserver ||
                       f.kind == FaultKind::lose_pserver || f.kind == FaultKind::lose_snapshot ||
                       f.kind == FaultKind::tear_snapshot;
    if (loses && p.alive() && (f.kind == FaultKind::lose_pserver || plan_.snapshot_period == 0))
      forgot_.insert(f.shard);
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
        return start_again(t, f);
      case FaultKind::vanish_trainer:
        if (!t.alive()) return;
        t.vanish();
        return start_again(t, f);
      case FaultKind::stop_pserver:
        if (!p.alive()) return;
        p.stop();
        return start_again(p, f);
      case FaultKind::rot_snapshot: return p.disk().damage_newest(f.ways != 1);
      case FaultKind::kill_pserver:
      case FaultKind::lose_pserver:
      case FaultKind::lose_snapshot:
      case FaultKind::tear_snapshot:
        if (!p.alive()) return;
        p.kill();
        if (f.kind == FaultKind::lose_pserver) p.disk().wipe();
        if (f.kind == FaultKind::lose_snapshot) p.disk().lose_newest();
        if (f.kind == FaultKind::tear_snapshot) p.disk().damage_newest(f.ways != 1);
        return start_again(p, f);
    }
  }
  void start_again(TrainerHost& t, const Fault& f) {
    if (f.for_good)
      never_ = t.index();
    else
      world_.after(f.lasts, [&t] { t.start(); });
  }
  void start_again(PserverHost& p, const Fault& f) {
    if (f.for_good) {
      never_pserver_ = true;
      return;
    }
    world_.after(f.lasts, [&p] {
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
    if (network_.most_waiting > most_waiting)
      return text(network_.most_waiting, " messages waited in one connection");
    if (saved().empty()) return may_be_incomplete() ? "" : "trainer 0 has saved nothing";
    return wrong_values();
  }
  // Somebody never returned; or a trainer was lost, and the others went on, or the job ended, as
  // they were told to.
  bool may_be_incomplete() const {
    return never_ != nobody || never_pserver_ ||
           (plan_.policy != LossPolicy::wait &&
            std::any_of(pservers_.begin(), pservers_.end(),
                        [](const auto& p) { return p->lost_any(); }));
  }

  // Whoever gives up says for whom it waited, or why it was sent away. One that comes after the
  // end, as it was killed when it had nothing left to do, is refused; and where a pserver was lost
  // together with the news that trainer 0 has saved, those learn it from nobody who were started
  // again or stood still for as long as trainer 0 stays for them.
  bool may_give_up(const TrainerHost& t) const {
    const auto says = [&](const char* what) { return t.failure().find(what) != std::string::npos; };
    if (!says("trainer ") && !says("pserver-") && !says("ended")) return false;
    if (may_be_incomplete()) return true;
    if (trainers_[0]->saved().empty()) return false;
    const bool restarted = has(FaultKind::kill_trainer) || has(FaultKind::vanish_trainer);
    if (restarted && says("ended") && !says("gave up")) return true;
    const bool comes_late = restarted || (t.index() != 0 && cut_off());  // trainer 0 had saved
    return comes_late && may_forget() && says("waiting for trainer ");
  }
  // A trainer may have heard nothing for as long as trainer 0 stays for it, or nearly.
  bool cut_off() const {
    return std::any_of(plan_.faults.begin(), plan_.faults.end(), [](const Fault& f) {
      return (f.kind == FaultKind::freeze_trainer || f.kind == FaultKind::silence) && f.lasts > 8;
    });
  }
  // Every pserver has come back once and knew nothing.
  bool may_forget() const { return forgot_.size() == plan_.shards; }
  std::string wrong_values() const;
  float expected_count() const;
  float expected_rows() const;
  std::string wrong_counts() const;
  bool has(FaultKind kind) const {
    return std::any_of(plan_.faults.begin(), plan_.faults.end(),
                       [&](const Fault& f) { return f.kind == kind; });
  }
  // Whether some process with state was lost. One that is asked to stop takes a snapshot first.
  bool may_lose() const {
    return has(FaultKind::kill_trainer) || has(FaultKind::vanish_trainer) ||
           has(FaultKind::kill_pserver) || has(FaultKind::lose_pserver) ||
           has(FaultKind::lose_snapshot) || has(FaultKind::tear_snapshot) ||
           has(FaultKind::rot_snapshot) ||
           (has(FaultKind::stop_pserver) && plan_.snapshot_period == 0);
  }

  const JobPlan& plan_;
  World world_;
  Network network_;
  std::vector<std::unique_ptr<PserverHost>> pservers_;
  std::vector<std::unique_ptr<TrainerHost>> trainers_;
  static constexpr size_t nobody = ~size_t{0};
  std::set<size_t> forgot_;  // pservers that were lost with all that they knew
  size_t never_ = nobody;    // a trainer that is never started again
  bool never_pserver_ = false;
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

// The same of a row. Geo: a row is taken over as the shards have it, and nothing is kept for the
// next exchange.
float History::expected_rows() const {
  const auto all = static_cast<float>(plan_.records);
  return plan_.mode == wire::Mode::geo ? all / static_cast<float>(plan_.trainers) : all;
}

std::string difference(const Values& got, const Values& expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    for (size_t k = 0; k < expected[i].size(); ++k)
      if (got[i][k] != expected[i][k])
        return text("parameter ", i, ", element ", k, " is ", got[i][k], ", expected ",
                    expected[i][k]);
  return "";
}

// Sync: the same bits as without faults. Otherwise the parameters have counted the gradients.
std::string History::wrong_values() const {
  if (plan_.mode != wire::Mode::sync) return wrong_counts();
  if (plan_.faults.empty() || may_be_incomplete()) return "";
  JobPlan calm = plan_;
  calm.faults.clear();
  calm.policy = LossPolicy::wait;
  History reference(calm, false);
  const Outcome o = reference.run();
  if (!o.problem.empty()) return "without faults: " + o.problem;
  const auto& passes = trainers_[0]->saved_passes();
  for (const auto& [pass, expected] : reference.trainers_[0]->saved_passes()) {
    const auto found = passes.find(pass);
    if (found == passes.end()) return text("the model of pass ", pass, " was not saved");
    if (const std::string wrong = difference(found->second, expected); !wrong.empty())
      return text("in the model of pass ", pass, " ", wrong);
  }
  return difference(saved(), reference.saved());
}

// Each gradient of a trainer was applied once, or is reported as lost; no more are than there were.
std::string History::wrong_counts() const {
  const size_t counted = plan_.params + (plan_.table ? 1 : 0);  // the first row counts too
  for (size_t i = 0; i < std::min(counted, saved().size()); ++i)
    for (size_t t = 0; t < plan_.trainers && t < saved()[i].size(); ++t) {
      const float all = i < plan_.params ? expected_count() : expected_rows();
      const TrainerHost& trainer = *trainers_[t];
      const float applied = -saved()[i][t];
      const float lost = trainer.lost().size() > i ? static_cast<float>(trainer.lost()[i]) : 0;
      // A killed trainer of geo takes with it what it has not exchanged.
      const bool killed = has(FaultKind::kill_trainer) || has(FaultKind::vanish_trainer);
      const bool unknown = may_be_incomplete() || (killed && plan_.mode == wire::Mode::geo);
      // Geo: what is lost is counted in steps, and each is worth a little less or more.
      const float rounding = plan_.mode == wire::Mode::geo ? (lost > 0 ? 1 : 1e-4f) : 0;
      // A process that was killed has pushed what the next one does not know of.
      if (applied > all + rounding && !(killed && trainer.place_lost()))
        return text("parameter ", i, " has ", applied, " gradients of trainer ", t, ", there were ",
                    all);
      // Geo counts steps, which are worth less each; a new process counts those of the one before.
      if (lost > all && plan_.mode != wire::Mode::geo && !killed)
        return text("parameter ", i, ": ", lost, " gradients of trainer ", t,
                    " were reported as lost, there were ", all);
      if (applied + lost < all - rounding && !unknown)
        return text("parameter ", i, " has ", applied, " gradients of trainer ", t, " of ", all,
                    ", and ", lost, " were reported as lost");
      if (lost > 0 && !may_lose() && !may_be_incomplete())
        return text("parameter ", i, ": ", lost, " gradients of trainer ", t, " were lost");
    }
  return "";
}

}  // namespace

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
