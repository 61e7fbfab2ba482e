// hash: the last dimension of ids, as bytes, hashed num_hash times into [0, mod_by). The hash is
// XXH64 with the seeds 0, 1, …, as in PaddlePaddle.
#include <bit>
#include <cstring>

#include "kernels/each.h"
#include "ops/common.h"

namespace paddle {
namespace {

constexpr uint64_t prime1 = 0x9E3779B185EBCA87ull, prime2 = 0xC2B2AE3D27D4EB4Full,
                   prime3 = 0x165667B19E3779F9ull, prime4 = 0x85EBCA77C2B2AE63ull,
                   prime5 = 0x27D4EB2F165667C5ull;

template <class T>
PS_HD T load_at(const unsigned char* p) {
  T out;
  std::memcpy(&out, p, sizeof(T));
  return out;
}

PS_HD uint64_t xxh_round(uint64_t sum, uint64_t input) {
  return std::rotl(sum + input * prime2, 31) * prime1;
}

// XXH64 of `n` bytes, on little-endian machines.
PS_HD uint64_t xxh64(const unsigned char* p, size_t n, uint64_t seed) {
  const unsigned char* const end = p + n;
  uint64_t h = seed + prime5;
  if (n >= 32) {
    uint64_t v[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
    for (; end - p >= 32; p += 32)
      for (int k = 0; k < 4; ++k) v[k] = xxh_round(v[k], load_at<uint64_t>(p + 8 * k));
    h = std::rotl(v[0], 1) + std::rotl(v[1], 7) + std::rotl(v[2], 12) + std::rotl(v[3], 18);
    for (const uint64_t part : v) h = (h ^ xxh_round(0, part)) * prime1 + prime4;
  }
  h += n;
  for (; end - p >= 8; p += 8)
    h = std::rotl(h ^ xxh_round(0, load_at<uint64_t>(p)), 27) * prime1 + prime4;
  for (; end - p >= 4; p += 4)
    h = std::rotl(h ^ load_at<uint32_t>(p) * prime1, 23) * prime2 + prime3;
  for (; p < end; ++p) h = std::rotl(h ^ *p * prime5, 11) * prime1;
  h = (h ^ (h >> 33)) * prime2;
  h = (h ^ (h >> 29)) * prime3;
  return h ^ (h >> 32);
}

template <class T>
struct HashRow {
  int64_t width, hashes;
  uint64_t mod;
  const T* x;
  int64_t* out;
  PS_HD void operator()(int64_t row) const {
    for (int64_t k = 0; k < hashes; ++k)
      out[row * hashes + k] = static_cast<int64_t>(
          xxh64(reinterpret_cast<const unsigned char*>(x + row * width),
                static_cast<size_t>(width) * sizeof(T), static_cast<uint64_t>(k)) %
          mod);
  }
};

void infer_hash(Infer& i) {
  const Shape& x = i.shape("X");
  i.check(x.rank() >= 2 && x.rank() < Shape::max_rank, i.describe("X"), " must be [N, …, width]");
  i.check(i.dtype("X") == DType::i64 || i.dtype("X") == DType::i32, "X must be int32 or int64");
  i.check(i.attr<int32_t>("num_hash") > 0 && i.attr<int32_t>("mod_by") > 0,
          "num_hash and mod_by must be positive");
  Shape out = x.slice(0, x.rank() - 1);
  out.append(i.attr<int32_t>("num_hash"));
  out.append(1);
  i.out("Out", out, DType::i64);
  i.share_lod("X", "Out");
}

Kernel bind_hash(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const int64_t hashes = b.attr<int32_t>("num_hash");
  const auto mod = static_cast<uint64_t>(b.attr<int32_t>("mod_by"));
  const auto run = [=](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[x].shape;
      const int64_t width = s[s.rank() - 1];
      each(r, s.product(0, s.rank() - 1), width,
           HashRow<T>{width, hashes, mod, r[x].as<const T>(), r[out].as<int64_t>()});
    };
  };
  return b.dtype("X") == DType::i64 ? run(int64_t{}) : run(int32_t{});
}

}  // namespace

std::vector<OpDef> hash_ops() {
  return {{.type = "hash",
           .in = {{"X"}},
           .out = {{"Out"}},
           .attrs = {{"num_hash", 1}, {"mod_by", 100000}},
           .infer = infer_hash,
           .bind = bind_hash}};
}

}  // namespace paddle
