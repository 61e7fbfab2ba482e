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

// Both for anything that is like exec's Scope, which this room must not know.
template <class Scope>
ValueSource values_of(const Scope& scope) {
  return [&scope](const std::string& name) -> ValueRef {
    const auto* v = scope.find(name);
    if (v == nullptr) return {};
    if (v->rows) return {nullptr, v->rows.get()};
    return {v->tensor.empty() ? nullptr : &v->tensor, nullptr};
  };
}
template <class Scope>
ValueSink into(Scope& scope) {
  return [&scope](const std::string& name, LoadedValue value) {
    auto& v = scope.var(name);
    v.rows = value.rows ? std::make_unique<SelectedRows>(std::move(*value.rows)) : nullptr;
    v.tensor = std::move(value.tensor);
  };
}

// The variables of all blocks that are parameters, or that outlive a run (feed and fetch lists,
// readers and raw ones never do).
VarList params_of(const Program& program);
VarList persistables_of(const Program& program);

// Throws Error(config) unless `name` names a file that stays inside the directory it is put into.
void check_file_name(const std::string& name);

// `filename` empty: one file per variable, named like it; a '/' makes directories. Otherwise all in
// that one file. Every problem (no value, a name that would leave the directory) is found before
// anything is written.
void save_vars(const std::string& directory, const VarList& vars, const ValueSource& values,
               const std::string& filename = "");
// The same into a directory that appears when the caller commits it.
void save_vars(AtomicDirectory& directory, const VarList& vars, const ValueSource& values,
               const std::string& filename = "");

// Hands every variable to `sink`, or none: files that are missing, cut short, of another shape,
// element type or kind are reported together in one Error(data).
void load_vars(const std::string& directory, const VarList& vars, const ValueSink& sink,
               const std::string& filename = "");

inline void save_params(const std::string& directory, const Program& program,
                        const ValueSource& values, const std::string& filename = "") {
  save_vars(directory, params_of(program), values, filename);
}
inline void load_params(const std::string& directory, const Program& program, const ValueSink& sink,
                        const std::string& filename = "") {
  load_vars(directory, params_of(program), sink, filename);
}
inline void save_persistables(const std::string& directory, const Program& program,
                              const ValueSource& values, const std::string& filename = "") {
  save_vars(directory, persistables_of(program), values, filename);
}
inline void load_persistables(const std::string& directory, const Program& program,
                              const ValueSink& sink, const std::string& filename = "") {
  load_vars(directory, persistables_of(program), sink, filename);
}

}  // namespace paddle
