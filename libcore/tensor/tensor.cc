#include "tensor/tensor.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace paddle {

void check_lod(const Lod& lod, int64_t rows) {
  for (size_t level = 0; level < lod.size(); ++level) {
    const std::vector<size_t>& offsets = lod[level];
    const auto fail = [&](const auto&... why) {
      throw Error(Error::Kind::data, "level ", level, " of the LoD ", why...);
    };
    if (offsets.empty() || offsets.front() != 0) fail("must start at 0");
    for (size_t i = 1; i < offsets.size(); ++i)
      if (offsets[i] < offsets[i - 1]) fail("falls from ", offsets[i - 1], " to ", offsets[i]);
    const size_t end =
        level + 1 < lod.size() ? lod[level + 1].size() - 1 : static_cast<size_t>(rows);
    if (level + 1 < lod.size() && lod[level + 1].empty()) fail("is followed by an empty level");
    if (offsets.back() != end) fail("ends at ", offsets.back(), ", expected ", end);
  }
}

namespace {

// Large arrays ask for large pages: loops over whole arrays run a third faster (apply rows of
// scripts/bench net).
constexpr size_t large_page = size_t{2} << 20;

// Null where there is not enough memory.
std::shared_ptr<std::byte> allocate(size_t bytes) {
  const bool large = bytes >= 2 * large_page;
  const std::align_val_t alignment{large ? large_page : Tensor::alignment};
  auto* p = static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow));
  if (p == nullptr) return nullptr;
#ifdef MADV_HUGEPAGE
  if (large) ::madvise(p, bytes, MADV_HUGEPAGE);  // where the system has none, all is as before
#endif
  return {p, [alignment](std::byte* q) { ::operator delete(q, alignment); }};
}

}  // namespace

Tensor::Tensor(DType dtype, const Shape& shape) { resize(dtype, shape); }

Tensor Tensor::borrow(void* data, DType dtype, const Shape& shape) {
  Tensor t;
  t.data_ = data;
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.capacity_ = t.bytes();
  return t;
}

void Tensor::resize(DType dtype, const Shape& shape) {
  const int64_t n = shape.numel();
  require(n >= 0, Error::Kind::config, "cannot hold a tensor of unknown shape ", shape);
  size_t bytes = 0;
  require(!__builtin_mul_overflow(static_cast<size_t>(n), size_of(dtype), &bytes),
          Error::Kind::data, "the shape ", shape, " needs more bytes than 64 bits can count");
  const bool mine = owner_ && owner_.use_count() == 1;
  if (!mine || bytes > capacity_) {
    const size_t size = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    std::shared_ptr<std::byte> memory = allocate(size);
    require(memory != nullptr, Error::Kind::config, "not enough memory for a ", name_of(dtype),
            " tensor of shape ", shape, " (", bytes, " bytes)");
    owner_ = std::move(memory);
    data_ = owner_.get();
    capacity_ = size;
  }
  dtype_ = dtype;
  shape_ = shape;
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  require(shape_.rank() > 0 && 0 <= begin && begin <= end && end <= shape_[0], Error::Kind::config,
          "rows ", begin, " to ", end, " are not in a tensor of shape ", shape_);
  Tensor t = *this;
  t.shape_[0] = end - begin;
  const size_t row_bytes = static_cast<size_t>(shape_.product(1, shape_.rank())) * size_of(dtype_);
  t.data_ = static_cast<std::byte*>(data_) + static_cast<size_t>(begin) * row_bytes;
  t.capacity_ = t.bytes();
  t.lod_.clear();
  return t;
}

Tensor Tensor::clone() const {
  Tensor t(dtype_, shape_);
  if (t.bytes() > 0) std::memcpy(t.data_, data_, t.bytes());
  t.lod_ = lod_;
  return t;
}

void Tensor::zero() const {
  if (bytes() > 0) std::memset(data_, 0, bytes());
}

}  // namespace paddle
