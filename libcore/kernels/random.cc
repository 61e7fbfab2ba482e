#include "kernels/random.h"

#include "kernels/map.h"
#include "kernels/random_draw.h"

namespace paddle {

using drawing::draw, drawing::truncated;

namespace {

PS_CLONES void mask_range(const RandomStream& given, float prob, int64_t begin, int64_t end,
                          uint8_t* mask) {
  const RandomStream stream = given;  // bytes may alias anything but a local copy
  for (int64_t k = begin; k < end; ++k) mask[k] = stream.uniform(static_cast<uint64_t>(k)) >= prob;
}

}  // namespace

void draw_mask(const Device& device, int64_t n, const RandomStream& stream, float prob,
               uint8_t* mask) {
  device.pool().parallel_for(n, map_grain, [&](int64_t begin, int64_t end) {
    mask_range(stream, prob, begin, end, mask);
  });
}

void draw_uniform(const Device&, int64_t n, uint32_t seed, float min, float max, float* out) {
  draw<std::uniform_real_distribution<float>>(n, seed, min, max, out);
}
void draw_uniform(const Device&, int64_t n, uint32_t seed, double min, double max, double* out) {
  draw<std::uniform_real_distribution<double>>(n, seed, min, max, out);
}
void draw_normal(const Device&, int64_t n, uint32_t seed, float mean, float deviation, float* out) {
  draw<std::normal_distribution<float>>(n, seed, mean, deviation, out);
}
void draw_normal(const Device&, int64_t n, uint32_t seed, double mean, double deviation,
                 double* out) {
  draw<std::normal_distribution<double>>(n, seed, mean, deviation, out);
}
void draw_truncated(const Device&, int64_t n, uint32_t seed, double mean, double deviation,
                    float* out) {
  truncated(n, seed, mean, deviation, out);
}
void draw_truncated(const Device&, int64_t n, uint32_t seed, double mean, double deviation,
                    double* out) {
  truncated(n, seed, mean, deviation, out);
}

}  // namespace paddle
