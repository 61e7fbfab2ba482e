// Random numbers into arrays.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "tensor/device.h"

namespace paddle {

// mask[k] = 1 with probability 1 - prob, else 0: a function of (stream, k) alone.
void draw_mask(const Device& device, int64_t n, const RandomStream& stream, float prob,
               uint8_t* mask);

// The values of Fluid, which equal seeds must give: its engine and its distributions, drawn one
// after the other. A device that cannot do so draws on the host and copies.
void draw_uniform(const Device& device, int64_t n, uint32_t seed, float min, float max, float* out);
void draw_uniform(const Device& device, int64_t n, uint32_t seed, double min, double max,
                  double* out);
void draw_normal(const Device& device, int64_t n, uint32_t seed, float mean, float deviation,
                 float* out);
void draw_normal(const Device& device, int64_t n, uint32_t seed, double mean, double deviation,
                 double* out);
// Normal numbers within two deviations of the mean.
void draw_truncated(const Device& device, int64_t n, uint32_t seed, double mean, double deviation,
                    float* out);
void draw_truncated(const Device& device, int64_t n, uint32_t seed, double mean, double deviation,
                    double* out);

}  // namespace paddle
