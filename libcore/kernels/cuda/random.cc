// kernels/random.h on a GPU. Numbers that are drawn one after the other are drawn on the host.
#include "kernels/random.h"

#include <vector>

#include "kernels/memory.h"
#include "kernels/random_draw.h"

namespace paddle {
namespace {

struct MaskAt {
  RandomStream stream;
  float prob;
  PS_HD void operator()(int64_t i, uint8_t* mask) const {
    mask[i] = stream.uniform(static_cast<uint64_t>(i)) >= prob;
  }
};

// What draw(host) writes.
template <class T, class Draw>
void from_host(const Device& device, int64_t n, T* out, const Draw& draw) {
  std::vector<T> host(static_cast<size_t>(n));
  draw(host.data());
  write_all(device, n, host.data(), out);
}

}  // namespace

void draw_mask(const Device& device, int64_t n, const RandomStream& stream, float prob,
               uint8_t* mask) {
  cuda::launch(device, n, MaskAt{stream, prob}, mask);
}

#define PS_DRAW(T)                                                                                \
  void draw_uniform(const Device& device, int64_t n, uint32_t seed, T min, T max, T* out) {       \
    from_host(device, n, out, [&](T* to) {                                                        \
      drawing::draw<std::uniform_real_distribution<T>>(n, seed, min, max, to);                    \
    });                                                                                           \
  }                                                                                               \
  void draw_normal(const Device& device, int64_t n, uint32_t seed, T mean, T deviation, T* out) { \
    from_host(device, n, out, [&](T* to) {                                                        \
      drawing::draw<std::normal_distribution<T>>(n, seed, mean, deviation, to);                   \
    });                                                                                           \
  }                                                                                               \
  void draw_truncated(const Device& device, int64_t n, uint32_t seed, double mean,                \
                      double deviation, T* out) {                                                 \
    from_host(device, n, out, [&](T* to) { drawing::truncated(n, seed, mean, deviation, to); });  \
  }
PS_DRAW(float)
PS_DRAW(double)
#undef PS_DRAW

}  // namespace paddle
