// Data of the same shape as the known sets, with structure to learn, for a machine that has no
// files. Everything depends on the seed alone; training and test parts come from the same model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace paddle {

// 506 rows of 13 features and a price: a linear model with noise over ranges like those of the real
// columns.
std::vector<std::array<double, 14>> generate_housing(uint64_t seed);

}  // namespace paddle
