#include "ops/common.h"

namespace paddle {

void infer_same(Infer& i) { i.out_like("Out", "X"); }

void infer_grad_same(Infer& i) {
  for (const auto& [slot, names] : i.op().out) {
    const std::string base = slot.substr(0, slot.find('@'));
    const bool direct = i.has(base);
    for (int k = 0; k < static_cast<int>(names.size()); ++k) {
      const Meta& like = direct ? i.in(base, k) : i.in("Out@GRAD");
      i.out(slot, like.shape, like.dtype, k);
      i.out_meta(slot, k).lod = like.lod;
      i.out_meta(slot, k).lod_level = like.lod_level;
    }
  }
}

Op scaled_grad(const Op& forward, const std::string& name, float factor) {
  return {.type = "scale",
          .in = {{"X", {grad_name(forward.out["Out"][0])}}},
          .out = {{"Out", {grad_name(name)}}},
          .attrs = {{"scale", factor}}};
}

void infer_shape_attr(Infer& i) {
  const auto dims = i.attr<Longs>("shape");
  i.out("Out", Shape(std::span<const int64_t>(dims)), dtype_attr(i.op().attrs, "dtype"));
}

void infer_shape_like_batch(Infer& i) {
  const auto dims = i.attr<Longs>("shape");
  Shape shape{std::span<const int64_t>(dims)};
  const auto from = i.attr<int32_t>("input_dim_idx"), to = i.attr<int32_t>("output_dim_idx");
  const Shape& input = i.shape("Input");
  i.check(from >= 0 && from < input.rank(), "input_dim_idx ", from, " is outside of ",
          i.describe("Input"));
  i.check(to >= 0 && to < shape.rank(), "output_dim_idx ", to, " is outside of the shape ", shape,
          " that takes a length of ", i.describe("Input"));
  shape[to] = input[from];
  i.out("Out", shape, dtype_attr(i.op().attrs, "dtype"));
}

DType dtype_attr(const Attrs& attrs, std::string_view name) {
  const auto number = attrs.get<int32_t>(name);
  const auto t = static_cast<DType>(number);
  require(number >= 0 && number <= 255 && size_of(t) > 0, Error::Kind::config, "the attribute '",
          name, "' is no data type: ", number);
  return t;
}

int resolve_axis(const Infer& i, int axis, int rank) {
  i.check(axis >= -rank && axis < rank, "axis ", axis, " is outside of a tensor of ", rank,
          " dimensions");
  return axis < 0 ? axis + rank : axis;
}

}  // namespace paddle
