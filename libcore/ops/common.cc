#include "ops/common.h"

#include <algorithm>

#include "kernels/memory.h"

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

std::optional<Longs> GivenNumbers::get(const Infer& i) const {
  if (i.has(whole)) return i.values(whole);
  if (!i.has(parts)) return i.attr<Longs>(attr);
  Longs all;
  for (int k = 0; k < i.count(parts); ++k) {
    const auto one = i.values(parts, k);
    if (!one) return std::nullopt;
    i.check(one->size() == 1, i.describe(parts, k), " must have one element");
    all.push_back(one->front());
  }
  return all;
}

int64_t GivenNumbers::count(const Infer& i) const {
  if (i.has(whole)) return i.shape(whole).numel();
  return i.has(parts) ? i.count(parts) : static_cast<int64_t>(i.attr<Longs>(attr).size());
}

std::vector<SlotDef> GivenNumbers::slots() const {
  std::vector<SlotDef> out;
  if (!whole.empty()) out.push_back({whole, SlotDef::optional});
  if (!parts.empty()) out.push_back({parts, SlotDef::optional | SlotDef::many});
  return out;
}

std::vector<std::string> GivenNumbers::slot_names() const {
  std::vector<std::string> out;
  for (const SlotDef& s : slots()) out.push_back(s.name);
  return out;
}

GivenNumbersArg::GivenNumbersArg(const Bind& b, const GivenNumbers& given)
    : whole_(b.in(given.whole)), parts_(b.in(given.parts)) {
  if (!whole_ && !parts_) attr_ = b.attr<Longs>(given.attr);
}

Longs GivenNumbersArg::get(const Run& r) const {
  if (!whole_ && !parts_) return attr_;
  Longs all;
  const auto read = [&](const View& v) {
    with_int(v.dtype, [&](auto t) {
      for (int64_t k = 0; k < v.numel(); ++k)
        all.push_back(static_cast<int64_t>(read_one(r, v.as<const decltype(t)>() + k)));
    });
  };
  if (whole_) read(r[whole_]);
  for (int k = 0; !whole_ && k < parts_.count; ++k) read(r.at(parts_, k));
  return all;
}

const GivenNumbers shape_numbers{"ShapeTensor", "ShapeTensorList", "shape"};

void infer_shape_attr(Infer& i) {
  const auto known = shape_numbers.get(i);
  const auto count = static_cast<size_t>(std::max<int64_t>(shape_numbers.count(i), 0));
  const Longs dims = known.value_or(Longs(count, -1));
  const bool negative = std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; });
  i.check(!(known && negative && shape_numbers.by_tensor(i.op())), "the shape ", attr_text(dims),
          " has a length below 0");
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
