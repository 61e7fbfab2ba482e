// Sparse tables as a plan runs them. The lookups of a table read a small matrix instead of it: one
// op before the first of them collects the ids of the batch, numbers the distinct ones and pulls
// their rows; the gradients of all lookups come together by these numbers, and one op pushes them.
// All shapes follow from the number of ids, so a plan need not be laid out anew for each batch.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/find_tables.h"
#include "graph/kernel.h"
#include "graph/program.h"
#include "tensor/scope.h"

namespace paddle {

// A table of a plan.
struct PlanTable {
  TableSpec spec;
  bool pushes = false;  // the block computes its gradient
  // Of a table inside this process: {setting, variable} of first values of states.
  std::vector<std::pair<std::string, std::string>> state_firsts = {};
};

struct PlanTables {
  std::vector<PlanTable> tables;  // by the number that pull_rows and push_rows have
  bool local = false;             // kept by this process
  bool rates = false;             // the program computes the rates of their updates
  std::set<const Op*> lookups;    // ops of the block, and their gradients
  std::set<const Op*> gone;       // ops of the block that tables do themselves
  // Of a startup program: variables that tables keep, with the ops that would make them.
  std::vector<std::pair<const Var*, const Op*>> started;

  bool empty() const { return tables.empty() && started.empty(); }
  // Gradients and learning rates, which must be computed.
  Names wanted() const;
};

// Those of Program::tables, or, where there are none, those that the ops name. A table of which the
// scope has a dense value is a parameter like others. `remote` keeps those that this process does
// not, or is null. Throws Error(config) where a table is fetched.
PlanTables tables_of(const Program& program, const Block& block, const Scope& scope,
                     const Names& fetches, const Remote* remote);

// Puts pull_rows and push_rows into the ops of the plan. Returns the variables that they add.
std::vector<Var> place_table_ops(std::vector<Op>& ops, const PlanTables& tables);

}  // namespace paddle
