#pragma once

#include <array>
#include <cstddef>

namespace paddle::wire {

// What only the two ends of a TLS connection know, to bind proofs to it; zeros without TLS.
using Binding = std::array<std::byte, 32>;

}  // namespace paddle::wire
