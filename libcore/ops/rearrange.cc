// Elements moved and added up along dimensions: cumsum, scatter, gather_nd, unstack; and
// shard_index.
#include "kernels/each.h"
#include "kernels/map.h"
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

// ---- cumsum along an axis

template <class T>
struct SumAlong {
  Around a;
  bool exclusive, reverse;
  const T* x;
  T* out;
  PS_HD void operator()(int64_t column) const {
    const int64_t first = a.first(column);
    T sum = 0;
    for (int64_t k = 0; k < a.n; ++k) {
      const int64_t at = first + (reverse ? a.n - 1 - k : k) * a.inner;
      const T value = x[at];
      out[at] = exclusive ? sum : sum + value;
      sum += value;
    }
  }
};

void infer_cumsum(Infer& i) {
  resolve_axis(i, i.attr<int32_t>("axis"), i.shape("X").rank());
  infer_same(i);
}

Kernel bind_cumsum(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto axis = b.attr<int32_t>("axis");
  const bool exclusive = b.attr<bool>("exclusive"), reverse = b.attr<bool>("reverse");
  return with_number(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Around a(r[x].shape, axis);
      each(r, a.columns(), a.n,
           SumAlong<T>{a, exclusive, reverse, r[x].as<const T>(), r[out].as<T>()});
    };
  });
}

// The gradient is the sum in the other direction.
std::vector<Op> cumsum_back(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  Op g{.type = "cumsum", .attrs = forward.attrs};
  g.attrs.set("reverse", !forward.attrs.get<bool>("reverse"));
  g.in.set("X", {grad_name(forward.out["Out"][0])});
  g.out.set("Out", {want(x) ? grad_name(x) : std::string(empty_name)});
  return {std::move(g)};
}

// ---- scatter: X with the rows that Ids name replaced by, or increased by, those of Updates

void check_index(const Infer& i, std::string_view slot) {
  const DType t = i.dtype(slot);
  i.check(t == DType::i64 || t == DType::i32, slot, " (", i.op().in[slot][0],
          ") must be int64 or int32, found ", name_of(t));
}

void infer_scatter(Infer& i) {
  const Shape &x = i.shape("X"), &ids = i.shape("Ids"), &updates = i.shape("Updates");
  check_index(i, "Ids");
  i.check(x.rank() >= 1 && updates.rank() == x.rank() &&
              updates.slice(1, updates.rank()).compatible(x.slice(1, x.rank())),
          "the rows of ", i.describe("Updates"), " and ", i.describe("X"), " must have one shape");
  i.check(ids.rank() == 1 || (ids.rank() == 2 && (ids[1] == 1 || ids[1] < 0)), i.describe("Ids"),
          " must be [N] or [N, 1]");
  i.check(ids[0] < 0 || updates[0] < 0 || ids[0] == updates[0], i.describe("Ids"), " and ",
          i.describe("Updates"), " must have as many rows");
  i.check(i.dtype("X") == i.dtype("Updates"), "X and Updates must have one type");
  i.out_like("Out", "X");
}

// The numbers as 64-bit ones, all within [0, height); `scratch` holds `count` of them.
const int64_t* checked_rows(const Run& r, const View& index, int64_t height, int64_t* scratch) {
  const int64_t n = index.numel();
  const int64_t* ids = index.as<const int64_t>();
  if (index.dtype == DType::i32) {
    widen_ids(r, index.as<const int32_t>(), n, scratch);
    ids = scratch;
  }
  const int64_t bad = first_bad_id(r, ids, n, height);
  require(bad < 0, Error::Kind::data, "entry ", bad, " of the indices is ",
          bad < 0 ? 0 : read_one(r, ids + bad), ", which is outside of ", height,
          " rows: correct the indices");
  return ids;
}

Kernel bind_scatter(const Bind& b) {
  const Arg x = b.in("X"), ids = b.in("Ids"), updates = b.in("Updates"), out = b.out("Out");
  const bool overwrite = b.attr<bool>("overwrite");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[x].shape;
      const int64_t n = r[ids].numel(), width = s.product(1, s.rank());
      const int64_t* rows = checked_rows(r, r[ids], s[0], r.scratch.get<int64_t>(n));
      copy(r, r[x].numel(), r[out].as<T>(), r[x].as<const T>());
      if (overwrite)
        return scatter_rows(r, rows, n, width, r[updates].as<const T>(), r[out].as<T>());
      // Rows that are named begin with 0.
      for (int64_t k = 0; k < n; ++k)
        fill(r, width, r[out].as<T>() + read_one(r, rows + k) * width, T(0));
      scatter_add_rows(r, rows, n, width, T(1), r[updates].as<const T>(), r[out].as<T>());
    };
  });
}

void infer_scatter_grad(Infer& i) {
  check_index(i, "Ids");
  const Shape &dout = i.shape("Out@GRAD"), &ids = i.shape("Ids");
  i.check(dout.rank() >= 1 && ids.rank() >= 1, i.describe("Out@GRAD"), " needs rows");
  if (i.has_out("X@GRAD")) i.out_like("X@GRAD", "Out@GRAD");
  if (!i.has_out("Updates@GRAD")) return;
  Shape updates = dout;
  updates[0] = ids.numel();
  i.out("Updates@GRAD", updates, i.dtype("Out@GRAD"));
}

Kernel bind_scatter_grad(const Bind& b) {
  const Arg ids = b.in("Ids"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD"),
            dupdates = b.out("Updates@GRAD");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& s = r[dout].shape;
      const int64_t n = r[ids].numel(), width = s.product(1, s.rank());
      const int64_t* rows = checked_rows(r, r[ids], s[0], r.scratch.get<int64_t>(n));
      if (dupdates)
        gather_row_bytes(r, rows, n, static_cast<size_t>(width) * sizeof(T), r[dout].data,
                         r[dupdates].data);
      if (!dx) return;
      copy(r, r[dout].numel(), r[dx].as<T>(), r[dout].as<const T>());
      for (int64_t k = 0; k < n; ++k)
        fill(r, width, r[dx].as<T>() + read_one(r, rows + k) * width, T(0));
    };
  });
}

// ---- gather_nd: slices of X by indices of its first dimensions, [..., how many dimensions]

// The slice that each index stands for, counted in slices.
template <class I>
struct SlicePlace {
  int depth;
  int64_t lengths[Shape::max_rank];
  const I* index;
  int64_t* out;  // -1 where an index lies outside
  PS_HD void operator()(int64_t k) const {
    int64_t at = 0;
    for (int d = 0; d < depth; ++d) {
      const auto i = static_cast<int64_t>(index[k * depth + d]);
      if (i < 0 || i >= lengths[d]) {
        at = -1;
        break;
      }
      at = at * lengths[d] + i;
    }
    out[k] = at;
  }
};

void infer_gather_nd(Infer& i) {
  const Shape &x = i.shape("X"), &index = i.shape("Index");
  check_index(i, "Index");
  i.check(index.rank() >= 1, i.describe("Index"), " needs at least one dimension");
  const int64_t depth = index[index.rank() - 1];
  i.check(depth >= 1 && depth <= x.rank(), "the last dimension of ", i.describe("Index"),
          " must be from 1 to the number of dimensions of ", i.describe("X"));
  Shape out = index.slice(0, index.rank() - 1);
  i.check(out.rank() + x.rank() - depth <= Shape::max_rank, "the result would have more than ",
          Shape::max_rank, " dimensions");
  for (int d = static_cast<int>(depth); d < x.rank(); ++d) out.append(x[d]);
  if (out.rank() == 0) out.append(1);
  i.out("Out", out, i.dtype("X"));
}

struct Slices {
  int64_t count, width;
  const int64_t* places;
};

// Of x, for indices that were checked.
Slices slices(const Run& r, const Shape& x, const View& index) {
  const auto depth = static_cast<int>(index.shape[index.shape.rank() - 1]);
  const int64_t count = index.numel() / depth;
  auto* places = r.scratch.get<int64_t>(count);
  with_int(index.dtype, [&](auto t) {
    using I = decltype(t);
    SlicePlace<I> f{depth, {}, index.as<const I>(), places};
    for (int d = 0; d < depth; ++d) f.lengths[d] = x[d];
    each(r, count, depth, f);
  });
  const int64_t bad = first_bad_id(r, places, count, x.product(0, depth));
  require(bad < 0, Error::Kind::data, "op gather_nd: entry ", bad,
          " of Index lies outside of X, which is ", x, ": correct the indices");
  return {count, x.product(depth, x.rank()), places};
}

Kernel bind_gather_nd(const Bind& b) {
  const Arg x = b.in("X"), index = b.in("Index"), out = b.out("Out");
  return [=](const Run& r) {
    const Slices s = slices(r, r[x].shape, r[index]);
    gather_row_bytes(r, s.places, s.count, static_cast<size_t>(s.width) * size_of(r[x].dtype),
                     r[x].data, r[out].data);
  };
}

Kernel bind_gather_nd_grad(const Bind& b) {
  const Arg index = b.in("Index"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Slices s = slices(r, r[dx].shape, r[index]);
      fill(r, r[dx].numel(), r[dx].as<T>(), T(0));
      scatter_add_rows(r, s.places, s.count, s.width, T(1), r[dout].as<const T>(), r[dx].as<T>());
    };
  });
}

// ---- unstack: the slices of one dimension, each without it

void infer_unstack(Infer& i) {
  const Shape& x = i.shape("X");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), x.rank());
  const int parts = i.count_out("Y");
  i.check(x[axis] < 0 || x[axis] == parts, "dimension ", axis, " of ", i.describe("X"),
          " has length ", x[axis], ", and there are ", parts, " outputs");
  Shape out = x.slice(0, axis);
  for (int d = axis + 1; d < x.rank(); ++d) out.append(x[d]);
  for (int k = 0; k < parts; ++k) i.out("Y", out, i.dtype("X"), k);
}

Kernel bind_unstack(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Y");
  const auto axis = b.attr<int32_t>("axis");
  return [=](const Run& r) {
    const Around a(r[x].shape, axis);
    const size_t size = size_of(r[x].dtype);
    for (int k = 0; k < out.count; ++k) {
      if (r.at(out, k).data == nullptr) continue;
      Strided nest;
      nest.add(a.outer, a.inner, a.n * a.inner);
      nest.add(a.inner, 1, 1);
      strided_copy(r, nest, size, r.at(out, k).data, advance(r[x].data, k * a.inner, size));
    }
  };
}

std::vector<Op> stack_again(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  Names parts;
  for (const std::string& n : forward.out["Y"]) parts.push_back(grad_name(n));
  Op g{.type = "stack", .attrs = {{"axis", forward.attrs.get<int32_t>("axis")}}};
  g.in.set("X", std::move(parts));
  g.out.set("Y", {want(x) ? grad_name(x) : std::string(empty_name)});
  return {std::move(g)};
}

// PaddlePaddle's programs have an op of its own for it.
void infer_unstack_grad(Infer& i) {
  const Shape& y = i.shape("Y@GRAD");
  const int axis = resolve_axis(i, i.attr<int32_t>("axis"), y.rank() + 1);
  for (int k = 1; k < i.count("Y@GRAD"); ++k)
    i.check(i.shape("Y@GRAD", k).compatible(y) && i.dtype("Y@GRAD", k) == i.dtype("Y@GRAD"),
            i.describe("Y@GRAD"), " and ", i.describe("Y@GRAD", k), " must be alike");
  i.check(y.rank() < Shape::max_rank, i.describe("Y@GRAD"), " has too many dimensions");
  Shape x = y.slice(0, axis);
  x.append(i.count("Y@GRAD"));
  for (int d = axis; d < y.rank(); ++d) x.append(y[d]);
  i.out("X@GRAD", x, i.dtype("Y@GRAD"));
}

Kernel bind_unstack_grad(const Bind& b) {
  const Arg dy = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const auto axis = b.attr<int32_t>("axis");
  return [=](const Run& r) {
    const Around a(r[dx].shape, axis);
    const size_t size = size_of(r[dx].dtype);
    for (int k = 0; k < dy.count; ++k) {
      Strided nest;
      nest.add(a.outer, a.n * a.inner, a.inner);
      nest.add(a.inner, 1, 1);
      strided_copy(r, nest, size, advance(r[dx].data, k * a.inner, size), r.at(dy, k).data);
    }
  };
}

// ---- shard_index: the place of an id within its shard; `ignore_value` for ids of other shards

template <class T>
struct ShardPlace {
  T size, shard, ignore;
  PS_INLINE PS_HD T operator()(T id) const { return id / size == shard ? id % size : ignore; }
};

void infer_shard_index(Infer& i) {
  check_index(i, "X");
  const auto index_num = i.attr<int32_t>("index_num"), shards = i.attr<int32_t>("nshards"),
             shard = i.attr<int32_t>("shard_id");
  i.check(index_num > 0 && shards > 0 && shard >= 0 && shard < shards,
          "index_num and nshards must be above 0, and shard_id from 0 to nshards - 1; found ",
          index_num, ", ", shards, " and ", shard);
  infer_same(i);
}

Kernel bind_shard_index(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto index_num = b.attr<int32_t>("index_num"), shards = b.attr<int32_t>("nshards"),
             shard = b.attr<int32_t>("shard_id"), ignore = b.attr<int32_t>("ignore_value");
  return with_int(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    const ShardPlace<T> f{static_cast<T>((int64_t{index_num} + shards - 1) / shards),
                          static_cast<T>(shard), static_cast<T>(ignore)};
    return [=](const Run& r) { map(r, r[x].numel(), f, r[out].as<T>(), r[x].as<const T>()); };
  });
}

}  // namespace

std::vector<OpDef> rearrange_ops() {
  const SlotDef dx{"X@GRAD", SlotDef::optional};
  return {
      {.type = "cumsum",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = {{"axis", -1}, {"exclusive", false}, {"reverse", false}},
       .infer = infer_cumsum,
       .bind = bind_cumsum,
       .make_grad = cumsum_back},
      {.type = "scatter",
       .in = {{"X"}, {"Ids"}, {"Updates"}},
       .out = {{"Out"}},
       .attrs = {{"overwrite", true}},
       .infer = infer_scatter,
       .bind = bind_scatter,
       .grad = {"scatter_grad", {"Ids", "Updates", "Out@GRAD"}, {"X@GRAD", "Updates@GRAD"}},
       .inplace = {{"X", "Out"}}},
      {.type = "scatter_grad",
       .in = {{"Ids"}, {"Updates", SlotDef::optional}, {"Out@GRAD"}},
       .out = {dx, {"Updates@GRAD", SlotDef::optional}},
       .attrs = {{"overwrite", true}},
       .infer = infer_scatter_grad,
       .bind = bind_scatter_grad,
       .shape_only = {"Updates"}},
      {.type = "gather_nd",
       .in = {{"X"}, {"Index"}},
       .out = {{"Out"}},
       .infer = infer_gather_nd,
       .bind = bind_gather_nd,
       .grad = {"gather_nd_grad", {"X", "Index", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "gather_nd_grad",
       .in = {{"X"}, {"Index"}, {"Out@GRAD"}},
       .out = {dx},
       .infer = infer_grad_same,
       .bind = bind_gather_nd_grad,
       .shape_only = {"X"}},
      {.type = "unstack",
       .in = {{"X"}},
       .out = {{"Y", SlotDef::many}},
       .attrs = {{"axis", 0}, {"num", 0}},
       .infer = infer_unstack,
       .bind = bind_unstack,
       .make_grad = stack_again},
      {.type = "unstack_grad",
       .in = {{"Y@GRAD", SlotDef::many}},
       .out = {dx},
       .attrs = {{"axis", 0}, {"num", 0}},
       .infer = infer_unstack_grad,
       .bind = bind_unstack_grad},
      {.type = "shard_index",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = {{"index_num", 0}, {"nshards", 1}, {"shard_id", 0}, {"ignore_value", -1}},
       .infer = infer_shard_index,
       .bind = bind_shard_index,
       .required_attrs = {"index_num", "nshards", "shard_id"}},
  };
}

}  // namespace paddle
