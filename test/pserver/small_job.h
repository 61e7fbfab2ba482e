// A shard's half of a job, made by hand: one block per slice, with the ops that a cut puts there.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "optim/rule.h"
#include "pserver/store.h"

namespace paddle {

struct SmallJob {
  StoreConfig config;
  std::vector<Tensor> values;  // first ones, in the order of config.variables
};

struct SmallJobOptions {
  std::string rule = "sgd";
  std::vector<int64_t> sizes = {5};  // elements of each slice
  uint32_t trainers = 1;
  float rate = 0.125f;
  float l2 = 0;         // not 0: weight decay before the update
  bool decays = false;  // the rate is 1 / (number of the update + 1)
};

inline float first_value(size_t slice, int64_t i) {
  return std::cos(static_cast<float>(i) * 0.8f + static_cast<float>(slice));
}

inline void add_variable(SmallJob& job, const std::string& name, const Shape& shape, float value,
                         DType dtype = DType::f32) {
  job.config.program.global().create(
      {.name = name, .dtype = dtype, .shape = shape, .persistable = true});
  job.config.variables.push_back({name, dtype, shape});
  Tensor t(dtype, shape);
  with_dtype(dtype, [&](auto z) {
    for (auto& v : t.values<decltype(z)>()) v = static_cast<decltype(z)>(value);
  });
  job.values.push_back(t);
}

// Sum over trainers and 1/n, as in Fluid's form; a shard does this itself.
inline void add_merge(SmallJob& job, Block& block, const std::string& param, uint32_t trainers) {
  const Shape shape = block.var(param).shape;
  Names parts;
  for (uint32_t t = 0; t < trainers; ++t) {
    parts.push_back(param + "@GRAD.trainer_" + std::to_string(t));
    job.config.program.global().create({.name = parts.back(), .shape = shape});
  }
  const OpRoleGuard guard(job.config.program, role::dist);
  block.append(
      {.type = "sum", .in = {{"X", parts}}, .out = {{"Out", {param + "@GRAD"}}}, .attrs = {}});
  block.append({.type = "scale",
                .in = {{"X", {param + "@GRAD"}}},
                .out = {{"Out", {param + "@GRAD"}}},
                .attrs = {{"scale", 1.0f / static_cast<float>(trainers)}}});
}

inline void add_decay(SmallJob& job) {
  add_variable(job, "@LR_DECAY_COUNTER@", {1}, -1, DType::i64);
  Block& b = job.config.program.append_block(0);
  const OpRoleGuard guard(job.config.program, role::lr_sched);
  b.append({.type = "increment",
            .in = {{"X", {"@LR_DECAY_COUNTER@"}}},
            .out = {{"Out", {"@LR_DECAY_COUNTER@"}}},
            .attrs = {{"step", 1.0f}}});
  b.append({.type = "cast",
            .in = {{"X", {"@LR_DECAY_COUNTER@"}}},
            .out = {{"Out", {"step"}}},
            .attrs = {{"in_dtype", 3}, {"out_dtype", 5}}});
  b.append({.type = "scale",
            .in = {{"X", {"step"}}},
            .out = {{"Out", {"step_1"}}},
            .attrs = {{"scale", 1.0f}, {"bias", 1.0f}}});
  job.config.program.global().create({.name = "rate", .shape = {1}});
  b.append({.type = "reciprocal", .in = {{"X", {"step_1"}}}, .out = {{"Out", {"rate"}}}});
}

inline void add_l2(Block& block, const std::string& param, float l2) {
  block.append({.type = "scale",
                .in = {{"X", {param}}},
                .out = {{"Out", {param + ".decay"}}},
                .attrs = {{"scale", l2}}});
  block.append({.type = "sum",
                .in = {{"X", {param + "@GRAD", param + ".decay"}}},
                .out = {{"Out", {param + "@GRAD.l2"}}}});
}

// The update, its state, and the powers that move on after it.
inline void add_update(SmallJob& job, Block& block, const std::string& param,
                       const std::string& grad, const SmallJobOptions& o) {
  const optim::Rule& rule = *optim::find_rule(o.rule);
  Op op{.type = o.rule};
  op.in = {{"Param", {param}}, {"Grad", {grad}}};
  op.out = {{"ParamOut", {param}}};
  Names powers;
  for (const std::string& input : rule.inputs) {
    const bool rate = input == "LearningRate";
    const std::string name = rate ? "rate" : param + "." + input;
    if (!rate) {
      add_variable(job, name, {1}, input == "Beta1Pow" ? 0.9f : 0.999f);
      powers.push_back(name);
    }
    op.in.set(input, {name});
  }
  for (const optim::State& s : rule.states) {
    if (s.optional) continue;
    add_variable(job, param + "." + s.in, block.var(param).shape, 0.25f);
    op.in.set(s.in, {param + "." + s.in});
    op.out.set(s.out, {param + "." + s.in});
  }
  for (const optim::Setting& s : rule.settings)
    if (s.required) op.attrs.set(s.name, 0.75f);
  block.append(op);
  for (const std::string& p : powers)
    block.append({.type = "scale",
                  .in = {{"X", {p}}},
                  .out = {{"Out", {p}}},
                  .attrs = {{"scale", p.ends_with("Beta1Pow") ? 0.9f : 0.999f}}});
}

inline SmallJob small_job(const SmallJobOptions& o = {}) {
  SmallJob job;
  Program& program = job.config.program;
  if (o.decays)
    add_decay(job);
  else
    add_variable(job, "rate", {1}, o.rate);
  for (size_t i = 0; i < o.sizes.size(); ++i) {
    const std::string param = "w_" + std::to_string(i);
    add_variable(job, param, {o.sizes[i]}, 0);
    for (int64_t k = 0; k < o.sizes[i]; ++k) job.values.back().data<float>()[k] = first_value(i, k);
    program.global().create({.name = param + "@GRAD", .shape = {o.sizes[i]}});
    Block& block = program.append_block(0);
    const OpRoleGuard guard(program, role::optimize);
    if (o.trainers > 1) add_merge(job, block, param, o.trainers);
    if (o.l2 != 0) add_l2(block, param, o.l2);
    add_update(job, block, param, o.l2 != 0 ? param + "@GRAD.l2" : param + "@GRAD", o);
    job.config.slices.push_back({.id = static_cast<uint32_t>(10 + i),
                                 .name = param,
                                 .grad = param + "@GRAD",
                                 .block = block.idx()});
  }
  return job;
}

inline std::unique_ptr<Store> store_of(const SmallJob& job, bool sync = true,
                                       bool may_lower = true) {
  auto store = std::make_unique<Store>(job.config, sync, nullptr, may_lower);
  for (size_t i = 0; i < job.values.size(); ++i)
    std::copy_n(static_cast<const std::byte*>(job.values[i].raw()), job.values[i].bytes(),
                static_cast<std::byte*>(store->value(i).raw()));
  store->build(~size_t{0});
  store->start(0);
  return store;
}

// The gradient of a trainer; no two alike, and sums that depend on their order.
inline float gradient(uint32_t trainer, uint64_t step, size_t slice, int64_t i) {
  return std::sin(static_cast<float>(i) * 1.7f + static_cast<float>(step) * 0.9f +
                  static_cast<float>(slice)) *
         std::exp2(static_cast<float>(trainer % 5) * 3 - 4);
}

inline std::vector<float> gradients(uint32_t trainer, uint64_t step, size_t slice, int64_t n) {
  std::vector<float> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i)] = gradient(trainer, step, slice, i);
  return out;
}

inline const std::byte* bytes_of(const std::vector<float>& v) {
  return reinterpret_cast<const std::byte*>(v.data());
}

inline std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// What a shard must make of gradients(): the same store, driven by plain calls.
inline std::vector<float> expected(const SmallJob& job, uint32_t trainers, uint64_t steps,
                                   size_t slice) {
  const auto store = store_of(job);
  Slice& s = store->slices()[slice];
  for (uint64_t step = 0; step < steps; ++step) {
    for (uint32_t t = 0; t < trainers; ++t)
      s.add_to_sum(bytes_of(gradients(t, step, slice, static_cast<int64_t>(s.bytes() / 4))));
    store->schedule().run(s.version());
    s.close_round();
  }
  return floats_of(s.values());
}

}  // namespace paddle
