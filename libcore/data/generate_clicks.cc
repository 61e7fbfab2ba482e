#include "data/generate_clicks.h"

#include <algorithm>
#include <cmath>

#include "data/generated_lines.h"

namespace paddle {
namespace {

constexpr std::array<double, criteo_categories> click_values{
    1000000, 30000, 15000, 7000, 20000, 3,  6000,    1300,   60,     800000, 300000, 150000, 10,
    2200,    9000,  60,    4,    900,   14, 1000000, 200000, 900000, 100000, 12000,  90,     35};
// Middle of the numbers, how often they are missing (in percent), and their weights.
constexpr std::array<double, criteo_numbers> middle{1, 4, 6, 7, 1500, 60, 3, 8, 50, 1, 3, 1, 5};
constexpr std::array<int, criteo_numbers> missing{45, 0, 21, 21, 2, 22, 4, 0, 4, 45, 4, 76, 21};
constexpr std::array<double, criteo_numbers> weight{0.6, 0, 0.5,  0, -0.4, 0, 0.5,
                                                    0,   0, -0.6, 0, 0.8,  0};
constexpr double bias = -1.3, category_weight = 0.6, pair_weight = 0.6;
constexpr uint32_t learnable = 64;  // values beyond are too rare to be learnt: their weight is 0
constexpr std::array<std::pair<size_t, size_t>, 2> pairs{{{5, 16}, {8, 18}}};
constexpr uint32_t paired = 8;  // values that pairs distinguish
constexpr double largest = 1000000;

// The inverse of the distribution function with s = 1.1, for which 1 / (1 - s) = -10.
uint32_t zipf_rank(double u, double values) {
  const double x = 1 + u * (std::pow(values, -0.1) - 1);
  const double x2 = x * x, x4 = x2 * x2;
  return static_cast<uint32_t>(std::clamp(1 / (x4 * x4 * x2), 1.0, values));
}

double signed_unit(const RandomStream& random, uint64_t index) {
  return 2 * random.uniform_double(index) - 1;
}

}  // namespace

Click ClickModel::record(uint64_t i) const {
  const RandomStream random(seed_, hash_text("clicks") ^ mix64(i));
  Click out;
  uint64_t drawn = 0;
  for (size_t n = 0; n < criteo_numbers; ++n) {
    const double u = random.uniform_double(drawn++), v = random.uniform_double(drawn++);
    if (u * 100 < missing[n]) continue;
    // The logarithm of v / (1 - v) is logistic: as many numbers below the middle as above it.
    const double x = std::min(largest, middle[n] * std::sqrt(v / (1 - v)));
    out.numbers[n] = static_cast<int64_t>(x) - (n == 1 ? 2 : 0);  // the second has negative ones
  }
  for (size_t k = 0; k < criteo_categories; ++k) {
    const double u = random.uniform_double(drawn++);
    const bool none = k % 5 == 2 && random.uniform_double(100 + k) < 0.05;
    out.ranks[k] = none ? 0 : zipf_rank(u, click_values[k]);
  }
  out.probability = 1 / (1 + std::exp(-log_odds(out)));
  out.label = random.uniform_double(drawn) < out.probability;
  return out;
}

// A missing number counts as 0, which is what readers give for it.
double ClickModel::log_odds(const Click& click) const {
  double sum = bias;
  for (size_t n = 0; n < criteo_numbers; ++n)
    if (weight[n] != 0) {
      const double x = static_cast<double>(std::max<int64_t>(click.numbers[n].value_or(0), 0));
      sum += weight[n] * (std::log1p(x) - std::log1p(middle[n]));
    }
  const RandomStream weights(seed_, hash_text("click weights"));
  for (size_t k = 0; k < criteo_categories; ++k)
    if (click.ranks[k] <= learnable)
      sum += category_weight * signed_unit(weights, k * (learnable + 1) + click.ranks[k]);
  const RandomStream pair_weights(seed_, hash_text("click pairs"));
  for (size_t p = 0; p < pairs.size(); ++p) {
    const uint32_t a = click.ranks[pairs[p].first], b = click.ranks[pairs[p].second];
    if (a < paired && b < paired)
      sum += pair_weight * signed_unit(pair_weights, (p * paired + a) * paired + b);
  }
  return sum;
}

void ClickModel::append_line(const Click& click, std::string& to) const {
  to += click.label ? '1' : '0';
  for (const auto& number : click.numbers) {
    to += '\t';
    if (number) to += std::to_string(*number);
  }
  for (size_t k = 0; k < criteo_categories; ++k) {
    to += '\t';
    if (click.ranks[k] == 0) continue;
    const uint64_t name = mix64(mix64(seed_ ^ (k << 40)) ^ click.ranks[k]);
    for (int digit = 0; digit < 8; ++digit) to += "0123456789abcdef"[(name >> (4 * digit)) & 15];
  }
  to += '\n';
}

std::unique_ptr<ByteSource> click_log(uint64_t seed, uint64_t first, uint64_t count) {
  return generated_lines(first, count, [model = ClickModel(seed)](uint64_t i, std::string& to) {
    model.append_line(model.record(i), to);
  });
}

// The sum over pairs of p_i (1 - p_j), of those that are in the right order over all; equal ones
// count half.
double expected_auc(std::vector<double> probabilities) {
  std::sort(probabilities.begin(), probabilities.end());
  double right = 0, below = 0, positive = 0, same_record = 0;
  for (size_t i = 0; i < probabilities.size();) {
    double p = 0, own = 0, n = 0;  // of records with one probability
    const double value = probabilities[i];
    for (; i < probabilities.size() && probabilities[i] == value; ++i) {
      p += value;
      n += 1 - value;
      own += value * (1 - value);
    }
    right += p * below + (p * n - own) / 2;
    below += n;
    positive += p;
    same_record += own;
  }
  return right / (positive * below - same_record);
}

double attainable_auc(uint64_t seed, uint64_t first, uint64_t count) {
  const ClickModel model(seed);
  std::vector<double> probabilities;
  for (uint64_t i = 0; i < count; ++i) probabilities.push_back(model.record(first + i).probability);
  return expected_auc(std::move(probabilities));
}

}  // namespace paddle
