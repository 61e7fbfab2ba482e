#include "tensor/shape.h"

#include "base/error.h"
#include "base/suggest.h"
#include "tensor/dtype.h"

namespace paddle {

Shape::Shape(std::span<const int64_t> dims) {
  require(dims.size() <= max_rank, Error::Kind::config, "a tensor may have at most ", max_rank,
          " dimensions, found ", dims.size());
  for (const int64_t d : dims) dims_[rank_++] = d;
}

int64_t Shape::product(int from, int to) const {
  int64_t n = 1;
  for (int i = from; i < to; ++i) {
    if (dims_[i] < 0) return -1;
    // Lengths may come from a file or a user: an overflow must not become a small number.
    require(!__builtin_mul_overflow(n, dims_[i], &n), Error::Kind::data, "the shape ", *this,
            " has more elements than 64 bits can count");
  }
  return n;
}

int64_t Shape::numel() const { return product(0, rank_); }

void Shape::append(int64_t dim) {
  require(rank_ < max_rank, Error::Kind::config, "a tensor may have at most ", max_rank,
          " dimensions: cannot extend ", *this);
  dims_[rank_++] = dim;
}

Shape Shape::slice(int from, int to) const {
  return from < to ? Shape(std::span(dims_ + from, static_cast<size_t>(to - from))) : Shape();
}

bool Shape::operator==(const Shape& o) const {
  if (rank_ != o.rank_) return false;
  for (int i = 0; i < rank_; ++i)
    if (dims_[i] != o.dims_[i]) return false;
  return true;
}

bool Shape::compatible(const Shape& o) const {
  if (rank_ != o.rank_) return false;
  for (int i = 0; i < rank_; ++i)
    if (dims_[i] >= 0 && o.dims_[i] >= 0 && dims_[i] != o.dims_[i]) return false;
  return true;
}

std::string Shape::str() const {
  std::string out = "[";
  for (int i = 0; i < rank_; ++i) out += (i ? ", " : "") + std::to_string(dims_[i]);
  return out + "]";
}

namespace {
struct TypeName {
  DType type;
  const char* name;
};
constexpr TypeName type_names[] = {
    {DType::boolean, "bool"}, {DType::i16, "int16"},   {DType::i32, "int32"},
    {DType::i64, "int64"},    {DType::f16, "float16"}, {DType::f32, "float32"},
    {DType::f64, "float64"},  {DType::u8, "uint8"},    {DType::i8, "int8"},
};
}  // namespace

void refuse_dtype(DType t, const char* expected) {
  throw Error(Error::Kind::config, "expected ", expected, ", found ", name_of(t));
}

std::string name_of(DType t) {
  for (const TypeName& n : type_names)
    if (n.type == t) return n.name;
  return text("type number ", static_cast<int>(t));
}

DType dtype_of(const std::string& name) {
  std::vector<std::string> known;
  for (const TypeName& n : type_names) {
    if (name == n.name) return n.type;
    known.emplace_back(n.name);
  }
  throw Error(Error::Kind::config, "'", name, "' is no data type", did_you_mean(name, known),
              ": use one of ", listed(known));
}

}  // namespace paddle
