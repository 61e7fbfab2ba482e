// A dense array with a shape, an element type and, for sequences, level-of-detail offsets.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace paddle {

// Offsets per level: {{0, 2, 5}} says that rows 0-1 are the first sequence and rows 2-4 the second.
using Lod = std::vector<std::vector<size_t>>;

// Throws Error(data) unless each level starts at 0, never falls, and ends where the next level (or
// `rows`) says.
void check_lod(const Lod& lod, int64_t rows);

// A handle: copies share the same memory (a feed, the scope and a view of rows may all hold it);
// clone() does not.
class Tensor {
 public:
  static constexpr size_t alignment = 64;

  Tensor() = default;
  // Allocates; the content is undefined. Throws Error(config) if there is not enough memory.
  Tensor(DType dtype, const Shape& shape);
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  // Borrows memory that the caller keeps alive.
  static Tensor borrow(void* data, DType dtype, const Shape& shape);

  bool empty() const { return data_ == nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t numel() const { return shape_.numel(); }
  size_t bytes() const { return static_cast<size_t>(numel()) * size_of(dtype_); }
  const Lod& lod() const { return lod_; }
  void set_lod(Lod lod) { lod_ = std::move(lod); }

  void* raw() const { return data_; }
  template <class T>
  T* data() const {
    assert(dtype_ == dtype_v<T>);
    return static_cast<T*>(data_);
  }
  template <class T>
  std::span<T> values() const {
    return {data<T>(), static_cast<size_t>(numel())};
  }

  // New shape and type; memory is kept where it suffices and is not shared, and its content is then
  // undefined.
  void resize(DType dtype, const Shape& shape);
  // Rows [begin, end) of the first dimension, sharing memory, without LoD.
  Tensor rows(int64_t begin, int64_t end) const;
  Tensor clone() const;
  void zero() const;

 private:
  Shape shape_{0};
  DType dtype_ = DType::f32;
  Lod lod_;
  std::shared_ptr<std::byte>
      owner_;  // shared by handles, as said above; null where memory is borrowed
  void* data_ = nullptr;
  size_t capacity_ = 0;
};

// The first element, as a number.
inline double read_number(const Tensor& t) { return read_number(t.dtype(), t.raw()); }

// A sparse set of rows of a table of `height` rows: value row i belongs to table row rows[i]. Rows
// may repeat.
struct SelectedRows {
  std::vector<int64_t> rows;
  int64_t height = 0;
  Tensor value;
};

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor t(dtype_v<T>, shape);
  require(t.numel() == static_cast<int64_t>(values.size()), Error::Kind::config, "shape ", shape,
          " needs ", t.numel(), " values, found ", values.size());
  for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = values[i];
  return t;
}

}  // namespace paddle
