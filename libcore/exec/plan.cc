#include "exec/plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/interrupt.h"
#include "base/random.h"
#include "base/suggest.h"
#include "exec/fuse.h"
#include "exec/gpu.h"
#include "exec/lower_remote.h"
#include "exec/lower_tables.h"
#include "exec/table_store.h"

namespace paddle {
namespace {

// Ops that nothing reads and that write nothing lasting are left out.
std::vector<Op> needed_ops(std::vector<Op> ops, const Block& block, const Scope& scope,
                           const Names& fetches) {
  std::unordered_map<std::string, bool> needed;
  for (const std::string& f : fetches) needed[f] = true;
  std::vector<Op> kept;
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    const Names outs = it->out.all();
    const OpDef* def = find_op_def(it->type);
    const bool wanted = outs.empty() || (def && def->has_effect) ||
                        std::any_of(outs.begin(), outs.end(), [&](const std::string& n) {
                          const Var* v = block.find(n);
                          return needed[n] || (v && v->persistable) || scope.find(n);
                        });
    if (!wanted) continue;
    for (const std::string& n : it->in.all()) needed[n] = true;
    kept.push_back(std::move(*it));
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

bool has_sizes(const Lod& lod, const std::vector<size_t>& sizes) {
  return std::equal(lod.begin(), lod.end(), sizes.begin(), sizes.end(),
                    [](const auto& level, size_t size) { return level.size() == size; });
}

// The tensor that selected rows stand for; rows that repeat add up.
Tensor dense_rows(const View& v) {
  Shape shape = v.shape;
  shape[0] = v.height;
  Tensor t(v.dtype, shape);
  t.zero();
  const int64_t width = v.shape.product(1, v.shape.rank());
  with_float(v.dtype, [&](auto z) {
    using T = decltype(z);
    for (int64_t i = 0; i < v.shape[0]; ++i)
      for (int64_t k = 0; k < width; ++k)
        t.data<T>()[v.rows[i] * width + k] += v.as<T>()[i * width + k];
  });
  return t;
}

}  // namespace

Plan::Plan(const Program& program, int32_t block, Scope& scope, const Names& feeds,
           const Names& fetches, const Device& device, const PlanOptions& options)
    : scope_(scope),
      device_(device),
      options_(options),
      seed_(program.random_seed),
      device_scratch_(options.gpu ? options.gpu->device() : nullptr) {
  const Block& b = program.block(block);
  for (const std::string& f : feeds) {
    const int v = var_index(b, f);
    vars_[static_cast<size_t>(v)].home = Home::feed;
    std::erase(scope_vars_, v);  // also where it is persistable: what is fed needs no value there
    feeds_.push_back(v);
  }
  feed_lods_.assign(feeds.size(), nullptr);
  feed_lod_sizes_.resize(feeds.size());
  feed_values_.resize(feeds.size());
  fed_.assign(feeds.size(), false);
  add_ops(program, b, feeds, fetches, options.fuse);
  for (const std::string& f : fetches) {
    try {
      fetches_.push_back(var_index(b, f));
    } catch (Error& e) {
      throw e.within("looking for '", f, "', which is to be fetched");
    }
  }
}

Plan::~Plan() {
  try {
    if (options_.gpu) drop_pushes();
  } catch (const Error&) {  // the device has failed, and copies no more
  }
}

void Plan::add_ops(const Program& program, const Block& block, const Names& feeds,
                   const Names& fetches, bool fuse) {
  const PlanTables tables = tables_of(program, block, scope_, fetches, options_.remote);
  std::vector<Op> ops;
  for (const auto& op : block.ops())
    if (op->type != "feed" && op->type != "fetch" && !tables.gone.count(op.get())) {
      ops.push_back(*op);
      add_default_attrs(ops.back());
      if (tables.lookups.count(op.get())) ops.back().attrs.set("is_sparse", true);
    }
  const std::vector<ExchangedParam> exchanged = take_remote_ops(ops, program, block);
  // Gradients are computed whoever else reads them, and have memory of their own where they are
  // read after their push; from a GPU they are copied while the step goes on.
  Names wanted = tables.wanted();
  wanted.insert(wanted.end(), fetches.begin(), fetches.end());
  const Remote* remote = options_.remote;
  for (size_t i = 0; i < exchanged.size(); ++i) {
    const bool free_at_once =
        remote != nullptr && !options_.gpu &&
        remote->read_until(static_cast<int32_t>(i)) == Remote::ReadUntil::pushed;
    if (!free_at_once) pushed_.insert(exchanged[i].grad);
    wanted.push_back(exchanged[i].grad);
  }
  ops = needed_ops(std::move(ops), block, scope_, wanted);
  if (fuse) ops = fuse_ops(std::move(ops), block, scope_, feeds, wanted);
  place_remote_ops(ops, exchanged, remote);
  own_vars_ = place_table_ops(ops, tables);
  keep_tables(tables);
  for (Op& op : ops) {
    Step s;
    s.def = &op_def(op.type);
    require(s.def->bind != nullptr, Error::Kind::config, "op ", op.type,
            " cannot be run in one process: ", op_text(op));
    for (const std::string& n : op.in.all())
      s.in.push_back(n == empty_name ? -1 : var_index(block, n));
    for (const std::string& n : op.out.all())
      s.out.push_back(n == empty_name ? -1 : var_index(block, n));
    s.seed =
        mix64(seed_ ^ hash_text(op.type)) ^ hash_text(op.out.all().empty() ? "" : op.out.all()[0]);
    s.op = std::move(op);
    steps_.push_back(std::move(s));
  }
  // A variable of the scope that is written before it is read needs no value beforehand; a
  // temporary that is not has no memory.
  std::vector<bool> seen(vars_.size(), false);
  for (const Step& s : steps_) {
    size_t at = 0;
    for (const auto& [slot, names] : s.op.in) {
      const auto& shapes = s.def->shape_only;
      const bool read = std::count(shapes.begin(), shapes.end(), slot) == 0;
      for (size_t k = 0; k < names.size(); ++k, ++at) {
        if (s.in[at] < 0) continue;
        PlanVar& v = vars_[static_cast<size_t>(s.in[at])];
        if (read && !v.written && v.home == Home::temp) v.never_given = true;
        seen[static_cast<size_t>(s.in[at])] = true;
      }
    }
    for (const int v : s.out) {
      if (v >= 0) vars_[static_cast<size_t>(v)].written = true;
      if (v < 0 || seen[static_cast<size_t>(v)]) continue;
      seen[static_cast<size_t>(v)] = true;
      vars_[static_cast<size_t>(v)].written_first = true;
    }
  }
  find_early_steps();
}

void Plan::keep_tables(const PlanTables& tables) {
  for (const auto& [var, op] : tables.started) {
    const auto first = first_rows_of(*op, seed_);
    require(first.has_value(), Error::Kind::config, "the first values of the table '", var->table,
            "' are made in one piece: give it an initializer that is constant, uniform, normal or "
            "truncated normal (",
            op_text(*op), ")");
    started_.emplace_back(*var, *first);
  }
  if (!tables.local || tables.tables.empty()) return;
  require(options_.remote == nullptr, Error::Kind::config,
          "the program looks up rows of the table '", tables.tables[0].spec.param,
          "', and does not say which of the pservers' tables that is: cut the program that trains, "
          "or set is_distributed: false in the embedding");
  tables_ = std::make_unique<LocalTables>(scope_.part<TableStore>(), tables.tables);
}

const Var* Plan::declared_var(const Block& block, const std::string& name) const {
  for (const Var& v : own_vars_)
    if (v.name == name) return &v;
  return block.find(name);
}

int Plan::var_index(const Block& block, const std::string& name) {
  const auto it = index_.find(name);
  if (it != index_.end()) return it->second;
  PlanVar v;
  v.name = name;
  const Var* declared = declared_var(block, name);
  const bool held = scope_.find(name) != nullptr;
  if (!declared && !held) block.var(name);  // throws, with a suggestion
  if (declared) {
    v.declared = {.kind = declared->kind,
                  .dtype = declared->dtype,
                  .shape = declared->shape,
                  .lod_level = declared->lod_level};
    if (v.declared.kind == VarKind::selected_rows && v.declared.shape.rank() > 0)
      v.declared.height = v.declared.shape[0];
  }
  const int index = static_cast<int>(vars_.size());
  if (held || (declared && declared->persistable) || pushed_.count(name)) {
    v.home = Home::scope;
    v.variable = &scope_.var(name);
    scope_vars_.push_back(index);
  }
  vars_.push_back(std::move(v));
  index_[name] = index;
  return index;
}

void Plan::feed(size_t i, const Tensor& tensor) {
  PlanVar& v = vars_[static_cast<size_t>(feeds_[i])];
  const auto refuse = [&](const auto&... why) {
    throw Error(Error::Kind::config, "cannot feed '", v.name, "': ", why...);
  };
  if (tensor.dtype() != v.declared.dtype)
    refuse("it is declared as ", name_of(v.declared.dtype), ", found ", name_of(tensor.dtype()));
  if (tensor.shape() != v.view.shape || !fed_[i]) {
    if (!v.declared.shape.compatible(tensor.shape()))
      refuse("its declared shape is ", v.declared.shape, ", found ", tensor.shape());
    v.view.shape = tensor.shape();
    laid_out_ = false;
  }
  v.view.data = tensor.raw();
  v.view.dtype = tensor.dtype();
  fed_[i] = true;
  if (v.declared.lod_level > 0 || !tensor.lod().empty()) {
    if (v.declared.lod_level > 0 && tensor.lod().empty())
      refuse("it is a sequence (lod_level ", v.declared.lod_level, "), and the tensor has no LoD");
    check_lod(tensor.lod(), tensor.shape().rank() > 0 ? tensor.shape()[0] : 0);
    if (lod_changed(i, tensor.lod())) laid_out_ = false;
    feed_lods_[i] = &tensor.lod();
  } else {
    if (feed_lods_[i] != nullptr) laid_out_ = false;
    feed_lods_[i] = nullptr;
  }
}

// Most shape rules ask only how many sequences there are; some read the offsets themselves.
bool Plan::lod_changed(size_t feed, const Lod& lod) const {
  if (lods_.empty()) return !has_sizes(lod, feed_lod_sizes_[feed]);
  return lod != feed_values_[feed];
}

bool Plan::scope_moved() const {
  for (const int i : scope_vars_) {
    const PlanVar& v = vars_[static_cast<size_t>(i)];
    if (v.variable->tensor.raw() != v.view.data || v.variable->tensor.shape() != v.view.shape)
      return true;
  }
  return false;
}

void Plan::run(uint64_t step) {
  for (const auto& [var, first] : started_) scope_.part<TableStore>().start(var, first);
  if (options_.gpu) bring_roots();
  if (!laid_out_ || scope_moved() || root_values_changed()) layout();
  for (PlanVar& v : vars_)
    if (v.lod_cell != nullptr) v.device_view.lod = v.view.lod = *v.lod_cell;
  if (options_.gpu)
    run_all_on_gpu(step);
  else
    run_steps(step);
}

void Plan::run_steps(uint64_t step) {
  if (options_.gpu && !options_.profile) return run_gpu_steps(step);
  if (!options_.profile) {
    for (const Step& s : steps_) run_step(s, step);
    return;
  }
  for (Step& s : steps_) {
    const auto start = std::chrono::steady_clock::now();
    run_step(s, step);
    if (options_.gpu) send_pushes(step, options_.remote, true);
    if (s.on_device) {
      const auto alone = options_.gpu->device()->lock();
      options_.gpu->device()->wait();
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    s.least = s.calls == 0 ? took : std::min(s.least, took);
    s.most = std::max(s.most, took);
    s.seconds += took;
    ++s.calls;
  }
}

void Plan::run_step(const Step& s, uint64_t number) {
  check_interrupt();
  Remote* remote = tables_ ? tables_.get() : options_.remote;
  try {
    if (options_.gpu)
      run_with_gpu(s, number, remote);
    else
      s.kernel(Run(s.args.data(), device_, scratch_, s.seed, number, remote));
  } catch (Error& e) {
    add_failed_op(e, &s);
    throw e.within("running ", op_with_origin(s.op));
  }
  // Of the rows of a pull, those behind the last id have any content.
  if (!options_.check_nan_inf || s.op.type == "pull_rows") return;
  for (const int v : s.out)
    if (options_.gpu && v >= 0) to_host(v);
  check_finite(s);
}

std::vector<OpCost> Plan::profile() const {
  std::vector<OpCost> out;
  for (const Step& s : steps_) out.push_back({op_text(s.op), s.seconds, s.calls, s.least, s.most});
  return out;
}

Tensor Plan::fetch(size_t i) const {
  const View& v = fetched(i);
  if (v.is_rows) return dense_rows(v);
  Tensor t = Tensor::borrow(v.data, v.dtype, v.shape).clone();
  if (v.lod != nullptr) t.set_lod(*v.lod);
  return t;
}

void Plan::check_finite(const Step& step) const {
  for (const int i : step.out) {
    if (i < 0) continue;
    const View& v = vars_[static_cast<size_t>(i)].view;
    if (v.data == nullptr || (v.dtype != DType::f32 && v.dtype != DType::f64)) continue;
    with_float(v.dtype, [&](auto t) {
      const auto* p = v.as<const decltype(t)>();
      for (int64_t k = 0, n = v.numel(); k < n; ++k) {
        if (std::isfinite(p[k])) continue;
        throw Error(Error::Kind::numeric, "element ", k, " of '",
                    vars_[static_cast<size_t>(i)].name, "' ", v.shape, " is ", p[k], " after op ",
                    step.op.type,
                    ": lower the learning rate, clip gradients or look at the data of this batch")
            .within("running ", op_with_origin(step.op));
      }
    });
  }
}

std::string Plan::text() const {
  std::string out;
  for (const Step& s : steps_) out += op_text(s.op) + "\n";
  return out + paddle::text("arena: ", arena_bytes(), " bytes\n");
}

}  // namespace paddle
