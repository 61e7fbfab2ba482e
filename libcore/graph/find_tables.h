// Which parameters of a program are sparse tables: rows that are kept by id, by pservers or by the
// process itself, and never as one array.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/program.h"

namespace paddle {

// First values that are a function of the row: TableSpec has the same fields.
struct FirstRows {
  std::string init = "constant";
  float a = 0, b = 0;
  uint64_t seed = 0;
};
// Those that an op of a startup program makes; nothing where it makes them in one piece.
std::optional<FirstRows> first_rows_of(const Op& op, uint32_t program_seed);
// The same for a variable of a startup program, by the one op that makes it.
std::optional<FirstRows> first_rows_of(const Program& startup, const std::string& var);

// Variables by the slot of an op.
using SlotVars = std::map<std::string, std::string>;

struct FoundTable {
  TableSpec spec;               // spec.grad is "" where nothing updates the table
  std::set<const Op*> lookups;  // and their gradients
  std::set<const Op*> update;   // what the table does itself from its gradient on
  Names own;                    // variables that only `update` uses, but for the learning rate
  SlotVars inputs = {};         // of the optimizer op: states, powers
  bool is_distributed = false;  // else is_sparse alone
  std::string note = {};        // not "": a sentence on what the table does otherwise
};

struct TableSearch {
  // Parameters with is_sparse alone are tables too, where a table does exactly what the optimizer
  // op does to selected rows.
  bool sparse_too = false;
  // The first values of a variable, where they are known.
  std::function<std::optional<FirstRows>(const std::string& var)> first_rows = {};
};

// A parameter with is_distributed that only lookups read is a table. Its update may be an optimizer
// op and the L2 decay before it; they touch only the rows that a batch names, and `note` says so
// where the op would touch all. Throws Error(config) for one that cannot be a table.
std::vector<FoundTable> find_tables(const Program& program, const Block& block,
                                    const TableSearch& search);

struct TakenTables {
  // Variables that only the updates of tables with is_distributed had; those of others stay in the
  // startup program, where their first values come from.
  std::set<std::string> states;
  std::vector<SlotVars> inputs;  // FoundTable::inputs, in the order of Program::tables
  std::vector<std::string> notes;
};
// Moves the tables of a program that trains into Program::tables: gradients of their lookups become
// sparse, their updates and the states of these are gone.
TakenTables take_tables(Program& main, const Program& startup);

// Sets Var::table of the parameters that lookups with is_distributed read and that `is_kept` knows:
// a program that was read from a file does not say it in its variables.
void mark_tables(Program& program, const std::function<bool(const std::string& param)>& is_kept);

// The sparse tables that the variables of a program name.
Names table_names(const Program& program);
// The file of a table beside those of variables.
inline std::string table_file_name(const std::string& param) { return param + ".table"; }
// Where Fluid keeps the streams of tables in a model: TABLE_0 and so on.
inline constexpr auto fluid_tables_name = "__lookup_table__";

// Whether an op of the program looks up rows of a parameter.
bool looks_up(const Program& program, const std::string& param);
bool is_lookup(const Op& op);       // lookup_table, lookup_table_v2
bool is_lookup_grad(const Op& op);  // their gradients

}  // namespace paddle
