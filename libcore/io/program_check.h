// What must hold in a program whatever form it was read from. Both readers use it.
#pragma once

#include <string>
#include <string_view>

#include "graph/program.h"

namespace paddle {

// Lists in one op longer than these are no program: they only make reading slow.
inline constexpr size_t max_slots = 1024;
inline constexpr size_t max_attrs = 4096;

// Where block `idx` of `count` may point: its parent before it, its forward block anywhere.
// Throws Error(data).
void check_block(size_t idx, int32_t parent, int32_t forward, size_t count);

// Adds a slot, an attribute or a variable that must not be there yet. Throws Error(data).
void add_slot(Slots& slots, std::string_view op, std::string_view slot, Names names);
void add_attr(Attrs& attrs, std::string_view op, std::string_view attr, Attr value, size_t blocks);
void add_var(Block& block, Var var);

}  // namespace paddle
