// Element types. The values are Fluid's own numbers, as they stand in saved models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace paddle {

enum class DType : uint8_t {
  boolean = 0,
  i16 = 1,
  i32 = 2,
  i64 = 3,
  f16 = 4,
  f32 = 5,
  f64 = 6,
  u8 = 20,
  i8 = 21,
};

// Bytes per element; 0 for a number that is no type of ours.
constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::boolean:
    case DType::u8:
    case DType::i8: return 1;
    case DType::i16:
    case DType::f16: return 2;
    case DType::i32:
    case DType::f32: return 4;
    case DType::i64:
    case DType::f64: return 8;
  }
  return 0;
}

// Fluid's spelling: "float32", "int64", "bool", …
std::string name_of(DType t);

// The reverse; throws Error(config) with a suggestion for an unknown name.
DType dtype_of(const std::string& name);

// The element type of a C++ type; any other type does not compile.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::boolean> {};
template <>
struct DTypeOf<uint8_t> : std::integral_constant<DType, DType::u8> {};
template <class T>
inline constexpr DType dtype_v = DTypeOf<T>::value;

// Throws Error(config): "expected float32, found bool".
[[noreturn]] void refuse_dtype(DType t, const char* expected);

// Calls f(T{}) with the C++ type of `t`, for the types that kernels exist for.
template <class F>
decltype(auto) with_float(DType t, const F& f) {
  if (t == DType::f64) return f(double{});
  if (t == DType::f32) return f(float{});
  refuse_dtype(t, "float32 or float64");
}

template <class F>
decltype(auto) with_int(DType t, const F& f) {
  if (t == DType::i32) return f(int32_t{});
  if (t == DType::i64) return f(int64_t{});
  refuse_dtype(t, "int64 or int32");
}

template <class F>
decltype(auto) with_dtype(DType t, const F& f) {
  switch (t) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    case DType::boolean: return f(bool{});
    case DType::u8: return f(uint8_t{});
    default: refuse_dtype(t, "a type that kernels compute with");
  }
}

// The element at `data`, as a number.
inline double read_number(DType t, const void* data) {
  return with_dtype(
      t, [&](auto z) { return static_cast<double>(*static_cast<const decltype(z)*>(data)); });
}

}  // namespace paddle
