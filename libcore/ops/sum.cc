// The sum of many: dense tensors, selected rows, or both.
#include "kernels/map.h"
#include "kernels/memory.h"
#include "ops/common.h"
#include "ops/row_view.h"

namespace paddle {
namespace {

bool is_rows(const Meta& m) { return m.kind == VarKind::selected_rows; }

// The shape of the whole table that an input stands for.
Shape whole(const Meta& m) {
  Shape s = m.shape;
  if (is_rows(m) && s.rank() > 0) s[0] = m.height;
  return s;
}

void infer_sum(Infer& i) {
  const Shape first = whole(i.in("X"));
  bool all_rows = true;
  int64_t rows = 0;
  for (int k = 0, n = i.count("X"); k < n; ++k) {
    const Meta& m = i.in("X", k);
    i.check(whole(m).compatible(first), "the shapes of ", i.describe("X"), " and ",
            i.describe("X", k), " must be equal");
    i.check(m.dtype == i.dtype("X"), "X is ", name_of(i.dtype("X")), " and its part ", k, " is ",
            name_of(m.dtype));
    all_rows = all_rows && is_rows(m);
    if (is_rows(m)) rows = rows < 0 || m.shape[0] < 0 ? -1 : rows + m.shape[0];
  }
  if (all_rows) {
    Shape value = first;
    value[0] = rows;
    return i.out_rows("Out", value, i.dtype("X"), first[0]);
  }
  i.out("Out", first, i.dtype("X"));
  if (!is_rows(i.in("X"))) i.share_lod("X", "Out");
}

// All inputs are selected rows: one after the other.
template <class T>
void concat_rows(const Run& r, Arg x, Arg out) {
  View& to = r[out];
  int64_t at = 0;
  for (int k = 0; k < x.count; ++k) {
    const View& from = r.at(x, k);
    const int64_t rows = from.shape[0], n = from.numel();
    copy(r, rows, to.row_buffer + at, from.rows);
    // In place the first input is there already, and nothing follows it.
    copy(r, n, to.as<T>() + at * row_width(to), from.as<const T>());
    at += rows;
  }
  to.rows = to.row_buffer;
}

template <class T>
struct Times {
  T factor;
  PS_HD T operator()(T x) const { return factor * x; }
};
struct Plus {
  template <class T>
  PS_HD T operator()(T a, T b) const {
    return a + b;
  }
};

// Out may lie in the memory of the first input, and that input may be given again: it counts as
// often as it is there. The others are added one by one.
template <class T>
void sum_dense_part(const Run& r, Arg x, Arg out) {
  T* to = r[out].as<T>();
  const int64_t n = r[out].numel();
  int64_t started = 0;
  for (int k = 0; k < x.count; ++k) started += !r.at(x, k).is_rows && r.at(x, k).data == to;
  if (started > 1) map(r, n, Times<T>{static_cast<T>(started)}, to, static_cast<const T*>(to));
  for (int k = 0; k < x.count; ++k) {
    const View& v = r.at(x, k);
    if (v.is_rows || v.data == to) continue;
    if (started++ == 0)
      copy(r, n, to, v.as<const T>());
    else
      map(r, n, Plus{}, to, static_cast<const T*>(to), v.as<const T>());
  }
}

// Selected rows are added to what the dense inputs gave.
template <class T>
void sum_mixed(const Run& r, Arg x, Arg out) {
  View& to = r[out];
  // The first input's memory may have become Out's; as rows it is needed until the end.
  const View& first = r[x];
  const T* first_values = first.as<const T>();
  if (first.is_rows && first.data == to.data) {
    T* saved = r.scratch.get<T>(first.numel());
    copy(r, first.numel(), saved, first_values);
    first_values = saved;
  }
  sum_dense_part<T>(r, x, out);
  for (int k = 0; k < x.count; ++k) {
    const View& v = r.at(x, k);
    if (!v.is_rows) continue;
    check_rows(r, v);
    scatter_add_rows(r, v.rows, v.shape[0], row_width(v), T(1),
                     k == 0 ? first_values : v.as<const T>(), to.as<T>());
  }
}

Kernel bind_sum(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  int rows = 0;
  for (int k = 0; k < x.count; ++k) rows += b.is_rows("X", k);
  if (rows > 0)
    return with_float(b.dtype("X"), [&](auto t) -> Kernel {
      using T = decltype(t);
      if (rows == x.count) return [=](const Run& r) { concat_rows<T>(r, x, out); };
      return [=](const Run& r) { sum_mixed<T>(r, x, out); };
    });
  return with_number(b.dtype("X"), [&](auto t) -> Kernel {
    return [=](const Run& r) { sum_dense_part<decltype(t)>(r, x, out); };
  });
}

std::vector<Op> sum_grad(const Op& forward, const Want& want) {
  std::vector<Op> ops;
  for (const std::string& name : forward.in["X"])
    if (want(name)) ops.push_back(scaled_grad(forward, name, 1));
  return ops;
}

}  // namespace

std::vector<OpDef> sum_ops() {
  return {
      {.type = "sum",
       .in = {{"X", SlotDef::many}},
       .out = {{"Out"}},
       .attrs = {{"use_mkldnn", false}},
       .infer = infer_sum,
       .bind = bind_sum,
       .make_grad = sum_grad,
       .inplace = {{"X", "Out"}},
       .elementwise = true},
  };
}

}  // namespace paddle
