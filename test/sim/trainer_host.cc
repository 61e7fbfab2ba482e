#include "sim/trainer_host.h"

#include <algorithm>
#include <cstring>

#include "sim/sim_links.h"
#include "table/partition.h"
#include "trainer/step_protocol.h"

namespace paddle::sim {
namespace {

template <class F>
class AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  ~AtEnd() { f_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  F f_;
};

constexpr uint64_t counting_row = 7;
constexpr uint64_t other_rows = 11;

}  // namespace

std::vector<uint64_t> batch_ids(size_t trainer, uint64_t record) {
  std::vector<uint64_t> ids{counting_row};
  if (record % 3 != 1) ids.push_back(1000 + trainer);
  for (uint64_t i = 0; i < record % 3; ++i) ids.push_back(2000 + (record * 5 + i) % other_rows);
  return ids;
}

TrainerHost::TrainerHost(Network& network, std::vector<PserverHost*> pservers, size_t index,
                         TrainerSetup setup)
    : network_(network), pservers_(std::move(pservers)), index_(index), setup_(std::move(setup)) {}

TrainerHost::~TrainerHost() { kill(); }

void TrainerHost::start() {
  network_.world.trace("trainer ", index_, " starts");
  ++life_;
  killed_ = vanished_ = finished_ = false;
  failure_.clear();
  frozen_until_ = {};
  fiber_ = std::make_unique<Fiber>([this] { run(); });
  network_.world.at(network_.world.now(), [this, life = life_] {
    if (life == life_) resume();
  });
}

void TrainerHost::kill() {
  if (!fiber_) return;
  network_.world.trace("trainer ", index_, " is killed");
  ++life_;
  killed_ = true;
  fiber_->resume();  // ends in Killed
  fiber_.reset();
}

void TrainerHost::vanish() {
  vanished_ = true;
  kill();
}

void TrainerHost::freeze(double s) {
  frozen_until_ = std::max(frozen_until_, network_.world.now() + to_duration(s));
}

std::string TrainerHost::waiting() const { return links_ ? links_->waits_for : ""; }

// ---- the fiber

void TrainerHost::resume() {
  if (frozen_until_ > network_.world.now()) {
    network_.world.at(frozen_until_, [this, life = life_] {
      if (life == life_) resume();
    });
    return;
  }
  fiber_->resume();
  if (!fiber_->done()) return;
  ++life_;
  fiber_.reset();
}

void TrainerHost::sleep_until(Time until) {
  const uint64_t number = ++sleep_;
  asleep_ = true;
  network_.world.at(setup_.clock.world(until), [this, number, life = life_] {
    if (life == life_ && number == sleep_ && asleep_) {
      asleep_ = false;
      resume();
    }
  });
  fiber_->pause();
  asleep_ = false;
  if (killed_) throw Killed{};
}

void TrainerHost::wake() {
  if (!asleep_) return;
  asleep_ = false;
  network_.world.at(network_.world.now(), [this, life = life_] {
    if (life == life_) resume();
  });
}

void TrainerHost::run() {
  if (killed_) return;
  try {
    const Model& model = *setup_.model;
    Scope scope;
    for (const std::string& name : model.first.names())
      scope.var(name).tensor = model.first.tensor(name).clone();
    gradients_.resize(model.cut.params.size());
    PsOptions options = setup_.options;
    options.hello.process = text("trainer-", index_, ":", life_);
    options.hello.incarnation = network_.world.random.bits() | 1;
    std::vector<std::string> endpoints;
    for (size_t i = 0; i < pservers_.size(); ++i) endpoints.push_back(text("pserver-", i));
    const auto first_values = [&] {
      for (const std::string& name : model.first.names()) {
        const Tensor& from = model.first.tensor(name);
        std::memcpy(scope.tensor(name).raw(), from.raw(), from.bytes());
      }
    };
    PsClient client(model.cut, scope, options, first_values,
                    std::make_unique<SimLinks>(*this, endpoints, options.peer_timeout));
    const AtEnd add_lost([&] {
      const std::span<const uint64_t> slices = client.updates().lost();
      std::vector<uint64_t> lost(slices.begin(), slices.end());
      if (const auto rows = client.rows().lost(); !rows.empty())
        lost.push_back(rows[shard_of(counting_row, static_cast<uint32_t>(rows.size()))]);
      lost_.resize(lost.size());
      for (size_t i = 0; i < lost_.size(); ++i) lost_[i] += lost[i];
    });
    train(client, scope);
    finished_ = true;
    network_.world.trace("trainer ", index_, " has finished");
  } catch (const Killed&) {
  } catch (const Error& e) {
    failure_ = e.what();
    network_.world.trace("trainer ", index_, " gives up: ", failure_);
  }
}

// As the loop of a real trainer: at any step the pservers may lead back to another one.
void TrainerHost::train(PsClient& client, Scope& scope) {
  StepProtocol steps(client, setup_.model->cut.params, scope);
  const Program nothing;
  const uint64_t per_pass = setup_.pass_records > 0 ? setup_.pass_records : setup_.records;
  uint64_t step = 0, record = 0, pass = 0;  // records are counted over all passes
  const auto go_to = [&](const Rewind& to) {
    step = to.step;
    record = to.place ? to.place->samples : 0;
    pass = to.place ? to.place->pass : 0;
    place_lost_ = place_lost_ || to.place_lost;
    network_.world.trace("trainer ", index_, " goes on with step ", step, ", record ", record,
                         to.why.empty() ? "" : "; ", to.why);
  };
  const auto place = [&](uint64_t n) {
    return wire::Position{pass, n - pass * per_pass, n - pass * per_pass, n};
  };
  const Rewind start = client.join(0);
  if (start.over) return;
  go_to(start);
  for (bool left = false; !left;) {
    try {
      for (; record < setup_.records; ++step, ++record) {
        if (record == (pass + 1) * per_pass) save_pass(client, scope, step, pass++);
        steps.run(nothing, {step, place(record), place(record + 1)},
                  [&] { batch(client, scope, step, record); });
      }
      client.finish(step);
      client.wait_for_others();
      if (index_ == 0) {
        client.collect();
        saved_ = parameters(scope);
        std::vector<uint64_t> ids{counting_row};
        for (size_t t = 0; t < 4; ++t) ids.push_back(1000 + t);
        for (uint64_t i = 0; i < other_rows; ++i) ids.push_back(2000 + i);
        std::vector<float> rows(ids.size() * row_width);
        const bool table = !setup_.model->cut.trainer.tables.empty();
        if (table) client.pull_rows(0, ids, rows.data(), step);
        for (size_t i = 0; i < rows.size() && table; i += row_width)
          saved_.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(i),
                              rows.begin() + static_cast<std::ptrdiff_t>(i) + row_width);
      }
      client.wait_for_save();
      client.say_bye();
      left = true;
    } catch (const Rewind& back) {
      if (back.over) return;
      steps.rewind(back);
      go_to(back);
    }
  }
}

// As a real trainer does between two passes.
void TrainerHost::save_pass(PsClient& client, const Scope& scope, uint64_t step, uint64_t pass) {
  if (index_ != 0) return;
  client.refresh(step);
  client.collect();
  if (!setup_.model->cut.trainer.tables.empty()) client.save_table("rows", [](std::string_view) {});
  saved_passes_[pass] = parameters(scope);
  network_.world.trace("trainer ", index_, " has saved pass ", pass);
}

Values TrainerHost::parameters(const Scope& scope) const {
  Values out;
  for (const ParamGrad& p : setup_.model->cut.params) {
    const auto values = scope.tensor(p.param).values<float>();
    out.emplace_back(values.begin(), values.end());
  }
  return out;
}

// The gradient of element t of every parameter is 1 for trainer t and 0 for the others, so that
// the parameters count the gradients of each. In sync it also depends on the values and the batch.
void TrainerHost::batch(PsClient& client, Scope& scope, uint64_t step, uint64_t record) {
  const bool geo = setup_.options.hello.mode == wire::Mode::geo;
  const bool sync = setup_.options.hello.mode == wire::Mode::sync;
  const size_t params = setup_.model->cut.params.size();
  const bool table = !setup_.model->cut.trainer.tables.empty();
  const std::vector<uint64_t> ids = batch_ids(index_, record);
  std::vector<float> rows(ids.size() * row_width);
  if (table) announce(client, step, record);
  if (table) client.pull_rows(0, ids, rows.data(), step);
  for (size_t i = 0; i < params; ++i) client.pull(static_cast<int32_t>(i), View{}, step);
  sleep_until(now() + to_duration(network_.world.random.between(0.2, 1.8) * setup_.batch_seconds));
  if (table && record % 2 == 0) push_rows(client, rows, step, record);
  for (size_t i = 0; i < params; ++i) {
    const Tensor& t = scope.tensor(setup_.model->cut.params[i].param);
    if (i == 0)
      network_.world.trace("trainer ", index_, " computes step ", step, ", record ", record,
                           ", with ", t.data<float>()[0]);
    std::vector<float>& g = gradients_[i];
    std::vector<float> made(static_cast<size_t>(t.numel()), 0.0f);
    for (size_t k = 0; k < made.size(); ++k) {
      if (k == index_) made[k] = 1;
      if (sync) {
        const auto value = static_cast<int64_t>(t.data<float>()[k]);
        made[k] += static_cast<float>((value + static_cast<int64_t>(record * 3 + k * 5 + i)) % 7);
      }
    }
    if (geo) {  // the update is the trainer's own
      for (size_t k = 0; k < made.size(); ++k) t.data<float>()[k] -= made[k];
      continue;
    }
    // Its memory stays until the next step has begun to push, or until it was answered: pushes may
    // wait for that here.
    client.await_answer(static_cast<int32_t>(i), step);
    g.resize(made.size());
    std::copy(made.begin(), made.end(), g.begin());
    client.push(static_cast<int32_t>(i), View{.data = g.data()}, step);
  }
  if (table && record % 2 == 1) push_rows(client, rows, step, record);
}

// Now and then another batch comes than was announced, or none was.
void TrainerHost::announce(PsClient& client, uint64_t step, uint64_t record) {
  const uint64_t other = record % 5;
  if (!client.takes_announcements() || record + 1 == setup_.records || other == 3) return;
  client.announce_rows(0, batch_ids(index_, record + (other == 1 ? 2 : 1)), step + 1);
}

// As for parameters: the first row counts.
void TrainerHost::push_rows(PsClient& client, const std::vector<float>& rows, uint64_t step,
                            uint64_t record) {
  const bool sync = setup_.options.hello.mode == wire::Mode::sync;
  const std::vector<uint64_t> ids = batch_ids(index_, record);
  std::vector<float> made(rows.size(), 0.0f);
  for (size_t k = 0; k < made.size(); ++k) {
    if (k == index_) made[k] = 1;
    if (!sync) continue;
    const auto value = static_cast<int64_t>(rows[k]);
    made[k] += static_cast<float>((value + static_cast<int64_t>(record * 3 + k * 5)) % 7);
  }
  client.set_rate(0, 1);
  client.push_rows(0, ids, made.data(), step);
}

}  // namespace paddle::sim
