#include "graph/program.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "base/suggest.h"
#include "graph/op_def.h"

namespace paddle {
namespace {
// Revisions are drawn from one counter, so that a plan cached for one program is never taken for
// another's.
std::atomic<uint64_t> last_revision{0};
}  // namespace

Var* Block::find_local(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

Var* Block::find(std::string_view name) const {
  for (const Block* b = this;; b = &program_->block(b->parent_)) {
    if (Var* v = b->find_local(name)) return v;
    if (b->parent_ < 0) return nullptr;
  }
}

Var& Block::var(std::string_view name) const {
  if (Var* v = find(name)) return *v;
  std::vector<std::string> known;
  for (const auto& v : vars_) known.push_back(v->name);
  throw Error(Error::Kind::config, "there is no variable '", name, "' in the program",
              did_you_mean(name, known));
}

Var& Block::create(Var v) {
  if (Var* old = find_local(v.name)) return *old;
  vars_.push_back(std::make_unique<Var>(std::move(v)));
  by_name_[vars_.back()->name] = vars_.back().get();
  program_->touch();
  return *vars_.back();
}

void Block::remove_var(std::string_view name) {
  by_name_.erase(name);
  std::erase_if(vars_, [&](const auto& v) { return v->name == name; });
  program_->touch();
}

void Block::rename_var(std::string_view from, std::string_view to) {
  Var* v = find_local(from);
  require(v != nullptr, Error::Kind::config, "cannot rename '", from,
          "': there is no such variable");
  require(find_local(to) == nullptr, Error::Kind::config, "cannot rename '", from, "' to '", to,
          "': that name is taken");
  const std::string old(from);
  by_name_.erase(v->name);
  v->name = to;
  by_name_[v->name] = v;
  for (const auto& op : ops_) {
    op->in.rename(old, to);
    op->out.rename(old, to);
  }
  program_->touch();
}

void Block::remove_vars(const std::set<std::string>& names) {
  for (const std::string& name : names) by_name_.erase(name);
  std::erase_if(vars_, [&](const auto& v) { return names.count(v->name) > 0; });
  program_->touch();
}

void Block::rename_vars(const std::map<std::string, std::string>& renamed) {
  if (renamed.empty()) return;
  for (const auto& [from, to] : renamed) {
    Var* v = find_local(from);
    require(v != nullptr && find_local(to) == nullptr, Error::Kind::config, "cannot rename '", from,
            "' to '", to, v ? "': that name is taken" : "': there is no such variable");
    by_name_.erase(v->name);
    v->name = to;
    by_name_[v->name] = v;
  }
  const auto rename = [&](Slots& slots) {
    for (const std::string& name : slots.all())
      if (const auto it = renamed.find(name); it != renamed.end()) slots.rename(name, it->second);
  };
  for (const auto& op : ops_) {
    rename(op->in);
    rename(op->out);
  }
  program_->touch();
}

Op& Block::append(Op op) { return place(ops_.size(), std::move(op), true); }
Op& Block::insert(size_t index, Op op) { return place(index, std::move(op), true); }
Op& Block::adopt(Op op) { return place(ops_.size(), std::move(op), false); }

void Block::complete(Op& op) {
  if (!op.attrs.has(role::attr)) op.attrs.set(role::attr, program_->current_role);
  if (!op.attrs.has(role::var_attr)) op.attrs.set(role::var_attr, program_->current_role_var);
  if (!op.attrs.has(role::scope_attr)) op.attrs.set(role::scope_attr, program_->name_scope);
  if (op.origin.empty()) op.origin = program_->current_origin;
  conform(op);
  for (const std::string& name : op.out.all())
    if (name != empty_name && find(name) == nullptr) create(Var{.name = name});
  infer_op(op, *this);
}

Op& Block::place(size_t index, Op op, bool check) {
  if (check) complete(op);
  const auto at = ops_.insert(ops_.begin() + static_cast<ptrdiff_t>(index),
                              std::make_unique<Op>(std::move(op)));
  program_->touch();
  return **at;
}

void Block::insert_all(std::vector<std::pair<size_t, Op>> ops) {
  for (auto& [index, op] : ops) complete(op);
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::unique_ptr<Op>> merged;
  merged.reserve(ops_.size() + ops.size());
  auto next = ops.begin();
  for (size_t i = 0; i <= ops_.size(); ++i) {
    for (; next != ops.end() && next->first <= i; ++next)
      merged.push_back(std::make_unique<Op>(std::move(next->second)));
    if (i < ops_.size()) merged.push_back(std::move(ops_[i]));
  }
  ops_ = std::move(merged);
  program_->touch();
}

void Block::remove_ops(const std::function<bool(const Op&)>& unwanted) {
  std::erase_if(ops_, [&](const auto& op) { return unwanted(*op); });
  program_->touch();
}

void Block::remove_op(size_t index) {
  ops_.erase(ops_.begin() + static_cast<ptrdiff_t>(index));
  program_->touch();
}

Program::Program() {
  blocks_.push_back(std::make_unique<Block>(*this, 0, -1));
  touch();
}

Program::Program(const Program& other)
    : random_seed(other.random_seed),
      version(other.version),
      version_field(other.version_field),
      foreign(other.foreign),
      exchanged(other.exchanged),
      tables(other.tables),
      current_role(other.current_role),
      current_role_var(other.current_role_var),
      name_scope(other.name_scope),
      current_origin(other.current_origin) {
  for (const auto& from : other.blocks_) {
    blocks_.push_back(std::make_unique<Block>(*this, from->idx_, from->parent_));
    Block& to = *blocks_.back();
    to.forward_block_idx = from->forward_block_idx;
    to.foreign = from->foreign;
    for (const auto& v : from->vars_) to.create(*v);
    for (const auto& op : from->ops_) to.ops_.push_back(std::make_unique<Op>(*op));
  }
  touch();
}

Program::Program(Program&& other) noexcept
    : random_seed(other.random_seed),
      version(other.version),
      version_field(other.version_field),
      foreign(std::move(other.foreign)),
      exchanged(std::move(other.exchanged)),
      tables(std::move(other.tables)),
      current_role(other.current_role),
      current_role_var(std::move(other.current_role_var)),
      name_scope(std::move(other.name_scope)),
      current_origin(std::move(other.current_origin)),
      blocks_(std::move(other.blocks_)),
      revision_(other.revision_) {
  adopt_blocks();
}

Program& Program::operator=(const Program& other) { return *this = Program(other); }

Program& Program::operator=(Program&& other) noexcept {
  random_seed = other.random_seed;
  version = other.version;
  version_field = other.version_field;
  foreign = std::move(other.foreign);
  exchanged = std::move(other.exchanged);
  tables = std::move(other.tables);
  current_role = other.current_role;
  current_role_var = std::move(other.current_role_var);
  name_scope = std::move(other.name_scope);
  current_origin = std::move(other.current_origin);
  blocks_ = std::move(other.blocks_);
  revision_ = other.revision_;
  adopt_blocks();
  return *this;
}

void Program::adopt_blocks() {
  for (const auto& b : blocks_) b->program_ = this;
}

Block& Program::block(int32_t idx) const {
  require(idx >= 0 && static_cast<size_t>(idx) < blocks_.size(), Error::Kind::config,
          "there is no block ", idx, " in a program of ", blocks_.size());
  return *blocks_[static_cast<size_t>(idx)];
}

Block& Program::append_block(int32_t parent) {
  blocks_.push_back(std::make_unique<Block>(*this, static_cast<int32_t>(blocks_.size()), parent));
  touch();
  return *blocks_.back();
}

void Program::touch() { revision_ = ++last_revision; }

Program Program::clone(bool for_test) const {
  Program copy(*this);
  if (!for_test) return copy;
  for (const auto& block : copy.blocks_)
    for (const auto& op : block->ops_) {
      const OpDef* def = find_op_def(op->type);
      if (op->attrs.has("is_test") || (def && def->attrs.has("is_test")))
        op->attrs.set("is_test", true);
    }
  return copy;
}

Program Program::pruned(const Names& targets) const {
  Program copy(*this);
  Block& block = copy.global();
  std::set<std::string> needed(targets.begin(), targets.end());
  for (const std::string& t : targets) block.var(t);  // a clear error for an unknown target
  std::vector<std::unique_ptr<Op>> kept;
  for (auto it = block.ops_.rbegin(); it != block.ops_.rend(); ++it) {
    const Names outs = (*it)->out.all();
    const bool wanted =
        (*it)->is_target || std::any_of(outs.begin(), outs.end(),
                                        [&](const std::string& n) { return needed.count(n) > 0; });
    if (!wanted) continue;
    for (const std::string& n : (*it)->in.all()) needed.insert(n);
    kept.push_back(std::move(*it));
  }
  std::reverse(kept.begin(), kept.end());
  block.ops_ = std::move(kept);

  std::set<std::string> used(targets.begin(), targets.end());
  for (const auto& op : block.ops_) {
    for (const std::string& n : op->in.all()) used.insert(n);
    for (const std::string& n : op->out.all()) used.insert(n);
  }
  std::erase_if(block.vars_, [&](const auto& v) {
    if (used.count(v->name)) return false;
    block.by_name_.erase(v->name);
    return true;
  });
  std::sort(block.vars_.begin(), block.vars_.end(),
            [](const auto& a, const auto& b) { return a->name < b->name; });
  copy.touch();
  return copy;
}

std::vector<Var*> Program::parameters() const {
  std::vector<Var*> out;
  for (const auto& v : global().vars())
    if (v->param) out.push_back(v.get());
  return out;
}

OpRoleGuard::OpRoleGuard(Program& program, int32_t role, Names role_var)
    : program_(program), role_(program.current_role), role_var_(program.current_role_var) {
  program.current_role = role;
  program.current_role_var = std::move(role_var);
}

OpRoleGuard::~OpRoleGuard() {
  program_.current_role = role_;
  program_.current_role_var = std::move(role_var_);
}

std::string NameMaker::next(std::string_view key) {
  auto it = counters_.find(key);
  if (it == counters_.end()) it = counters_.emplace(std::string(key), 0).first;
  return prefix + std::string(key) + "_" + std::to_string(it->second++);
}

}  // namespace paddle
