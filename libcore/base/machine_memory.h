// How much memory there is, and amounts of it as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace paddle {

// Bytes that this process can have: the machine's memory, or the limit of its control group (also
// of the groups above it) where that is lower. `proc` and `sys` are where the kernel tells it.
uint64_t machine_memory(const std::string& proc = "/proc", const std::string& sys = "/sys");

// "1048576", "64m", "1.5g" (k, m, g, t: powers of 1024) or "75%" of `whole`; nothing for any other
// text, and for less than a byte.
std::optional<uint64_t> parse_memory(const std::string& text, uint64_t whole);

// "1.5 GiB"
std::string memory_text(uint64_t bytes);

}  // namespace paddle
