// First values of a row: a function of the seed, the table's name and the id, so they depend
// neither on the order in which ids arrive nor on the number of shards nor on restarts. Only
// additions, multiplications, divisions and roots are used: every machine gives the same bits.
#pragma once

#include <cstdint>
#include <string_view>

namespace paddle {

struct RowInit {
  enum class Kind : uint8_t { constant, uniform, normal, truncated_normal };
  Kind kind = Kind::constant;
  float a = 0;  // the value; the lower limit; the mean
  float b = 0;  // -; the upper limit; the deviation

  static RowInit constant(float value) { return {Kind::constant, value, 0}; }
  static RowInit uniform(float low, float high) { return {Kind::uniform, low, high}; }
  static RowInit normal(float mean, float deviation) { return {Kind::normal, mean, deviation}; }
  // Within two deviations of the mean.
  static RowInit truncated_normal(float mean, float deviation) {
    return {Kind::truncated_normal, mean, deviation};
  }
  // As the layers' initializer of this name: variance 2 / (fan_in + fan_out).
  static RowInit xavier(double fan_in, double fan_out, bool uniform = true);
};

// The key of a table's random numbers.
uint64_t init_key(uint64_t seed, std::string_view table);

// The `width` first values of the row `id`.
void init_row(const RowInit& init, uint64_t key, uint64_t id, int64_t width, float* values);

// The value below which a standard normal number lies with probability p, 0 < p < 1.
double normal_quantile(double p);

}  // namespace paddle
