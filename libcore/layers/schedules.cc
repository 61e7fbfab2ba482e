#include "layers/schedules.h"

#include <cmath>
#include <numbers>

#include "layers/layers.h"

namespace paddle {
namespace {

// Scalar arithmetic on variables: every number becomes a fill_constant, as the op lists of
// transpiled programs have it.
class Arithmetic {
 public:
  explicit Arithmetic(const Builder& b) : b_(b) {}

  std::string constant(float value) const {
    const std::string out = b_.new_name("tmp");
    return fill_constant(b_, {1}, DType::f32, value, out);
  }
  std::string add(const std::string& x, float y) const { return op("add", x, constant(y)); }
  std::string add(const std::string& x, const std::string& y) const { return op("add", x, y); }
  std::string mul(const std::string& x, float y) const { return op("mul", x, constant(y)); }
  std::string mul(const std::string& x, const std::string& y) const { return op("mul", x, y); }
  std::string div(const std::string& x, float y) const { return op("div", x, constant(y)); }
  std::string div(float x, const std::string& y) const { return op("div", constant(x), y); }
  std::string div(const std::string& x, const std::string& y) const { return op("div", x, y); }
  std::string pow(const std::string& x, float y) const { return op("pow", x, constant(y)); }
  std::string pow(float x, const std::string& y) const { return op("pow", constant(x), y); }
  std::string min(const std::string& x, const std::string& y) const { return op("min", x, y); }
  std::string max(const std::string& x, float y) const { return op("max", x, constant(y)); }
  std::string one_minus(const std::string& x) const { return op("sub", constant(1), x); }
  // below ? a : b, where below is exactly 0 or 1, so that the chosen value comes through unchanged.
  std::string choose(const std::string& below, const std::string& a, const std::string& b) const {
    return add(mul(a, below), mul(b, one_minus(below)));
  }
  // 1 where x < limit, else 0.
  std::string below(const std::string& x, float limit) const {
    return cast(b_, compare(b_, "less_than", x, constant(limit)), DType::f32);
  }

 private:
  std::string op(const std::string& type, const std::string& x, const std::string& y) const {
    std::string out = b_.new_name("tmp");
    b_.op({.type = "elementwise_" + type,
           .in = {{"X", {x}}, {"Y", {y}}},
           .out = {{"Out", {out}}},
           .attrs = {{"axis", -1}}});
    return out;
  }

  const Builder& b_;
};

// Ops made while it lives belong to the schedule; `step` is the counter as a float.
struct Schedule {
  Schedule(const Builder& b, int begin = 0)
      : guard(b.main(), role::lr_sched), a(b), step(counter(b, begin)) {}

  static std::string counter(const Builder& b, int begin) {
    if (!b.block().find_local(lr_counter_name)) {
      create_global_var(b, {1}, static_cast<float>(begin - 1), DType::i64,
                        {.persistable = true, .name = lr_counter_name});
      b.block().insert(0, {.type = "increment",
                           .in = {{"X", {lr_counter_name}}},
                           .out = {{"Out", {lr_counter_name}}},
                           .attrs = {{"step", 1.0f}}});
    }
    return cast(b, lr_counter_name, DType::f32);
  }

  OpRoleGuard guard;
  Arithmetic a;
  std::string step;
};

// The rate in a variable that is saved with the model, as PaddlePaddle has it.
std::string kept(const Builder& b, const std::string& rate, const std::string& name) {
  const std::string var = b.block().find_local(name) ? b.new_name(name) : name;
  create_global_var(b, {1}, 0, DType::f32, {.persistable = true, .name = var});
  b.op({.type = "assign", .in = {{"X", {rate}}}, .out = {{"Out", {var}}}});
  return var;
}

std::string periods(const Builder& b, const Schedule& s, float decay_steps, bool staircase) {
  require(decay_steps > 0, Error::Kind::config, "decay_steps must be positive, found ",
          decay_steps);
  const std::string count = s.a.div(s.step, decay_steps);
  return staircase ? floor(b, count) : count;
}

}  // namespace

std::string exponential_decay(const Builder& b, float learning_rate, float decay_steps,
                              float decay_rate, bool staircase) {
  const Schedule s(b);
  return s.a.mul(s.a.pow(decay_rate, periods(b, s, decay_steps, staircase)), learning_rate);
}

std::string natural_exp_decay(const Builder& b, float learning_rate, float decay_steps,
                              float decay_rate, bool staircase) {
  const Schedule s(b);
  const std::string exponent = s.a.mul(periods(b, s, decay_steps, staircase), -decay_rate);
  return s.a.mul(exp(b, exponent), learning_rate);
}

std::string inverse_time_decay(const Builder& b, float learning_rate, float decay_steps,
                               float decay_rate, bool staircase) {
  const Schedule s(b);
  const std::string part = s.a.mul(periods(b, s, decay_steps, staircase), decay_rate);
  return s.a.div(learning_rate, s.a.add(part, 1));
}

std::string polynomial_decay(const Builder& b, float learning_rate, float decay_steps,
                             const PolynomialOptions& options) {
  require(decay_steps > 0, Error::Kind::config, "decay_steps must be positive, found ",
          decay_steps);
  const Schedule s(b);
  std::string share;
  if (options.cycle) {
    const std::string cycles = s.a.max(ceil(b, s.a.div(s.step, decay_steps)), 1);
    share = s.a.div(s.step, s.a.mul(cycles, decay_steps));
  } else {
    share = s.a.div(s.a.min(s.step, s.a.constant(decay_steps)), decay_steps);
  }
  const float end = options.end_learning_rate;
  const std::string left = s.a.pow(s.a.one_minus(share), options.power);
  return s.a.add(s.a.mul(left, learning_rate - end), end);
}

std::string piecewise_decay(const Builder& b, const std::vector<int64_t>& boundaries,
                            const std::vector<float>& values) {
  require(values.size() == boundaries.size() + 1, Error::Kind::config, "piecewise_decay with ",
          boundaries.size(), " boundaries needs ", boundaries.size() + 1, " values, found ",
          values.size());
  for (size_t i = 1; i < boundaries.size(); ++i)
    require(boundaries[i - 1] < boundaries[i], Error::Kind::config,
            "piecewise_decay: the boundaries must rise, found ", boundaries[i - 1], " before ",
            boundaries[i]);
  const Schedule s(b);
  std::string rate = s.a.constant(values.back());
  for (size_t i = boundaries.size(); i-- > 0;) {
    const std::string below = s.a.below(s.step, static_cast<float>(boundaries[i]));
    rate = s.a.choose(below, s.a.constant(values[i]), rate);
  }
  return kept(b, rate, "learning_rate");
}

std::string noam_decay(const Builder& b, float d_model, float warmup_steps) {
  require(d_model > 0 && warmup_steps > 0, Error::Kind::config,
          "noam_decay: d_model and warmup_steps must be positive, found ", d_model, " and ",
          warmup_steps);
  const Schedule s(b, 1);
  const std::string falling = s.a.pow(s.step, -0.5f);
  const std::string rising =
      s.a.mul(s.step, static_cast<float>(std::pow(static_cast<double>(warmup_steps), -1.5)));
  return s.a.mul(s.a.min(falling, rising),
                 static_cast<float>(std::pow(static_cast<double>(d_model), -0.5)));
}

std::string cosine_decay(const Builder& b, float learning_rate, float step_each_epoch,
                         float epochs) {
  require(step_each_epoch > 0 && epochs > 0, Error::Kind::config,
          "cosine_decay: step_each_epoch and epochs must be positive, found ", step_each_epoch,
          " and ", epochs);
  const Schedule s(b);
  const std::string epoch = floor(b, s.a.div(s.step, step_each_epoch));
  const auto angle = static_cast<float>(std::numbers::pi / static_cast<double>(epochs));
  return s.a.mul(s.a.add(cos(b, s.a.mul(epoch, angle)), 1), learning_rate / 2);
}

std::string linear_lr_warmup(const Builder& b, const LearningRate& learning_rate,
                             float warmup_steps, float start_lr, float end_lr) {
  require(warmup_steps > 0, Error::Kind::config,
          "linear_lr_warmup: warmup_steps must be positive, found ", warmup_steps);
  const Schedule s(b);
  const std::string rising = s.a.add(s.a.mul(s.step, (end_lr - start_lr) / warmup_steps), start_lr);
  const std::string after =
      learning_rate.var.empty() ? s.a.constant(learning_rate.value) : learning_rate.var;
  return kept(b, s.a.choose(s.a.below(s.step, warmup_steps), rising, after),
              "learning_rate_warmup");
}

}  // namespace paddle
