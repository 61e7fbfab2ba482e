// A program in our own form (schemas/program.fbs): all that graph/program.h holds, exactly; small,
// and cheap to check. It is what one process of a job sends to another.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graph/program.h"

namespace paddle {

inline constexpr size_t max_program_buffer = 64u << 20;

std::string to_flatbuffer(const Program& program);

// The program in `bytes`, which may come from anywhere: structure is verified under tight limits,
// then meaning is checked. Throws Error(data).
Program from_flatbuffer(std::span<const std::byte> bytes);
inline Program from_flatbuffer(std::string_view bytes) {
  return from_flatbuffer(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

// 16 hexadecimal digits that change with anything that changes what the program computes. Where
// its ops were written down (op_callstack) and what was only carried along do not count.
std::string program_digest(const Program& program);

}  // namespace paddle
