// Element types. The values are Fluid's own numbers, as they stand in saved models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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

// The element type of a C++ type; a type that tensors cannot hold does not compile.
template <class T>
inline constexpr DType dtype_v = [] {
  static_assert(sizeof(T) == 0, "tensors hold no elements of this type");
  return DType{};
}();
template <>
inline constexpr DType dtype_v<float> = DType::f32;
template <>
inline constexpr DType dtype_v<double> = DType::f64;
template <>
inline constexpr DType dtype_v<int32_t> = DType::i32;
template <>
inline constexpr DType dtype_v<int64_t> = DType::i64;
template <>
inline constexpr DType dtype_v<bool> = DType::boolean;
template <>
inline constexpr DType dtype_v<uint8_t> = DType::u8;

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

}  // namespace paddle
