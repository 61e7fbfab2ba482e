#include "kernels/gemm_packed.h"

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "kernels/cpu.h"

namespace paddle {
namespace {

const PackedGemm& choose() {
#if defined(__x86_64__)
  switch (cpu_isa()) {
    case Isa::avx512: return packed_avx512;
    case Isa::avx2: return packed_avx2;
    case Isa::avx:
    case Isa::base: break;
  }
#endif
  return packed_base;
}

const PackedGemm& chosen() {
  static const PackedGemm& version = choose();
  return version;
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// One large page, where the system has them: many small ones may fall onto the same places of the
// second cache.
void* allocate() {
  void* memory = std::aligned_alloc(packed_scratch_bytes, packed_scratch_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ::madvise(memory, packed_scratch_bytes, MADV_HUGEPAGE);
  return memory;
}

// One per thread that multiplies, kept until the thread ends.
void* scratch() {
  thread_local const std::unique_ptr<void, Free> memory(allocate());
  return memory.get();
}

}  // namespace

void gemm_packed(const Product<float>& p) { chosen().f32(p, scratch()); }
void gemm_packed(const Product<double>& p) { chosen().f64(p, scratch()); }

void vector_part(const MatVec<float>& m, int64_t begin, int64_t end) {
  chosen().vectors_f32(m, begin, end);
}
void vector_part(const MatVec<double>& m, int64_t begin, int64_t end) {
  chosen().vectors_f64(m, begin, end);
}

const char* packed_isa() { return chosen().isa; }

}  // namespace paddle
