// Elements found by index or by size: gather, one_hot, arg_max, arg_min, top_k.
#include "kernels/select.h"

#include "kernels/memory.h"
#include "kernels/rows.h"
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

void check_int(const Infer& i, std::string_view slot) {
  const DType t = i.dtype(slot);
  i.check(t == DType::i64 || t == DType::i32, slot, " (", i.op().in[slot][0],
          ") must be int64 or int32, found ", name_of(t));
}

void infer_gather(Infer& i) {
  const Shape &x = i.shape("X"), &index = i.shape("Index");
  check_int(i, "Index");
  i.check(x.rank() >= 1, i.describe("X"), " needs rows to gather");
  i.check(index.rank() == 1 || (index.rank() == 2 && (index[1] == 1 || index[1] < 0)),
          "the shape of ", i.describe("Index"), " must be [N] or [N, 1]");
  Shape out = x;
  out[0] = index[0];
  i.out("Out", out, i.dtype("X"));
}

// The ids as 64-bit numbers, all within [0, height).
const int64_t* checked_ids(const Run& r, const View& index, int64_t height) {
  const int64_t n = index.numel();
  const int64_t* ids = index.as<const int64_t>();
  if (index.dtype == DType::i32) {
    auto* wide = r.scratch.get<int64_t>(n);
    widen_ids(r, index.as<const int32_t>(), n, wide);
    ids = wide;
  }
  const int64_t bad = first_bad_id(r, ids, n, height);
  require(bad < 0, Error::Kind::data, "op gather: entry ", bad, " of Index is ",
          bad < 0 ? 0 : read_one(r, ids + bad), ", which is outside of X's ", height,
          " rows: correct the indices");
  return ids;
}

Kernel bind_gather(const Bind& b) {
  const Arg x = b.in("X"), index = b.in("Index"), out = b.out("Out");
  return [=](const Run& r) {
    const Shape& s = r[x].shape;
    const int64_t width = s.product(1, s.rank()), n = r[index].numel();
    const int64_t* ids = checked_ids(r, r[index], s[0]);
    gather_row_bytes(r, ids, n, static_cast<size_t>(width) * size_of(r[x].dtype), r[x].data,
                     r[out].data);
  };
}

Kernel bind_gather_grad(const Bind& b) {
  const Arg index = b.in("Index"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const bool overwrite = b.attr<bool>("overwrite");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[dx].shape;
      fill(r, r[dx].numel(), r[dx].as<T>(), T(0));
      if (overwrite)
        return scatter_rows(r, checked_ids(r, r[index], s[0]), r[index].numel(),
                            s.product(1, s.rank()), r[dy].as<const T>(), r[dx].as<T>());
      scatter_add_rows(r, checked_ids(r, r[index], s[0]), r[index].numel(), s.product(1, s.rank()),
                       T(1), r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

const GivenNumbers depth_number{"depth_tensor", "", "depth"}, k_number{"K", "", "k"};

// The one number of an attribute, or of a tensor in its place; -1 where that is not known yet.
int64_t one_given(const Infer& i, const GivenNumbers& given) {
  if (!given.by_tensor(i.op())) return i.attr<int32_t>(given.attr);
  const auto all = given.get(i);
  if (!all) return -1;
  i.check(all->size() == 1, i.describe(given.whole), " must have one element");
  i.check(all->front() > 0, given.attr, " must be above 0, found ", all->front());
  return all->front();
}

void infer_one_hot(Infer& i) {
  Shape out = i.shape("X");
  const int64_t depth = one_given(i, depth_number);
  check_int(i, "X");
  i.check(depth > 0 || i.has("depth_tensor"), "depth must be above 0, found ", depth);
  if (i.op().type == "one_hot_v2") {
    i.check(out.rank() >= 1, i.describe("X"), " needs at least one dimension");
    out.append(depth);
  } else {
    i.check(out.rank() >= 2 && (out[out.rank() - 1] == 1 || out[out.rank() - 1] < 0),
            "the shape of ", i.describe("X"),
            " must end in a dimension of 1 after others; fluid.one_hot (one_hot_v2) "
            "takes any shape and adds a dimension");
    out[out.rank() - 1] = depth;
  }
  i.out("Out", out, dtype_attr(i.op().attrs, "dtype"));
  i.share_lod("X", "Out");
}

Kernel bind_one_hot(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const bool any = b.attr<bool>("allow_out_of_range");
  return with_int(b.dtype("X"), [&](auto i) {
    return with_dtype(b.out_dtype("Out"), [&](auto t) -> Kernel {
      using Id = decltype(i);
      using T = decltype(t);
      return [=](const Run& r) {
        const Id* ids = r[x].as<const Id>();
        const int64_t depth = r[out].shape[r[out].shape.rank() - 1];
        const int64_t n = r[x].numel(), bad = one_hot(r, n, depth, ids, r[out].as<T>());
        require(bad < 0 || any, Error::Kind::data, "op one_hot: the id ",
                bad < 0 ? Id{0} : read_one(r, ids + bad), " at place ", bad, " is outside of [0, ",
                depth, "): raise depth or correct the data");
      };
    });
  });
}

void infer_arg(Infer& i) {
  const Shape& x = i.shape("X");
  const int axis = resolve_axis(i, static_cast<int>(i.attr<int64_t>("axis")), x.rank());
  i.check(x[axis] != 0, "axis ", axis, " of ", i.describe("X"),
          " is empty: there is nothing to find");
  Shape out;
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis) out.append(x[d]);
  if (out.rank() == 0) out.append(1);
  i.out("Out", out, DType::i64);
}

// The first of equal elements wins.
template <bool largest>
Kernel bind_arg(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto axis = static_cast<int>(b.attr<int64_t>("axis"));
  return with_dtype(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      arg_extreme<largest>(r, Around(r[x].shape, axis), r[x].as<const T>(), r[out].as<int64_t>());
    };
  });
}

void infer_top_k(Infer& i) {
  Shape out = i.shape("X");
  const int64_t k = one_given(i, k_number);
  i.check(out.rank() >= 1, i.describe("X"), " needs a dimension to choose from");
  int64_t& last = out[out.rank() - 1];
  i.check((k < 0 && i.has("K")) || (k >= 1 && (last < 0 || k <= last)), "k is ", k, ", but ",
          i.describe("X"), " has ", last, " elements per row");
  last = k;
  i.out("Out", out, i.dtype("X"));
  i.out("Indices", out, DType::i64);
  i.share_lod("X", "Out");
  i.share_lod("X", "Indices");
}

Kernel bind_top_k(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out"), indices = b.out("Indices");
  return with_dtype(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, -1);
      const int64_t k = r[out].shape[r[out].shape.rank() - 1];
      top_k(r, a.outer, a.n, k, r[x].as<const T>(), r[out].as<T>(), r[indices].as<int64_t>());
    };
  });
}

Kernel bind_top_k_grad(const Bind& b) {
  const Arg indices = b.in("Indices"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[dx].shape, -1);
      const int64_t k = r[indices].shape[r[indices].shape.rank() - 1];
      const auto* ids = r[indices].as<const int64_t>();
      const int64_t bad = first_bad_id(r, ids, a.outer * k, a.n);
      require(bad < 0, Error::Kind::data, "place ", bad < 0 ? 0 : read_one(r, ids + bad), " of '",
              "Indices", "' is outside of rows of ", a.n, " elements");
      top_k_grad(r, a.outer, a.n, k, ids, r[dy].as<const T>(), r[dx].as<T>());
    };
  });
}

}  // namespace

std::vector<OpDef> select_ops() {
  const OpDef arg{
      .in = {{"X"}}, .out = {{"Out"}}, .attrs = {{"axis", int64_t{-1}}}, .infer = infer_arg};
  OpDef arg_max = arg, arg_min = arg;
  arg_max.type = "arg_max";
  arg_max.bind = bind_arg<true>;
  arg_min.type = "arg_min";
  arg_min.bind = bind_arg<false>;
  const OpDef one_hot{.type = "one_hot",
                      .in = {{"X"}, {"depth_tensor", SlotDef::optional}},
                      .out = {{"Out"}},
                      .attrs = {{"depth", -1},
                                {"dtype", static_cast<int32_t>(DType::f32)},
                                {"allow_out_of_range", false}},
                      .infer = infer_one_hot,
                      .bind = bind_one_hot,
                      .shape_values = {"depth_tensor"}};
  OpDef one_hot_v2 = one_hot;
  one_hot_v2.type = "one_hot_v2";
  // Which gradient a row gets that was gathered more than once: the sum, or (PaddlePaddle's layer
  // unless it is said otherwise) the last.
  const Attrs gather_attrs{{"overwrite", false}};
  return {
      {.type = "gather",
       .in = {{"X"}, {"Index"}},
       .out = {{"Out"}},
       .attrs = gather_attrs,
       .infer = infer_gather,
       .bind = bind_gather,
       .grad = {"gather_grad", {"X", "Index", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "gather_grad",
       .in = {{"X"}, {"Index"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = gather_attrs,
       .infer = infer_grad_same,
       .bind = bind_gather_grad,
       .shape_only = {"X"}},
      one_hot,
      one_hot_v2,
      arg_max,
      arg_min,
      {.type = "top_k",
       .in = {{"X"}, {"K", SlotDef::optional}},
       .out = {{"Out"}, {"Indices"}},
       .attrs = {{"k", 1}},
       .infer = infer_top_k,
       .bind = bind_top_k,
       .grad = {"top_k_grad", {"X", "K", "Indices", "Out@GRAD"}, {"X@GRAD"}},
       .shape_values = {"K"}},
      {.type = "top_k_grad",
       .in = {{"X"}, {"K", SlotDef::optional}, {"Indices"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"k", 1}},
       .infer = infer_grad_same,
       .bind = bind_top_k_grad,
       .shape_only = {"X"},
       .shape_values = {"K"}},
  };
}

}  // namespace paddle
