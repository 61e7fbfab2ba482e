// Shapes and memory of a plan: every variable's shape for the feeds at hand, and one arena in which
// temporaries whose lives do not overlap share memory.
#include <algorithm>
#include <numeric>

#include "exec/plan.h"

namespace paddle {
namespace {

bool same_meta(const Meta& a, const Meta& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape && a.lod == b.lod &&
         a.height == b.height;
}

// A shape may come from a peer or a file: sums of these never overflow.
size_t bytes_needed(const Meta& m) {
  constexpr size_t most = size_t{1} << 48;
  size_t bytes = 0;
  require(!__builtin_mul_overflow(static_cast<size_t>(m.shape.numel()), size_of(m.dtype), &bytes) &&
              bytes <= most,
          Error::Kind::config, "a ", name_of(m.dtype), " variable of shape ", m.shape,
          " is larger than any memory");
  return bytes;
}

}  // namespace

void Plan::layout() {
  laid_out_ = false;  // until all below has worked
  infer_shapes();
  place_temporaries();
  set_views();
  if (!bound_) bind_kernels();
  feed_values_.assign(feeds_.size(), {});
  for (size_t i = 0; i < feeds_.size(); ++i) {
    feed_lod_sizes_[i].clear();
    if (feed_lods_[i] == nullptr) continue;
    for (const auto& level : *feed_lods_[i]) feed_lod_sizes_[i].push_back(level.size());
    if (!lods_.empty()) feed_values_[i] = *feed_lods_[i];
  }
  laid_out_ = true;
}

void Plan::take_scope_shapes() {
  for (const int i : scope_vars_) {
    PlanVar& v = vars_[static_cast<size_t>(i)];
    const Tensor& t = v.variable->tensor;
    if (!t.empty()) {
      v.filled = !v.written_first;
      v.meta = {.dtype = t.dtype(), .shape = t.shape()};
      v.meta.lod = t.lod().empty() ? nullptr : &t.lod();
      v.meta.lod_level = static_cast<int32_t>(t.lod().size());
    } else {
      require(v.written_first, Error::Kind::config, "the variable '", v.name,
              "' has no value: run the startup program or load a model first");
    }
  }
}

void Plan::infer_shapes() {
  for (PlanVar& v : vars_) {
    v.meta = v.declared;
    v.filled = false;
  }
  lods_.clear();
  take_scope_shapes();
  for (size_t i = 0; i < feeds_.size(); ++i) {
    PlanVar& v = vars_[static_cast<size_t>(feeds_[i])];
    require(fed_[i], Error::Kind::config, "the variable '", v.name, "' was not fed");
    v.filled = true;
    v.meta.shape = v.view.shape;
    v.meta.lod = feed_lods_[i];
    v.meta.lod_level = feed_lods_[i] ? static_cast<int32_t>(feed_lods_[i]->size()) : 0;
  }
  take_root_values();
  for (Step& s : steps_) infer_step(s);
  for (const int f : fetches_) {
    const PlanVar& v = vars_[static_cast<size_t>(f)];
    require(v.meta.shape.known(), Error::Kind::config, "cannot fetch '", v.name,
            "': nothing in this program computes it");
  }
}

bool Plan::takes_foreign_gradient(const Step& step) const {
  return std::any_of(step.in.begin(), step.in.end(), [&](int v) {
    if (v < 0) return false;
    const PlanVar& var = vars_[static_cast<size_t>(v)];
    return !var.written && var.name.ends_with("@GRAD");
  });
}

void Plan::infer_step(Step& step) {
  if (step.def->infer == nullptr) return;
  Meta none;
  std::vector<Meta*> in, out;
  for (const int v : step.in) {
    in.push_back(v < 0 ? &none : &vars_[static_cast<size_t>(v)].meta);
    if (v >= 0 && (vars_[static_cast<size_t>(v)].never_given ||
                   (in.back()->kind != VarKind::selected_rows && !in.back()->shape.known())))
      throw Error(Error::Kind::config, "the variable '", vars_[static_cast<size_t>(v)].name,
                  "' is read before anything writes it: feed it, or add the op that computes it")
          .within("planning ", op_with_origin(step.op));
  }
  // Outputs are inferred into copies: an op may read and write the same variable.
  std::vector<Meta> results;
  results.reserve(step.out.size());
  for (const int v : step.out) {
    results.push_back(v < 0 ? Meta{} : vars_[static_cast<size_t>(v)].declared);
    results.back().lod = nullptr;
  }
  for (Meta& m : results) out.push_back(&m);
  Infer infer(step.op, in, out, &lods_);
  try {
    // Once will do for gradients that this plan computes: their shapes follow those of the rest.
    if (step.check_gradients) {
      check_gradients(infer);
      step.check_gradients = takes_foreign_gradient(step);
    }
    step.def->infer(infer);
    for (Meta& m : results) m.value = nullptr;
    if (step.early) run_early(step, in, results);
    for (size_t k = 0; k < step.out.size(); ++k) {
      if (step.out[k] < 0) continue;
      const PlanVar& old = vars_[static_cast<size_t>(step.out[k])];
      require(results[k].shape.known(), Error::Kind::config, "the shape ", results[k].shape,
              " of '", old.name, "' is not known");
      if (old.filled && !same_meta(old.meta, results[k])) split_var(step, k, results[k]);
      PlanVar& v = vars_[static_cast<size_t>(step.out[k])];
      v.meta = results[k];
      v.filled = true;
    }
  } catch (Error& e) {
    throw e.within("planning ", op_with_origin(step.op));
  }
}

// Kernels read shapes from views, and a variable has one view for the whole plan. Where `step`
// writes it with another shape than it has there, this and all later steps get a variable of their
// own; with one for both, kernels would read and write outside of its memory.
void Plan::split_var(Step& step, size_t out, const Meta& result) {
  const int old = step.out[out], now = static_cast<int>(vars_.size());
  const PlanVar& v = vars_[static_cast<size_t>(old)];
  require(v.home != Home::scope, Error::Kind::config, "the variable '", v.name, "' is ",
          name_of(v.meta.dtype), " ", v.meta.shape, " and would become ", name_of(result.dtype),
          " ", result.shape, " within one run",
          v.meta.shape == result.shape && v.meta.dtype == result.dtype ? " with another LoD" : "",
          ": a variable whose value is kept has one shape; give one of the results another name");
  vars_.push_back({.name = v.name, .declared = v.declared, .written = true});
  step.out[out] = now;
  const auto first = static_cast<size_t>(&step - steps_.data()) + 1;
  for (size_t s = first; s < steps_.size(); ++s) {
    std::replace(steps_[s].in.begin(), steps_[s].in.end(), old, now);
    std::replace(steps_[s].out.begin(), steps_[s].out.end(), old, now);
  }
  std::replace(fetches_.begin(), fetches_.end(), old, now);
  bound_ = false;  // kernels point at views, which have moved
}

// For each variable the last step that needs its memory.
std::vector<int> Plan::last_uses() const {
  std::vector<int> last(vars_.size(), -1);
  const int end = static_cast<int>(steps_.size());
  for (const int f : fetches_) last[static_cast<size_t>(f)] = end;
  for (int s = end - 1; s >= 0; --s) {
    const Step& step = steps_[static_cast<size_t>(s)];
    for (const int v : step.out)
      if (v >= 0) last[static_cast<size_t>(v)] = std::max(last[static_cast<size_t>(v)], s);
    size_t at = 0;
    for (const auto& [slot, names] : step.op.in) {
      const bool shape_only =
          std::count(step.def->shape_only.begin(), step.def->shape_only.end(), slot) > 0;
      for (size_t k = 0; k < names.size(); ++k, ++at) {
        const int v = step.in[at];
        if (v < 0 || shape_only) continue;
        int& l = last[static_cast<size_t>(v)];
        l = std::max(l, s);
        for (const auto& [from, to] : step.def->borrows) {
          if (from != slot) continue;
          const int o = flat_index(step.op.out, to, static_cast<int>(k));
          if (o >= 0 && step.out[static_cast<size_t>(o)] >= 0)
            l = std::max(l, last[static_cast<size_t>(step.out[static_cast<size_t>(o)])]);
        }
      }
    }
  }
  return last;
}

void Plan::place_temporaries() {
  const auto round = [](size_t n) {
    return (n + Tensor::alignment - 1) / Tensor::alignment * Tensor::alignment;
  };
  const auto bytes_of = [&](const PlanVar& v) { return round(bytes_needed(v.meta)); };
  const std::vector<int> last = last_uses();
  std::vector<Buffer> buffers;
  std::vector<int> buffer_of(vars_.size(), -1), rows_of(vars_.size(), -1);
  for (int s = 0; s < static_cast<int>(steps_.size()); ++s) {
    const Step& step = steps_[static_cast<size_t>(s)];
    for (const int o : step.out) {
      if (o < 0) continue;
      const auto u = static_cast<size_t>(o);
      PlanVar& v = vars_[u];
      if (v.home != Home::temp || buffer_of[u] >= 0) continue;
      // Take over the memory of an input that is not needed after this op, where the op allows it.
      for (const auto& [from, to] : step.def->inplace) {
        const int i = flat_index(step.op.in, from, 0), k = flat_index(step.op.out, to, 0);
        if (i < 0 || k < 0 || step.out[static_cast<size_t>(k)] != o) continue;
        const int d = step.in[static_cast<size_t>(i)];
        if (d < 0) continue;
        const auto du = static_cast<size_t>(d);
        if (vars_[du].home == Home::temp && last[du] == s && buffer_of[du] >= 0 &&
            buffers[static_cast<size_t>(buffer_of[du])].last == s &&
            bytes_of(vars_[du]) == bytes_of(v)) {
          buffer_of[u] = buffer_of[du];
          buffers[static_cast<size_t>(buffer_of[u])].last = std::max(s, last[u]);
          break;
        }
      }
      if (buffer_of[u] < 0) {
        buffer_of[u] = static_cast<int>(buffers.size());
        buffers.push_back({.bytes = bytes_of(v), .first = s, .last = std::max(s, last[u])});
      }
      if (v.meta.kind == VarKind::selected_rows) {
        rows_of[u] = static_cast<int>(buffers.size());
        buffers.push_back({.bytes = round(static_cast<size_t>(v.meta.shape[0]) * sizeof(int64_t)),
                           .first = s,
                           .last = std::max(s, last[u])});
      }
    }
  }
  // Largest first, each at the lowest place that is free for its whole life.
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  size_t total = 0;
  std::vector<Buffer> placed;  // by offset
  for (const size_t k : order) {
    Buffer& b = buffers[k];
    for (const Buffer& p : placed) {
      if (p.first > b.last || b.first > p.last) continue;
      if (b.offset + b.bytes <= p.offset) break;
      b.offset = std::max(b.offset, p.offset + p.bytes);
    }
    total = std::max(total, b.offset + b.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), b,
                         [](const Buffer& x, const Buffer& y) { return x.offset < y.offset; }),
        b);
  }
  if (arena_.empty() || arena_.bytes() < total) {
    if (options_.before_memory) options_.before_memory(total - arena_bytes());
    arena_ = Tensor(DType::u8, {static_cast<int64_t>(total)});
  }
  for (size_t u = 0; u < vars_.size(); ++u) {
    if (vars_[u].home != Home::temp) continue;
    auto* base = arena_.data<uint8_t>();
    vars_[u].view.data =
        buffer_of[u] < 0 ? nullptr : base + buffers[static_cast<size_t>(buffer_of[u])].offset;
    vars_[u].view.row_buffer =
        rows_of[u] < 0
            ? nullptr
            : reinterpret_cast<int64_t*>(base + buffers[static_cast<size_t>(rows_of[u])].offset);
  }
}

void Plan::set_views() {
  for (PlanVar& v : vars_) {
    if (v.home == Home::scope) {
      Tensor& t = v.variable->tensor;
      if (t.empty() || t.shape() != v.meta.shape || t.dtype() != v.meta.dtype) {
        const size_t need = bytes_needed(v.meta), have = t.empty() ? 0 : t.bytes();
        if (options_.before_memory && need > have) options_.before_memory(need - have);
        t.resize(v.meta.dtype, v.meta.shape);
      }
      v.view.data = t.raw();
    }
    v.view.dtype = v.meta.dtype;
    v.view.shape = v.meta.shape;
    v.view.height = v.meta.height;
    v.view.is_rows = v.meta.kind == VarKind::selected_rows;
    v.view.rows = nullptr;
    v.view.lod = v.meta.lod;
    v.lod_cell = nullptr;
    for (const Lod*& cell : feed_lods_)
      if (cell != nullptr && cell == v.meta.lod) v.lod_cell = &cell;
  }
  if (options_.gpu) place_on_device();
}

Kernel Plan::bind(const OpDef& def, const Step& step, std::span<Meta* const> in,
                  std::span<const Meta> out) const {
  std::vector<DType> in_types, out_types;
  std::vector<bool> rows;
  for (const Meta* m : in) {
    in_types.push_back(m->dtype);
    rows.push_back(m->kind == VarKind::selected_rows);
  }
  for (const Meta& m : out) out_types.push_back(m.dtype);
  return def.bind(Bind(step.op, std::move(in_types), std::move(out_types), std::move(rows), seed_));
}

void Plan::bind_kernels() {
  for (Step& s : steps_) {
    Meta none;
    std::vector<Meta*> in;
    std::vector<Meta> out;
    const OpDef* device = device_op(s);
    s.on_device = device != nullptr;
    if (options_.gpu) s.reads = reads_of(s);
    for (const int v : s.reads)
      if (s.on_device) vars_[static_cast<size_t>(v)].read_on_device = true;
    if (options_.gpu && (s.op.type == "push" || s.op.type == "pull"))
      for (const int v : s.reads)
        if (vars_[static_cast<size_t>(v)].home == Home::scope) exchanged_.push_back(v);
    const auto view_of = [&](int v) {
      if (v < 0) return &nothing_;
      PlanVar& var = vars_[static_cast<size_t>(v)];
      return s.on_device ? &var.device_view : &var.view;
    };
    s.args.clear();
    for (const int v : s.in) {
      in.push_back(v < 0 ? &none : &vars_[static_cast<size_t>(v)].meta);
      s.args.push_back(view_of(v));
    }
    for (const int v : s.out) {
      out.push_back(v < 0 ? none : vars_[static_cast<size_t>(v)].meta);
      s.args.push_back(view_of(v));
    }
    try {
      s.kernel = bind(device ? *device : *s.def, s, in, out);
    } catch (Error& e) {
      throw e.within("planning ", op_with_origin(s.op));
    }
  }
  if (options_.gpu) options_.gpu->report_on_cpu(types_on_cpu());
  bound_ = true;
}

}  // namespace paddle
