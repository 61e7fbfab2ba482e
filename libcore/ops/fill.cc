// Constants of a given shape, or of the shape of something else.
#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {
namespace {

template <class T>
void fill_all(const Run& r, const View& out, float value) {
  fill(r, out.numel(), out.as<T>(), static_cast<T>(value));
}

Kernel bind_fill_constant(const Bind& b) {
  const Arg out = b.out("Out");
  const auto value = b.attr<float>("value");
  return with_dtype(b.out_dtype("Out"), [&](auto t) -> Kernel {
    return [=](const Run& r) { fill_all<decltype(t)>(r, r[out], value); };
  });
}

// A batch of sequences is as long as there are sequences, not as long as all of them together.
void infer_fill_like_batch(Infer& i) {
  infer_shape_like_batch(i);
  const Lod* lod = i.in("Input").lod;
  if (lod == nullptr || lod->empty() || i.attr<int32_t>("input_dim_idx") != 0) return;
  i.out_meta("Out").shape[i.attr<int32_t>("output_dim_idx")] =
      static_cast<int64_t>(lod->back().size()) - 1;
}

Kernel bind_zeros_like(const Bind& b) {
  const Arg out = b.out("Out");
  return with_dtype(b.out_dtype("Out"), [&](auto t) -> Kernel {
    return [=](const Run& r) { fill_all<decltype(t)>(r, r[out], 0); };
  });
}

constexpr int32_t f32 = static_cast<int32_t>(DType::f32);

}  // namespace

std::vector<OpDef> fill_ops() {
  return {
      {.type = "fill_constant",
       .in = shape_numbers.slots(),
       .out = {{"Out"}},
       .attrs = {{"shape", Longs{}}, {"value", 0.0f}, {"dtype", f32}, {"force_cpu", false}},
       .infer = infer_shape_attr,
       .bind = bind_fill_constant,
       .shape_values = shape_numbers.slot_names()},
      {.type = "fill_constant_batch_size_like",
       .in = {{"Input"}},
       .out = {{"Out"}},
       .attrs = {{"shape", Ints{}},
                 {"value", 0.0f},
                 {"dtype", f32},
                 {"input_dim_idx", 0},
                 {"output_dim_idx", 0},
                 {"force_cpu", false}},
       .infer = infer_fill_like_batch,
       .bind = bind_fill_constant,
       .shape_only = {"Input"}},
      {.type = "fill_zeros_like",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_same,
       .bind = bind_zeros_like,
       .shape_only = {"X"}},
  };
}

}  // namespace paddle
