// Fluid's saved programs (`__model__`): the ProgramDesc of every version, read and written so that
// a file which PaddlePaddle or we wrote comes out with the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/program.h"

namespace paddle {

// Programs of real models have some megabytes at most.
inline constexpr uint64_t max_model_bytes = 64u << 20;

// The program in `bytes`; `name` is what errors call them. Ops come as they stand: an op or a
// variable that we do not know is reported when it is run, not here. Throws Error(data) where the
// bytes are no program, or where blocks, variables or attributes contradict each other.
Program read_program(std::string_view bytes, std::string_view name = "program");
std::string write_program(const Program& program);

// The record in protobuf's text form, enumerations by name: what Fluid prints of a program, of a
// block, of a variable, of an op.
std::string record_text(const Program& program);
std::string record_text(const Block& block);
std::string record_text(const Var& var);
std::string record_text(const Op& op);

// The same from and to a file.
Program load_program(const std::string& path);
void save_program(const std::string& path, const Program& program);

}  // namespace paddle
