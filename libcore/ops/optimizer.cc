// Optimizer ops: one for each row of optim's table. Outputs are the inputs, updated in place.
#include <algorithm>

#include "kernels/map.h"
#include "kernels/memory.h"
#include "ops/common.h"
#include "optim/rule.h"

namespace paddle {
namespace {

using optim::Rule;

const Rule& rule_of(const Op& op) { return *optim::find_rule(op.type); }

// Programs of PaddlePaddle from 1.8 on have powers advanced by the op itself, which then has this
// output; earlier ones have a scale op for each after the updates.
std::string advanced(const optim::Power& p) { return p.slot + "Out"; }

void check_gradient(const Infer& i) {
  const Meta &param = i.in("Param"), &grad = i.in("Grad");
  i.check(param.kind != VarKind::selected_rows, "Param must be a dense tensor");
  i.check(param.dtype == grad.dtype, "Param is ", name_of(param.dtype), " and Grad is ",
          name_of(grad.dtype), ": cast the gradient");
  if (grad.kind != VarKind::selected_rows) return i.check_same("Param", "Grad");
  Shape table = grad.shape;
  i.check(table.rank() >= 1 && table.rank() == param.shape.rank(), i.describe("Param"),
          " and the rows of ", i.describe("Grad"), " differ in their number of dimensions");
  table[0] = grad.height;
  i.check(param.shape.compatible(table), "the shapes of ", i.describe("Param"),
          " and of the table ", table, " that Grad (", i.op().in["Grad"][0],
          ") has rows of must be equal");
}

void infer_optimizer(Infer& i) {
  const Rule& rule = rule_of(i.op());
  check_gradient(i);
  for (const optim::State& s : rule.states) {
    if (!i.has(s.in)) continue;
    i.check_same("Param", s.in);
    i.check(i.dtype(s.in) == i.dtype("Param"), s.in, " is ", name_of(i.dtype(s.in)),
            " and Param is ", name_of(i.dtype("Param")));
    i.check(i.has_out(s.out), "the output '", s.out, "' is missing");
    i.out_like(s.out, s.in);
  }
  for (const std::string& input : rule.inputs) {
    const int64_t n = i.shape(input).numel();
    i.check(n == 1 || n < 0, i.describe(input), " must have one element");
  }
  for (const optim::Power& p : rule.powers) i.out_like(advanced(p), p.slot);
  if (i.op().type == "rmsprop" && i.attr<bool>("centered"))
    i.check(i.has("MeanGrad"), "centered needs the input 'MeanGrad'");
  i.out_like("ParamOut", "Param");
}

// Where an op's lists stand, found once.
struct Args {
  const Rule* rule;
  Arg param, param_out, grad;
  std::vector<Arg> states, states_out, inputs;
  std::vector<double> settings;
  struct Advance {
    size_t number;  // of the power, in `inputs`
    Arg out;
    double factor;
  };
  std::vector<Advance> advances;

  explicit Args(const Bind& b)
      : rule(&rule_of(b.op())),
        param(b.in("Param")),
        param_out(b.out("ParamOut")),
        grad(b.in("Grad")) {
    for (const optim::State& s : rule->states) {
      states.push_back(b.in(s.in));
      states_out.push_back(b.out(s.out));
    }
    for (const std::string& input : rule->inputs) inputs.push_back(b.in(input));
    for (const optim::Setting& s : rule->settings)
      settings.push_back(std::holds_alternative<bool>(s.fallback) ? b.attr<bool>(s.name)
                                                                  : b.attr<float>(s.name));
    for (const optim::Power& p : rule->powers) {
      const Arg out = b.out(advanced(p));
      const auto at = std::find(rule->inputs.begin(), rule->inputs.end(), p.slot);
      if (out)
        advances.push_back(
            {static_cast<size_t>(at - rule->inputs.begin()), out, b.attr<float>(p.setting)});
    }
  }
};

// The output's memory, holding the input's value.
template <class T>
T* updated(const Run& r, Arg in, Arg out) {
  if (!in || !out) return nullptr;
  copy(r, r[in].numel(), r[out].as<T>(), r[in].as<const T>());
  return r[out].as<T>();
}

double one_number(const Run& r, const View& v) {
  return with_float(v.dtype,
                    [&](auto t) -> double { return read_one(r, v.as<const decltype(t)>()); });
}

constexpr size_t max_numbers = 8, max_states = 4;

// The input itself, or, where it is of another type, a copy in `place`.
template <class T>
const T* as_type(const Run& r, const View& v, T* place) {
  if (v.dtype == dtype_v<T>) return v.as<const T>();
  write_one(r, static_cast<T>(one_number(r, v)), place);
  return place;
}

template <class T>
struct Times {
  T factor;
  PS_HD T operator()(T x) const { return x * factor; }
};

template <class T>
void run_optimizer(const Run& r, const Args& a) {
  const View& g = r[a.grad];
  T numbers[max_numbers];
  size_t count = 0;
  // What a dense update needs of the device is not waited for.
  optim::Inputs<T> inputs;
  T* places = g.is_rows ? nullptr : r.scratch.get<T>(optim::most_inputs);
  for (const Arg input : a.inputs) {
    if (!g.is_rows) inputs.at[count] = as_type(r, r[input], places + count);
    numbers[count] =
        g.is_rows ? static_cast<T>(one_number(r, r[input])) : optim::number_at(r, inputs.at[count]);
    ++count;
  }
  for (const double s : a.settings) numbers[count++] = static_cast<T>(s);
  T* states[max_states];
  for (size_t k = 0; k < a.states.size(); ++k)
    states[k] = updated<T>(r, a.states[k], a.states_out[k]);
  optim::Call<T> call{
      r, {numbers, count}, updated<T>(r, a.param, a.param_out), {states, a.states.size()}};
  call.inputs = inputs;
  if (!g.is_rows) {
    optim::apply_dense(*a.rule, call, g.as<const T>(), g.numel());
    for (const Args::Advance& d : a.advances)
      map(r, 1, Times<T>{static_cast<T>(d.factor)}, r[d.out].as<T>(), inputs.at[d.number]);
    return;
  }
  for (const Args::Advance& d : a.advances)
    write_one(r, static_cast<T>(numbers[d.number] * static_cast<T>(d.factor)), r[d.out].as<T>());
  const int64_t width = g.shape.product(1, g.shape.rank());
  const optim::Rows<T> rows{g.shape[0], width, g.height, g.rows, g.as<const T>()};
  void* scratch = r.scratch.get<char>(
      static_cast<int64_t>(optim::rows_scratch_bytes<T>(*a.rule, rows.count, width)));
  optim::apply_rows(*a.rule, call, rows, scratch);
}

Kernel bind_optimizer(const Bind& b) {
  return with_float(b.dtype("Param"), [a = Args(b)](auto t) -> Kernel {
    return [a](const Run& r) { run_optimizer<decltype(t)>(r, a); };
  });
}

bool keeps_other_rows(const Op& op) {
  const Rule& rule = rule_of(op);
  std::vector<float> numbers(rule.inputs.size(), 0.0f);
  for (const optim::Setting& s : rule.settings)
    numbers.push_back(std::holds_alternative<bool>(s.fallback)
                          ? static_cast<float>(op.attrs.get<bool>(s.name, false))
                          : op.attrs.get<float>(s.name, 0));
  return !rule.f32.all_rows(rule, numbers);
}

OpDef define(const Rule& rule) {
  OpDef def{.type = rule.type,
            .in = {{"Param"}, {"Grad"}},
            .out = {{"ParamOut"}},
            .infer = infer_optimizer,
            .bind = bind_optimizer,
            .inplace = {{"Param", "ParamOut"}},
            .elementwise = rule.elementwise,
            .keeps_other_rows = keeps_other_rows};
  for (const optim::State& s : rule.states) {
    def.in.push_back({s.in, s.optional ? SlotDef::optional : SlotDef::one});
    def.out.push_back({s.out, s.optional ? SlotDef::optional : SlotDef::one});
    def.inplace.emplace_back(s.in, s.out);
    if (!s.first_key.empty()) def.first_values.emplace_back(s.in, s.first_key);
  }
  for (const std::string& input : rule.inputs) def.in.push_back({input});
  for (const optim::Power& p : rule.powers) def.out.push_back({advanced(p), SlotDef::optional});
  for (const optim::Setting& s : rule.settings) {
    std::visit([&](auto v) { def.attrs.set(s.name, v); }, s.fallback);
    if (s.required) def.required_attrs.push_back(s.name);
  }
  return def;
}

}  // namespace

std::vector<OpDef> optimizer_ops() {
  std::vector<OpDef> defs;
  for (const Rule& rule : optim::rules()) defs.push_back(define(rule));
  return defs;
}

}  // namespace paddle
