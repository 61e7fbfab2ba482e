#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "data/generate.h"

namespace paddle {
namespace {

struct FeatureRange {
  double low, high;
  double power;   // 1 is uniform; above, values crowd at the low end as crime rates do
  double weight;  // of the feature, scaled to [0, 1], in the price
};

constexpr FeatureRange ranges[13] = {
    {0.006, 89, 6, -9},        {0, 100, 4, 4.5},      {0.46, 27.7, 1, 0.5}, {0, 1, 12, 2.7},
    {0.385, 0.871, 1.5, -8.5}, {3.56, 8.78, 1, 20},   {2.9, 100, 0.6, 0.1}, {1.13, 12.1, 2, -16},
    {1, 24, 1.5, 7},           {187, 711, 1.2, -6.5}, {12.6, 22, 0.8, -9},  {0.32, 397, 0.2, 3.7},
    {1.73, 38, 1.6, -19}};

}  // namespace

std::vector<std::array<double, 14>> generate_housing(uint64_t seed) {
  std::vector<std::array<double, 14>> rows(506);
  const RandomStream random(seed, hash_text("uci_housing"));
  uint64_t at = 0;
  for (auto& row : rows) {
    double price = 27;
    for (size_t i = 0; i < 13; ++i) {
      double part = std::pow(random.uniform_double(at++), ranges[i].power);
      if (i == 3) part = part > 0.5 ? 1 : 0;  // CHAS: by the river or not
      row[i] = ranges[i].low + part * (ranges[i].high - ranges[i].low);
      price += ranges[i].weight * part;
    }
    double noise = -2;  // four uniforms: near enough to a normal of deviation 0.58
    for (int i = 0; i < 4; ++i) noise += random.uniform_double(at++);
    row[13] = std::clamp(price + 4 * noise, 5.0, 50.0);
  }
  return rows;
}

}  // namespace paddle
