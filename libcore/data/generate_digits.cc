#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "data/generate.h"

namespace paddle {
namespace {

constexpr int side = 28, glyph_width = 5, glyph_height = 7;

// Rows from the top; bit 4 is the left column.
constexpr uint8_t glyphs[10][glyph_height] = {
    {14, 17, 17, 17, 17, 17, 14}, {4, 12, 4, 4, 4, 4, 14},  {14, 17, 1, 2, 4, 8, 31},
    {31, 2, 4, 2, 1, 17, 14},     {2, 6, 10, 18, 31, 2, 2}, {31, 16, 30, 1, 1, 17, 14},
    {6, 8, 16, 30, 17, 17, 14},   {31, 1, 2, 4, 8, 8, 8},   {14, 17, 17, 14, 17, 17, 14},
    {14, 17, 17, 15, 1, 2, 12}};

double cell(int digit, int x, int y) {
  if (x < 0 || x >= glyph_width || y < 0 || y >= glyph_height) return 0;
  return glyphs[digit][y] >> (glyph_width - 1 - x) & 1;
}

// The glyph at a point between cells, so that edges come out soft at any scale.
double ink(int digit, double x, double y) {
  const double fx = std::floor(x), fy = std::floor(y);
  const int ix = static_cast<int>(fx), iy = static_cast<int>(fy);
  const double dx = x - fx, dy = y - fy;
  return (1 - dy) * ((1 - dx) * cell(digit, ix, iy) + dx * cell(digit, ix + 1, iy)) +
         dy * ((1 - dx) * cell(digit, ix, iy + 1) + dx * cell(digit, ix + 1, iy + 1));
}

void draw(int digit, const RandomStream& random, uint8_t* pixels) {
  uint64_t at = 0;
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform_double(at++);
  };
  const double across = between(2.1, 3.4), down = between(2.2, 3.2);  // pixels per cell
  const double slant = between(-0.3, 0.3);
  const double left = 13.5 + between(-2.5, 2.5), top = 13.5 + between(-2, 2);
  const double strength = between(0.7, 1.6);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const double gy = (y - top) / down, gx = (x - left) / across + slant * gy;
      const double value =
          strength * ink(digit, gx + (glyph_width - 1) / 2.0, gy + (glyph_height - 1) / 2.0) +
          0.8 * std::pow(between(0, 1), 6);  // mostly clean paper, a few grey specks
      pixels[y * side + x] = static_cast<uint8_t>(255 * std::clamp(value, 0.0, 1.0));
    }
  }
}

}  // namespace

Digits generate_digits(uint64_t seed, size_t first, size_t count) {
  Digits out;
  out.pixels.resize(count * side * side);
  out.labels.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const RandomStream random(seed, hash_text("mnist") ^ mix64(first + i));
    out.labels[i] = static_cast<uint8_t>(random.below(~uint64_t{0}, 10));
    draw(out.labels[i], random, out.pixels.data() + i * side * side);
  }
  return out;
}

}  // namespace paddle
