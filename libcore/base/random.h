// Random numbers that depend on nothing but their names: a counter-based generator (seed, stream,
// index) gives the same value in any order of calls and on any machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace paddle {

constexpr uint64_t golden = 0x9E3779B97F4A7C15ull;

// SplitMix64's finaliser: a bijection of 64 bits in which every input bit reaches every output bit.
constexpr uint64_t mix64(uint64_t x) {
  uint64_t z = x + golden;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

constexpr uint64_t hash_text(std::string_view s) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return mix64(h);
}

// The seed of a trainer of a job. Trainers draw different random numbers in dropout; those of
// trainer 0 are the ones of a job without pservers.
constexpr uint32_t trainer_seed(uint32_t seed, uint32_t trainer) {
  return trainer == 0 ? seed : static_cast<uint32_t>(mix64((uint64_t{trainer} << 32) | seed));
}

// A stream of numbers addressed by index.
class RandomStream {
 public:
  constexpr RandomStream(uint64_t seed, uint64_t stream) : key_(mix64(mix64(seed) ^ stream)) {}
  constexpr uint64_t bits(uint64_t index) const { return mix64(key_ + index * golden); }
  // Uniform in [0, 1), 24 and 53 bits.
  constexpr float uniform(uint64_t index) const {
    return static_cast<float>(bits(index) >> 40) * 0x1p-24f;
  }
  constexpr double uniform_double(uint64_t index) const {
    return static_cast<double>(bits(index) >> 11) * 0x1p-53;
  }
  // Uniform in [0, n); n must be positive. The bias is below n / 2^64.
  constexpr uint64_t below(uint64_t index, uint64_t n) const { return bits(index) % n; }

 private:
  uint64_t key_;
};

}  // namespace paddle
