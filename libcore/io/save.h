// Variables to and from disk in Fluid's own layout: a directory with one file per variable, or one
// file with all of them in order of name. Files appear whole or not at all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "graph/program.h"
#include "io/file_parts.h"
#include "tensor/scope.h"
#include "tensor/tensor.h"

namespace paddle {

// A value to be saved: one of both, or neither where the variable has none yet.
struct ValueRef {
  const Tensor* tensor = nullptr;
  const SelectedRows* rows = nullptr;
};
// A value that was loaded: selected rows where `rows` is set.
struct LoadedValue {
  Tensor tensor;
  std::optional<SelectedRows> rows;
};
using ValueSource = std::function<ValueRef(const std::string& name)>;
using ValueSink = std::function<void(const std::string& name, LoadedValue value)>;
using VarList = std::vector<const Var*>;

// The values of a scope, and those that are loaded into one; the scope outlives both.
ValueSource values_of(const Scope& scope);
ValueSink into(Scope& scope);

// Whether files hold values of its kind: feed and fetch lists, readers and raw ones never are
// saved.
bool can_be_saved(const Var& var);
// The variables of all blocks that are parameters, or that outlive a run and can be saved.
VarList params_of(const Program& program);
VarList persistables_of(const Program& program);

// Throws Error(config) unless `name` names a file that stays inside the directory it is put into.
void check_file_name(const std::string& name);

// `filename` empty: one file per variable, named like it; a '/' makes directories. Otherwise all in
// that one file. Every problem (no value, a name that would leave the directory) is found before
// anything is written.
void save_vars(const std::string& directory, const VarList& vars, const ValueSource& values,
               const std::string& filename = "");
// Called for each file as it is written, with its name and its pieces.
using OnFile = std::function<void(const std::string& name, const FileParts& parts)>;
// The same into a directory that appears when the caller commits it.
void save_vars(AtomicDirectory& directory, const VarList& vars, const ValueSource& values,
               const std::string& filename = "", const OnFile& on_file = {});

// Hands every variable to `sink`, or none: files that are missing, cut short, of another shape,
// element type or kind are reported together in one Error(data).
void load_vars(const std::string& directory, const VarList& vars, const ValueSink& sink,
               const std::string& filename = "");

}  // namespace paddle
