// Tensors put together and taken apart: concat, split, stack.
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

// A whole tensor seen as [outer, total, inner], and one part of it: `length` from `begin` on.
struct Part {
  int64_t outer, total, inner, begin, length;
};

// whole[:, begin : begin + length, :] = part
void write_part(const Device& device, const Part& p, size_t size, void* whole, const void* part) {
  Strided nest;
  nest.add(p.outer, p.total * p.inner, p.length * p.inner);
  nest.add(p.length * p.inner, 1, 1);
  strided_copy(device, nest, size, advance(whole, p.begin * p.inner, size), part);
}

void read_part(const Device& device, const Part& p, size_t size, const void* whole, void* part) {
  Strided nest;
  nest.add(p.outer, p.length * p.inner, p.total * p.inner);
  nest.add(p.length * p.inner, 1, 1);
  strided_copy(device, nest, size, part, advance(whole, p.begin * p.inner, size));
}

int positive(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

void infer_concat(Infer& i) {
  Shape out = i.shape("X");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), out.rank());
  for (int k = 1; k < i.count("X"); ++k) {
    const Shape& x = i.shape("X", k);
    Shape rest = x;
    if (rest.rank() == out.rank()) rest[axis] = out[axis];
    i.check(rest.compatible(out), i.describe("X"), " and ", i.describe("X", k),
            " differ in more than axis ", axis);
    i.check(i.dtype("X", k) == i.dtype("X"), i.describe("X"), " is ", name_of(i.dtype("X")),
            " and ", i.describe("X", k), " is ", name_of(i.dtype("X", k)),
            ": cast one of them first");
    for (int d = 0; d < out.rank(); ++d) {
      if (d == axis)
        out[d] = out[d] < 0 || x[d] < 0 ? -1 : out[d] + x[d];
      else if (out[d] < 0)
        out[d] = x[d];
    }
  }
  i.out("Out", out, i.dtype("X"));
  // Rows of several sequences one after the other are no longer the first one's sequences.
  if (axis != 0 || i.count("X") == 1) i.share_lod("X", "Out");
}

Kernel bind_concat(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto axis = b.attr<int32_t>("axis");
  return [=](const Run& r) {
    const Around a(r[out].shape, axis);
    const int at = positive(axis, r[out].shape.rank());
    int64_t begin = 0;
    for (int k = 0; k < x.count; ++k) {
      const View& part = r.at(x, k);
      const int64_t length = part.shape[at];
      write_part(r, {a.outer, a.n, a.inner, begin, length}, size_of(part.dtype), r[out].data,
                 part.data);
      begin += length;
    }
  };
}

// Parts of `whole` to the outputs in turn; an output that nobody wants is passed over. `lengths`
// gives each part's extent along the axis.
template <class Lengths>
void take_apart(const Run& r, const Around& a, const View& whole, Arg parts,
                const Lengths& length_of) {
  int64_t begin = 0;
  for (int k = 0; k < parts.count; ++k) {
    const int64_t length = length_of(k);
    const View& part = r.at(parts, k);
    if (part.data != nullptr)
      read_part(r, {a.outer, a.n, a.inner, begin, length}, size_of(whole.dtype), whole.data,
                part.data);
    begin += length;
  }
}

Kernel bind_concat_grad(const Bind& b) {
  const Arg x = b.in("X"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const auto axis = b.attr<int32_t>("axis");
  return [=](const Run& r) {
    const int at = positive(axis, r[dy].shape.rank());
    take_apart(r, Around(r[dy].shape, at), r[dy], dx, [&](int k) { return r.at(x, k).shape[at]; });
  };
}

void infer_split(Infer& i) {
  const Shape& x = i.shape("X");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), x.rank());
  const auto num = i.attr<int32_t>("num");
  const auto sections = i.attr<Ints>("sections");
  const int parts = i.count_out("Out");
  i.check(num > 0 || !sections.empty(), "one of num and sections must be given");
  const int wanted = num > 0 ? num : static_cast<int>(sections.size());
  i.check(wanted == parts, "there are ", parts, " outputs for ", wanted, " parts");
  int64_t sum = 0;
  for (const int32_t s : num > 0 ? Ints{} : sections) {
    i.check(s >= 0, "the sections ", attr_text(sections), " have a length of ", s);
    sum += s;
  }
  i.check(x[axis] < 0 || (num > 0 ? x[axis] % num == 0 : sum == x[axis]), "cannot split axis ",
          axis, " of ", i.describe("X"), " into ",
          num > 0 ? text(num, " equal parts") : attr_text(sections));
  for (int k = 0; k < parts; ++k) {
    Shape out = x;
    out[axis] = num == 0 ? sections[static_cast<size_t>(k)] : x[axis] < 0 ? -1 : x[axis] / num;
    i.out("Out", out, i.dtype("X"), k);
    if (axis != 0) i.share_lod("X", "Out", k);
  }
}

Kernel bind_split(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto axis = b.attr<int32_t>("axis");
  return [=](const Run& r) {
    const int at = positive(axis, r[x].shape.rank());
    take_apart(r, Around(r[x].shape, at), r[x], out, [&](int k) { return r.at(out, k).shape[at]; });
  };
}

std::vector<Op> join_again(const Op& forward, const std::function<bool(const std::string&)>& want) {
  const std::string& x = forward.in["X"][0];
  Names parts;
  for (const std::string& n : forward.out["Out"]) parts.push_back(grad_name(n));
  Op g{.type = "concat", .attrs = forward.attrs};
  g.in.set("X", std::move(parts));
  g.out.set("Out", {want(x) ? grad_name(x) : std::string(empty_name)});
  return {std::move(g)};
}

void infer_stack(Infer& i) {
  const Shape& x = i.shape("X");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), x.rank() + 1);
  for (int k = 1; k < i.count("X"); ++k) {
    i.check(i.shape("X", k).compatible(x), "the shapes of ", i.describe("X"), " and ",
            i.describe("X", k), " must be equal");
    i.check(i.dtype("X", k) == i.dtype("X"), i.describe("X"), " is ", name_of(i.dtype("X")),
            " and ", i.describe("X", k), " is ", name_of(i.dtype("X", k)));
  }
  Shape out = x.slice(0, axis);
  out.append(i.count("X"));
  for (int d = axis; d < x.rank(); ++d) out.append(x[d]);
  i.out("Y", out, i.dtype("X"));
}

Kernel bind_stack(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Y");
  const auto axis = b.attr<int32_t>("axis");
  return [=](const Run& r) {
    const Around a(r[out].shape, axis);
    for (int k = 0; k < x.count; ++k)
      write_part(r, {a.outer, a.n, a.inner, k, 1}, size_of(r[out].dtype), r[out].data,
                 r.at(x, k).data);
  };
}

void infer_stack_grad(Infer& i) {
  const Shape& y = i.shape("Y@GRAD");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), y.rank());
  i.check(y[axis] < 0 || y[axis] == i.count_out("X@GRAD"), "dimension ", axis, " of ",
          i.describe("Y@GRAD"), " must be the number of gradients that come out, ",
          i.count_out("X@GRAD"));
  Shape x = y.slice(0, axis);
  for (int d = axis + 1; d < y.rank(); ++d) x.append(y[d]);
  for (int k = 0; k < i.count_out("X@GRAD"); ++k) i.out("X@GRAD", x, i.dtype("Y@GRAD"), k);
}

Kernel bind_stack_grad(const Bind& b) {
  const Arg dy = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  const auto axis = b.attr<int32_t>("axis");
  return [=](const Run& r) {
    take_apart(r, Around(r[dy].shape, axis), r[dy], dx, [](int) { return 1; });
  };
}

}  // namespace

std::vector<OpDef> concat_ops() {
  const Attrs split_attrs = {{"sections", Ints{}}, {"num", 0}, {"axis", 0}};
  const SlotDef many_x{"X", SlotDef::many};
  const SlotDef many_grad{"X@GRAD", SlotDef::many | SlotDef::optional};
  return {
      {.type = "concat",
       .in = {many_x},
       .out = {{"Out"}},
       .attrs = {{"axis", 0}},
       .infer = infer_concat,
       .bind = bind_concat,
       .grad = {"concat_grad", {"X", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "concat_grad",
       .in = {many_x, {"Out@GRAD"}},
       .out = {many_grad},
       .attrs = {{"axis", 0}},
       .infer = infer_grad_same,
       .bind = bind_concat_grad,
       .shape_only = {"X"}},
      {.type = "split",
       .in = {{"X"}},
       .out = {{"Out", SlotDef::many}},
       .attrs = split_attrs,
       .infer = infer_split,
       .bind = bind_split,
       .make_grad = join_again},
      {.type = "split_byref",
       .in = {{"X"}},
       .out = {{"Out", SlotDef::many}},
       .attrs = split_attrs,
       .infer = infer_split,
       .bind = bind_split},
      {.type = "stack",
       .in = {many_x},
       .out = {{"Y"}},
       .attrs = {{"axis", 0}},
       .infer = infer_stack,
       .bind = bind_stack,
       .grad = {"stack_grad", {"Y@GRAD"}, {"X@GRAD"}}},
      {.type = "stack_grad",
       .in = {{"Y@GRAD"}},
       .out = {many_grad},
       .attrs = {{"axis", 0}},
       .infer = infer_stack_grad,
       .bind = bind_stack_grad},
  };
}

}  // namespace paddle
