#include "table/populate.h"

#include <sys/mman.h>

#include <algorithm>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // since Linux 5.14; older C libraries lack it
#endif

namespace paddle {
namespace {

constexpr size_t piece = size_t{4} << 20;
constexpr unsigned most_threads = 4;

}  // namespace

Populate::Populate(std::byte* address, size_t bytes) : next_((bytes + piece - 1) / piece) {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, most_threads);
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this, address, bytes] { run(address, bytes); });
}

Populate::~Populate() {
  ends_ = true;
  for (std::thread& t : threads_) t.join();
}

void Populate::run(std::byte* address, size_t bytes) {
  for (size_t left = next_; left > 0 && !ends_; left = next_) {
    if (!next_.compare_exchange_weak(left, left - 1)) continue;
    const size_t at = (left - 1) * piece;
    if (madvise(address + at, std::min(piece, bytes - at), MADV_POPULATE_WRITE) != 0) return;
  }
}

}  // namespace paddle
