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

// Digits 0-9 drawn from glyphs with shift, scale, slant and noise: `count` images of 28 x 28 from
// number `first` on.
struct Digits {
  std::vector<uint8_t> pixels;  // 784 per image
  std::vector<uint8_t> labels;
};
Digits generate_digits(uint64_t seed, size_t first, size_t count);

// Sentences over 2000 words with a Zipf distribution, in which a word makes some next words likely.
std::vector<std::string> generate_sentences(uint64_t seed, size_t count);

// Rows like those of a9a: 14 of 123 binary features, one of each of 14 groups, and a label drawn
// from a logistic model.
struct BinaryRow {
  std::array<int, 14> ids;  // ascending, from 0
  bool positive;
};
std::vector<BinaryRow> generate_binary_rows(uint64_t seed, size_t first, size_t count);

}  // namespace paddle
