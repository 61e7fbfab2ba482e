#include <cmath>

#include "base/random.h"
#include "data/generate.h"

namespace paddle {
namespace {

constexpr int group_sizes[14] = {5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41};  // 123 in all

}  // namespace

std::vector<BinaryRow> generate_binary_rows(uint64_t seed, size_t first, size_t count) {
  const RandomStream model(seed, hash_text("a9a weights"));
  std::vector<BinaryRow> rows(count);
  for (size_t r = 0; r < count; ++r) {
    const RandomStream random(seed, hash_text("a9a") ^ mix64(first + r));
    double score = -1.6;  // about a quarter is positive
    int base = 0;
    for (size_t g = 0; g < 14; ++g) {
      const double u = random.uniform_double(g);
      const int pick = static_cast<int>(group_sizes[g] * u * u);  // low members are frequent
      rows[r].ids[g] = base + pick;
      score += 2.4 * (model.uniform_double(static_cast<uint64_t>(base + pick)) - 0.5);
      base += group_sizes[g];
    }
    rows[r].positive = random.uniform_double(14) < 1 / (1 + std::exp(-score));
  }
  return rows;
}

}  // namespace paddle
