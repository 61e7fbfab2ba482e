// A program as text for people: blocks, variables with types and shapes, ops with slots and the
// attributes that differ from their defaults. The same program always gives the same text.
#pragma once

#include <string>
#include <string_view>

#include "graph/program.h"

namespace paddle {

std::string program_text(const Program& program);
// What makes it: its seed, its parameters, and all ops but those that backward() made. Two programs
// of this text differ in no line that a person wrote.
std::string outline_text(const Program& program);
// One line of it, without indentation or end of line.
std::string var_text(const Var& var);
// Fluid's own spelling: "lod_tensor", "selected_rows", …
std::string name_of(VarKind kind);
// "forward", "optimize|lr_sched", …
std::string role_text(int32_t role);
// Control characters as \n, \t or \x07, so that a name never breaks a line.
std::string escaped(std::string_view s);

}  // namespace paddle
