// Programs: blocks of variables and ops. A program is built once, differentiated, cut, and compiled
// into plans.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/op.h"
#include "graph/table_spec.h"
#include "graph/var.h"

namespace paddle {

class Program;

class Block {
 public:
  Block(Program& program, int32_t idx, int32_t parent)
      : program_(&program), idx_(idx), parent_(parent) {}

  int32_t idx() const { return idx_; }
  int32_t parent_idx() const { return parent_; }
  int32_t forward_block_idx = -1;
  std::string foreign;  // fields of the saved record that we only carry along
  Program& program() const { return *program_; }

  // This block's own variable, or null.
  Var* find_local(std::string_view name) const;
  // This block's or an ancestor's variable, or null.
  Var* find(std::string_view name) const;
  // The same; throws Error(config) with a suggestion where there is none.
  Var& var(std::string_view name) const;
  // Adds a variable; a second one of the same name replaces nothing and is returned as it stands.
  Var& create(Var v);
  void remove_var(std::string_view name);
  void rename_var(std::string_view from,
                  std::string_view to);  // in variables and ops of this block
  // Many at a time, in one pass over the block.
  void remove_vars(const std::set<std::string>& names);
  void rename_vars(const std::map<std::string, std::string>& renamed);
  const std::vector<std::unique_ptr<Var>>& vars() const { return vars_; }

  // Adds an op after checking it against its definition (known type, slots, attribute types;
  // defaults are filled in) and infers the shapes of its outputs, which are created where they do
  // not exist.
  Op& append(Op op);
  Op& insert(size_t index, Op op);
  void remove_op(size_t index);
  void remove_ops(const std::function<bool(const Op&)>& unwanted);
  // Many at a time: each op stands in front of the one whose index comes with it, in the order
  // given where several have the same. They are checked, in this order, as append() does.
  void insert_all(std::vector<std::pair<size_t, Op>> ops);
  // Adds an op as it stands: for loaded programs, whose ops may be unknown until they are run.
  Op& adopt(Op op);
  const std::vector<std::unique_ptr<Op>>& ops() const { return ops_; }

 private:
  friend class Program;
  Op& place(size_t index, Op op, bool check);
  void complete(Op& op);

  Program* program_;
  int32_t idx_, parent_;
  std::vector<std::unique_ptr<Var>> vars_;  // in order of creation
  std::unordered_map<std::string_view, Var*> by_name_;
  std::vector<std::unique_ptr<Op>> ops_;
};

// A parameter that pservers keep, and the variable with its gradient that they are sent.
struct ExchangedParam {
  std::string param, grad;
};

class Program {
 public:
  Program();
  Program(const Program& other);
  Program& operator=(const Program& other);
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;

  uint32_t random_seed = 0;
  int64_t version = 0;
  int version_field = 4;  // where a saved model had it: 0 (absent), 2 or 4
  std::string foreign;    // fields of the saved model that we only carry along
  // Of the trainer half of a cut: what its send and recv ops move, by the index that they carry.
  std::vector<ExchangedParam> exchanged;
  // Sparse tables, whose rows are pulled and pushed by id (Remote::pull_rows).
  std::vector<TableSpec> tables;

  Block& global() const { return *blocks_[0]; }
  Block& block(int32_t idx) const;
  Block& append_block(int32_t parent);
  size_t num_blocks() const { return blocks_.size(); }

  // Roles of the ops that are appended next (set through OpRoleGuard).
  int32_t current_role = role::forward;
  Names current_role_var;
  std::string name_scope = "/";
  std::string current_origin = {};  // Op::origin of those that have none

  // A copy; for_test sets is_test on every op that has it. Backward and optimizer ops stay: clone
  // before minimize.
  Program clone(bool for_test) const;
  // A copy with only the ops that `targets` need; variables that no op uses are dropped, the rest
  // sorted by name.
  Program pruned(const Names& targets) const;
  std::vector<Var*> parameters() const;

  // Counts changes, so that compiled plans know when they are stale; never equal for two programs
  // in one process.
  uint64_t revision() const { return revision_; }
  void touch();

 private:
  void adopt_blocks();

  std::vector<std::unique_ptr<Block>> blocks_;
  uint64_t revision_ = 0;
};

// While it lives, ops get this role (and these [param, grad] names).
class OpRoleGuard {
 public:
  OpRoleGuard(Program& program, int32_t role, Names role_var = {});
  ~OpRoleGuard();
  OpRoleGuard(const OpRoleGuard&) = delete;
  OpRoleGuard& operator=(const OpRoleGuard&) = delete;

 private:
  Program& program_;
  int32_t role_;
  Names role_var_;
};

// Names that no one else has: "fc_0", "fc_1", … One counter per key.
class NameMaker {
 public:
  std::string next(std::string_view key);
  std::string prefix;

 private:
  std::map<std::string, int, std::less<>> counters_;
};

}  // namespace paddle
