// The same elements under another shape, order or type: reshape2, squeeze2, unsqueeze2, flatten2,
// transpose2, cast; and the ops that turn shapes and constants into tensors. XShape is [0, lengths
// of X]: it keeps the shape for the gradient and takes no memory.
#include <algorithm>

#include "kernels/map.h"
#include "kernels/memory.h"
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

// Out with a new shape, and XShape. LoD describes the first dimension, so it goes where that goes.
void out_as(Infer& i, const Shape& out, bool same_order = true) {
  const Shape& x = i.shape("X");
  i.out("Out", out, i.dtype("X"));
  if (same_order && x.rank() > 0 && out.rank() > 0 && x[0] == out[0]) i.share_lod("X", "Out");
  if (!i.has_out("XShape")) return;
  Shape kept{0};
  for (const int64_t d : x) kept.append(d);
  i.out("XShape", kept, i.dtype("X"));
  i.share_lod("X", "XShape");
}

// The lengths of one inferred dimension: what is left of X when the named ones are taken out.
int64_t rest_of(const Infer& i, const Shape& x, const Longs& wanted) {
  int64_t left = 1, named = 1;
  for (int d = 0; d < x.rank(); ++d) {
    const bool copied = d < static_cast<int>(wanted.size()) && wanted[static_cast<size_t>(d)] == 0;
    if (copied) continue;
    if (x[d] < 0) return -1;
    left *= x[d];
  }
  for (const int64_t w : wanted)
    if (w > 0) named *= w;
  i.check(left % named == 0, "cannot reshape ", i.describe("X"), " to ", attr_text(wanted), ": ",
          left, " elements are no multiple of ", named);
  return left / named;
}

const GivenNumbers reshape_numbers{"Shape", "ShapeTensor", "shape"};

// Where the shape is a tensor whose elements are not known yet: what the attribute says beside it.
void infer_later_shape(Infer& i) {
  const auto expected = i.attr<Ints>("shape");
  const int64_t rank = reshape_numbers.count(i);
  i.check(rank != 0 && rank <= Shape::max_rank, "the shape has ", rank, " lengths");
  Shape out;
  for (int64_t d = 0; d < rank; ++d) {
    const bool said = static_cast<int64_t>(expected.size()) == rank;
    out.append(said && expected[static_cast<size_t>(d)] > 0 ? expected[static_cast<size_t>(d)]
                                                            : -1);
  }
  out_as(i, out);
}

void infer_reshape(Infer& i) {
  const Shape& x = i.shape("X");
  const auto numbers = reshape_numbers.get(i);
  if (!numbers) return infer_later_shape(i);
  const Longs& wanted = *numbers;
  i.check(!wanted.empty(), "the shape is empty");
  i.check(wanted.size() <= Shape::max_rank, "the shape has ", wanted.size(),
          " lengths, expected at most ", Shape::max_rank);
  Shape out;
  int unknown = -1;
  for (int d = 0; d < static_cast<int>(wanted.size()); ++d) {
    const int64_t w = wanted[static_cast<size_t>(d)];
    i.check(w >= -1, "the shape ", attr_text(wanted), " has a length of ", w);
    i.check(w != -1 || unknown < 0, "the shape ", attr_text(wanted), " has more than one -1");
    i.check(w != 0 || d < x.rank(), "the 0 at place ", d, " of the shape ", attr_text(wanted),
            " copies a length that ", i.describe("X"), " does not have");
    if (w == -1) unknown = d;
    out.append(w == 0 ? x[d] : w);
  }
  if (unknown >= 0) out[unknown] = rest_of(i, x, wanted);
  i.check(!x.known() || !out.known() || x.numel() == out.numel(), "cannot reshape ",
          i.describe("X"), " to ", attr_text(wanted), ": ", x.numel(), " elements are not ",
          out.numel());
  out_as(i, out);
}

void infer_squeeze(Infer& i) {
  const Shape& x = i.shape("X");
  const auto axes = i.attr<Ints>("axes");
  bool gone[Shape::max_rank] = {};
  for (const int32_t a : axes) {
    const int d = resolve_axis(i, a, x.rank());
    i.check(x[d] == 1 || x[d] < 0, "axis ", a, " of ", i.describe("X"), " has length ", x[d],
            ": only a length of 1 can be squeezed away");
    gone[d] = true;
  }
  Shape out;
  for (int d = 0; d < x.rank(); ++d)
    if (!(axes.empty() ? x[d] == 1 : gone[d])) out.append(x[d]);
  if (out.rank() == 0) out.append(1);
  out_as(i, out);
}

void infer_unsqueeze(Infer& i) {
  Shape out = i.shape("X");
  for (const int32_t a : i.attr<Ints>("axes")) {
    const int at = resolve_axis(i, a, out.rank() + 1);
    out.append(1);
    for (int d = out.rank() - 1; d > at; --d) out[d] = out[d - 1];
    out[at] = 1;
  }
  out_as(i, out);
}

void infer_flatten(Infer& i) {
  const Shape& x = i.shape("X");
  const auto axis = i.attr<int32_t>("axis");
  i.check(axis >= 0 && axis <= x.rank(), "axis ", axis, " is outside of ", i.describe("X"));
  out_as(i, {x.product(0, axis), x.product(axis, x.rank())});
}

// Axes that name every dimension of `x` once.
void check_axis(const Infer& i, const Ints& axis, const Shape& x, std::string_view slot) {
  Ints sorted = axis;
  std::sort(sorted.begin(), sorted.end());
  bool each = static_cast<int>(axis.size()) == x.rank();
  for (size_t k = 0; k < sorted.size(); ++k) each &= sorted[k] == static_cast<int32_t>(k);
  i.check(each, "axis ", attr_text(axis), " must name every dimension of ", i.describe(slot),
          " once");
}

Shape permuted(const Shape& x, const Ints& axis) {
  Shape out;
  for (const int32_t a : axis) out.append(x[a]);
  return out;
}

void infer_from_x_shape(Infer& i) {
  const Shape& kept = i.shape("XShape");
  i.check(kept.rank() >= 1, i.describe("XShape"), " must start with 0");
  const int64_t was = kept.product(1, kept.rank()), found = i.shape("Out@GRAD").numel();
  i.check(was < 0 || found < 0 || was == found, "the gradient ", i.describe("Out@GRAD"), " and ",
          i.describe("XShape"), " must have as many elements");
  i.out("X@GRAD", kept.slice(1, kept.rank()), i.dtype("Out@GRAD"));
  i.share_lod("XShape", "X@GRAD");
}

void infer_transpose_grad(Infer& i) {
  infer_from_x_shape(i);
  const Shape x = i.shape("XShape").slice(1, i.shape("XShape").rank());
  const auto axis = i.attr<Ints>("axis");
  check_axis(i, axis, x, "XShape");
  i.check(permuted(x, axis).compatible(i.shape("Out@GRAD")), "the gradient ",
          i.describe("Out@GRAD"), " must have the shape ", permuted(x, axis));
}

// Nothing is to be done where the plan let both share their memory.
Kernel copy(Arg from, Arg to) {
  return [=](const Run& r) {
    const View &in = r[from], &out = r[to];
    if (in.data == out.data) return;
    Strided nest;
    nest.add(in.numel(), 1, 1);
    strided_copy(r, nest, size_of(in.dtype), out.data, in.data);
  };
}
Kernel bind_copy(const Bind& b) { return copy(b.in("X"), b.out("Out")); }
Kernel bind_copy_grad(const Bind& b) { return copy(b.in("Out@GRAD"), b.out("X@GRAD")); }

void infer_transpose(Infer& i) {
  const Shape& x = i.shape("X");
  const auto axis = i.attr<Ints>("axis");
  check_axis(i, axis, x, "X");
  out_as(i, permuted(x, axis), false);
}

// The elements of X in the order of Out; `to_out` says which of the two is written.
Kernel transpose(Arg x, Arg out, const Ints& axis, bool to_out) {
  return [=](const Run& r) {
    // Of the two shapes each is the other permuted; Out's is always at hand.
    const Shape& shape = r[out].shape;
    Shape original = shape;
    for (int k = 0; k < shape.rank(); ++k) original[axis[static_cast<size_t>(k)]] = shape[k];
    const Strides in_out(shape), in_x(original);
    Strided nest;
    for (int k = 0; k < shape.rank(); ++k) {
      const int64_t o = in_out[k], s = in_x[axis[static_cast<size_t>(k)]];
      nest.add(shape[k], to_out ? o : s, to_out ? s : o);
    }
    const View &from = r[to_out ? x : out], &to = r[to_out ? out : x];
    strided_copy(r, nest, size_of(from.dtype), to.data, from.data);
  };
}
Kernel bind_transpose(const Bind& b) {
  return transpose(b.in("X"), b.out("Out"), b.attr<Ints>("axis"), true);
}
Kernel bind_transpose_grad(const Bind& b) {
  return transpose(b.out("X@GRAD"), b.in("Out@GRAD"), b.attr<Ints>("axis"), false);
}

void infer_cast(Infer& i) {
  const DType from = dtype_attr(i.op().attrs, "in_dtype"),
              to = dtype_attr(i.op().attrs, "out_dtype");
  i.check(from == i.dtype("X"), "in_dtype is ", name_of(from), ", but X (", i.op().in["X"][0],
          ") is ", name_of(i.dtype("X")));
  i.out("Out", i.shape("X"), to);
  i.share_lod("X", "Out");
}

using CastCall = void (*)(const Device& d, int64_t n, const void* x, void* out);

template <class To>
struct CastTo {
  template <class From>
  PS_HD To operator()(From x) const {
    return static_cast<To>(x);
  }
};

template <class From, class To>
void cast_call(const Device& d, int64_t n, const void* x, void* out) {
  map(d, n, CastTo<To>{}, static_cast<To*>(out), static_cast<const From*>(x));
}

Kernel bind_cast(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const CastCall call = with_dtype(b.dtype("X"), [&](auto from) {
    return with_dtype(b.out_dtype("Out"),
                      [](auto to) -> CastCall { return cast_call<decltype(from), decltype(to)>; });
  });
  return [=](const Run& r) { call(r, r[x].numel(), r[x].data, r[out].data); };
}

std::vector<Op> cast_back(const Op& forward, const std::function<bool(const std::string&)>& want) {
  const std::string& x = forward.in["X"][0];
  Op g{.type = "cast", .attrs = forward.attrs};
  g.in.set("X", {grad_name(forward.out["Out"][0])});
  g.out.set("Out", {want(x) ? grad_name(x) : std::string(empty_name)});
  g.attrs.set("in_dtype", *forward.attrs.find("out_dtype"));
  g.attrs.set("out_dtype", *forward.attrs.find("in_dtype"));
  return {std::move(g)};
}

void infer_shape_of(Infer& i) { i.out("Out", {i.shape("Input").rank()}, DType::i32); }

Kernel bind_shape_of(const Bind& b) {
  const Arg in = b.in("Input"), out = b.out("Out");
  return [=](const Run& r) {
    int32_t lengths[Shape::max_rank];
    const int rank = r[in].shape.rank();
    for (int d = 0; d < rank; ++d) lengths[d] = static_cast<int32_t>(r[in].shape[d]);
    write_all(r, rank, lengths, r[out].as<int32_t>());
  };
}

const char* values_attr(DType t) {
  switch (t) {
    case DType::f32: return "fp32_values";
    case DType::i32: return "int32_values";
    case DType::i64: return "int64_values";
    default: return nullptr;
  }
}

void infer_assign_value(Infer& i) {
  const DType dtype = dtype_attr(i.op().attrs, "dtype");
  const char* name = values_attr(dtype);
  i.check(name != nullptr, "the dtype must be float32, int32 or int64, found ", name_of(dtype));
  const auto dims = i.attr<Longs>("shape");
  const Shape shape{std::span<const int64_t>(dims)};
  const auto count = std::visit(
      [](const auto& v) -> int64_t {
        if constexpr (requires { v.size(); })
          return static_cast<int64_t>(v.size());
        else
          return 1;
      },
      *i.op().attrs.find(name));
  i.check(shape.numel() == count, "the shape ", shape, " needs ", shape.numel(), " values, found ",
          count, " in ", name);
  i.out("Out", shape, dtype);
}

template <class List>
Kernel assign(Arg out, const List& values) {
  return [=](const Run& r) {
    write_all(r, static_cast<int64_t>(values.size()), values.data(),
              r[out].as<typename List::value_type>());
  };
}

Kernel bind_assign_value(const Bind& b) {
  const Arg out = b.out("Out");
  switch (b.out_dtype("Out")) {
    case DType::f32: return assign(out, b.attr<Floats>("fp32_values"));
    case DType::i32: return assign(out, b.attr<Ints>("int32_values"));
    default: return assign(out, b.attr<Longs>("int64_values"));
  }
}

// An op that keeps the elements and their order, and the gradient that gives X its shape back.
void add_reshaping(std::vector<OpDef>& defs, const std::string& type, const Attrs& attrs,
                   void (*infer)(Infer&), const GivenNumbers& numbers = {}) {
  std::vector<SlotDef> in = numbers.slots();
  in.insert(in.begin(), SlotDef{"X"});
  defs.push_back({.type = type,
                  .in = std::move(in),
                  .out = {{"Out"}, {"XShape", SlotDef::intermediate}},
                  .attrs = attrs,
                  .infer = infer,
                  .bind = bind_copy,
                  .grad = {type + "_grad", {"XShape", "Out@GRAD"}, {"X@GRAD"}},
                  .inplace = {{"X", "Out"}},
                  .shape_values = numbers.slot_names()});
  defs.push_back({.type = type + "_grad",
                  .in = {{"XShape"}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_from_x_shape,
                  .bind = bind_copy_grad,
                  .inplace = {{"Out@GRAD", "X@GRAD"}},
                  .shape_only = {"XShape"}});
}

}  // namespace

std::vector<OpDef> shape_ops() {
  constexpr int32_t f32 = static_cast<int32_t>(DType::f32);
  std::vector<OpDef> defs;
  add_reshaping(defs, "reshape2", {{"shape", Ints{}}}, infer_reshape, reshape_numbers);
  add_reshaping(defs, "squeeze2", {{"axes", Ints{}}}, infer_squeeze);
  add_reshaping(defs, "unsqueeze2", {{"axes", Ints{}}}, infer_unsqueeze);
  add_reshaping(defs, "flatten2", {{"axis", 1}}, infer_flatten);
  defs.push_back({.type = "transpose2",
                  .in = {{"X"}},
                  .out = {{"Out"}, {"XShape", SlotDef::intermediate}},
                  .attrs = {{"axis", Ints{}}},
                  .infer = infer_transpose,
                  .bind = bind_transpose,
                  .grad = {"transpose2_grad", {"XShape", "Out@GRAD"}, {"X@GRAD"}}});
  defs.push_back({.type = "transpose2_grad",
                  .in = {{"XShape"}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .attrs = {{"axis", Ints{}}},
                  .infer = infer_transpose_grad,
                  .bind = bind_transpose_grad,
                  .shape_only = {"XShape"}});
  defs.push_back({.type = "cast",
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .attrs = {{"in_dtype", f32}, {"out_dtype", f32}},
                  .infer = infer_cast,
                  .bind = bind_cast,
                  .make_grad = cast_back,
                  .required_attrs = {"in_dtype", "out_dtype"},
                  .elementwise = true});
  defs.push_back({.type = "shape",
                  .in = {{"Input"}},
                  .out = {{"Out"}},
                  .infer = infer_shape_of,
                  .bind = bind_shape_of,
                  .shape_only = {"Input"}});
  defs.push_back({.type = "assign_value",
                  .in = {},
                  .out = {{"Out"}},
                  .attrs = {{"shape", Ints{}},
                            {"dtype", f32},
                            {"fp32_values", Floats{}},
                            {"int32_values", Ints{}},
                            {"int64_values", Longs{}}},
                  .infer = infer_assign_value,
                  .bind = bind_assign_value});
  return defs;
}

}  // namespace paddle
