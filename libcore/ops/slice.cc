// Parts of tensors, and tensors repeated: slice, expand, expand_as.
#include <algorithm>

#include "kernels/memory.h"
#include "kernels/reducing.h"
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

const GivenNumbers start_numbers{"StartsTensor", "StartsTensorList", "starts"},
    end_numbers{"EndsTensor", "EndsTensorList", "ends"},
    times_numbers{"ExpandTimes", "expand_times_tensor", "expand_times"};

// What a slice takes.
struct Cuts {
  Ints axes;
  Longs starts, ends;
};

// Where a slice lies in its input: negative ends count from the back, and what lies outside is cut.
struct Box {
  Shape lengths;
  int64_t begin[Shape::max_rank] = {};

  Box(const Shape& x, const Cuts& cuts) : lengths(x) {
    const auto& [axes, starts, ends] = cuts;
    for (size_t k = 0; k < axes.size(); ++k) {
      const int64_t n = x[axes[k]];
      if (n < 0) continue;
      const auto place = [n](int64_t at) {
        return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n);
      };
      begin[axes[k]] = place(starts[k]);
      lengths[axes[k]] = std::max<int64_t>(place(ends[k]) - place(starts[k]), 0);
    }
  }
};

void infer_slice(Infer& i) {
  const Shape& x = i.shape("Input");
  const auto from = start_numbers.get(i), to = end_numbers.get(i);
  const auto known = i.attr<Ints>("axes");
  // Not known yet: like a slice of dimensions of unknown length.
  Shape seen = x;
  for (const int32_t a : known)
    if ((!from || !to) && a >= 0 && a < x.rank()) seen[a] = -1;
  const Longs any(known.size(), 0);
  const Cuts cuts{known, from.value_or(any), to.value_or(any)};
  const auto& [axes, starts, ends] = cuts;
  i.check(axes.size() == starts.size() && axes.size() == ends.size(), "axes ", attr_text(axes),
          ", starts ", attr_text(starts), " and ends ", attr_text(ends),
          " must have as many entries");
  for (const int32_t a : axes)
    i.check(a >= 0 && a < x.rank(), "axis ", a, " is outside of ", i.describe("Input"));
  const Box box(seen, cuts);
  for (size_t k = 0; k < axes.size(); ++k)
    i.check(seen[axes[k]] <= 0 || box.lengths[axes[k]] > 0, "the slice from ", starts[k], " to ",
            ends[k], " of axis ", axes[k], " of ", i.describe("Input"), " is empty");
  const auto dropped = i.attr<Ints>("decrease_axis");
  Shape out;
  for (int d = 0; d < x.rank(); ++d) {
    const bool drop = std::count(dropped.begin(), dropped.end(), d) > 0;
    i.check(!drop || box.lengths[d] == 1 || box.lengths[d] < 0, "axis ", d,
            " of decrease_axis has length ", box.lengths[d], ", not 1");
    if (!drop) out.append(box.lengths[d]);
  }
  if (out.rank() == 0) out.append(1);
  i.out("Out", out, i.dtype("Input"));
  if (std::count(axes.begin(), axes.end(), 0) == 0) i.share_lod("Input", "Out");
}

// The loops of a slice: first array the slice, second the whole.
Strided slice_nest(const Shape& x, const Box& box, int64_t& offset) {
  const Strides part(box.lengths), whole(x);
  Strided nest;
  offset = 0;
  for (int d = 0; d < x.rank(); ++d) {
    nest.add(box.lengths[d], part[d], whole[d]);
    offset += box.begin[d] * whole[d];
  }
  return nest;
}

Kernel bind_slice(const Bind& b) {
  const Arg x = b.in("Input"), out = b.out("Out");
  const auto axes = b.attr<Ints>("axes");
  const GivenNumbersArg starts(b, start_numbers), ends(b, end_numbers);
  return [=](const Run& r) {
    const Cuts cuts{axes, starts.get(r), ends.get(r)};
    int64_t offset;
    const Strided nest = slice_nest(r[x].shape, Box(r[x].shape, cuts), offset);
    const size_t size = size_of(r[x].dtype);
    strided_copy(r, nest, size, r[out].data, advance(r[x].data, offset, size));
  };
}

template <class T>
struct PutBack {
  const T* part;
  T* whole;
  PS_HD void operator()(int64_t in_part, int64_t in_whole) const {
    whole[in_whole] = part[in_part];
  }
};

Kernel bind_slice_grad(const Bind& b) {
  const Arg x = b.in("Input"), dy = b.in("Out@GRAD"), dx = b.out("Input@GRAD");
  const auto axes = b.attr<Ints>("axes");
  const GivenNumbersArg starts(b, start_numbers), ends(b, end_numbers);
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Cuts cuts{axes, starts.get(r), ends.get(r)};
      int64_t offset;
      const Strided nest = slice_nest(r[x].shape, Box(r[x].shape, cuts), offset);
      fill(r, r[dx].numel(), r[dx].as<T>(), T(0));
      strided_each(r, nest, PutBack<T>{r[dy].as<const T>(), r[dx].as<T>() + offset});
    };
  });
}

void infer_expand(Infer& i) {
  const Shape& x = i.shape("X");
  const auto known = times_numbers.get(i);
  const Longs times = known.value_or(Longs(static_cast<size_t>(x.rank()), 1));
  i.check(static_cast<int>(times.size()) == x.rank(), "expand_times ", attr_text(times),
          " must have one entry for each dimension of ", i.describe("X"));
  Shape out = x;
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t n = times[static_cast<size_t>(d)];
    i.check(n >= 1, "expand_times ", attr_text(times), " has an entry of ", n);
    if (out[d] >= 0) out[d] = known ? out[d] * n : -1;
  }
  i.out("Out", out, i.dtype("X"));
  if (x.rank() > 0 && known && times[0] == 1) i.share_lod("X", "Out");
}

void infer_expand_as(Infer& i) {
  const Shape &x = i.shape("X"), &target = i.shape("target_tensor");
  i.check(x.rank() == target.rank(), i.describe("X"), " and ", i.describe("target_tensor"),
          " must have as many dimensions");
  for (int d = 0; d < x.rank(); ++d)
    i.check(x[d] < 0 || target[d] < 0 || (x[d] > 0 && target[d] % x[d] == 0) || x[d] == target[d],
            "dimension ", d, " of ", i.describe("target_tensor"), " is no multiple of that of ",
            i.describe("X"));
  i.out("Out", target, i.dtype("X"));
}

// How often dimension d is repeated.
int64_t times_of(const Shape& x, const Shape& out, int d) { return x[d] > 0 ? out[d] / x[d] : 1; }

Kernel bind_expand(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return [=](const Run& r) {
    const Shape& shape = r[x].shape;
    const Strides from(shape), to(r[out].shape);
    Strided nest;
    for (int d = 0; d < shape.rank(); ++d) {
      nest.add(times_of(shape, r[out].shape, d), shape[d] * to[d], 0);
      nest.add(shape[d], to[d], from[d]);
    }
    strided_copy(r, nest, size_of(r[x].dtype), r[out].data, r[x].data);
  };
}

Kernel bind_expand_grad(const Bind& b) {
  const Arg x = b.in("X"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      Reduction sum;
      for (int d = 0; d < r[x].shape.rank(); ++d) {
        sum.add(times_of(r[x].shape, r[dy].shape, d), true);
        sum.add(r[x].shape[d], false);
      }
      sum.run<reducing::Sum>(r, r.scratch, r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

// Slots of the op, and these that numbers may be given in.
std::vector<SlotDef> with_numbers(std::vector<SlotDef> own,
                                  std::initializer_list<GivenNumbers> numbers) {
  for (const GivenNumbers& n : numbers)
    for (const SlotDef& s : n.slots()) own.push_back(s);
  return own;
}

}  // namespace

std::vector<OpDef> slice_ops() {
  const Attrs slice_attrs = {
      {"axes", Ints{}}, {"starts", Ints{}}, {"ends", Ints{}}, {"decrease_axis", Ints{}}};
  const std::vector<std::string> cut_slots = {"StartsTensor", "StartsTensorList", "EndsTensor",
                                              "EndsTensorList"};
  return {
      {.type = "slice",
       .in = with_numbers({{"Input"}}, {start_numbers, end_numbers}),
       .out = {{"Out"}},
       .attrs = slice_attrs,
       .infer = infer_slice,
       .bind = bind_slice,
       .grad = {"slice_grad",
                {"Input", "StartsTensor", "StartsTensorList", "EndsTensor", "EndsTensorList",
                 "Out@GRAD"},
                {"Input@GRAD"}},
       .shape_values = cut_slots},
      {.type = "slice_grad",
       .in = with_numbers({{"Input"}, {"Out@GRAD"}}, {start_numbers, end_numbers}),
       .out = {{"Input@GRAD", SlotDef::optional}},
       .attrs = slice_attrs,
       .infer = infer_grad_same,
       .bind = bind_slice_grad,
       .shape_only = {"Input"},
       .shape_values = cut_slots},
      {.type = "expand",
       .in = with_numbers({{"X"}}, {times_numbers}),
       .out = {{"Out"}},
       .attrs = {{"expand_times", Ints{}}},
       .infer = infer_expand,
       .bind = bind_expand,
       .grad = {"expand_grad", {"X", "ExpandTimes", "expand_times_tensor", "Out@GRAD"}, {"X@GRAD"}},
       .shape_values = times_numbers.slot_names()},
      {.type = "expand_grad",
       .in = with_numbers({{"X"}, {"Out@GRAD"}}, {times_numbers}),
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"expand_times", Ints{}}},
       .infer = infer_grad_same,
       .bind = bind_expand_grad,
       .shape_only = {"X"},
       .shape_values = times_numbers.slot_names()},
      {.type = "expand_as",
       .in = {{"X"}, {"target_tensor"}},
       .out = {{"Out"}},
       .infer = infer_expand_as,
       .bind = bind_expand,
       .grad = {"expand_as_grad", {"X", "target_tensor", "Out@GRAD"}, {"X@GRAD"}},
       .shape_only = {"target_tensor"}},
      {.type = "expand_as_grad",
       .in = {{"X"}, {"target_tensor"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .infer = infer_grad_same,
       .bind = bind_expand_grad,
       .shape_only = {"X", "target_tensor"}},
  };
}

}  // namespace paddle
