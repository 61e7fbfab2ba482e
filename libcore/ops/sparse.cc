// Selected rows: merged, and as the dense tensor of their values.
#include "ops/common.h"
#include "ops/row_view.h"

namespace paddle {
namespace {

void check_rows_in(const Infer& i) {
  i.check(i.in("X").kind == VarKind::selected_rows, "X (", i.op().in["X"][0],
          ") must hold selected rows, found a dense tensor");
}

void infer_merge(Infer& i) {
  check_rows_in(i);
  i.out_like("Out", "X");
}

// Each row once, in rising order. How many there are is known only at run time, so the output keeps
// the input's length: what is left over names the first row and is 0, which changes no sum.
template <class T>
void merge(const Run& r, const View& x, View& out) {
  check_rows(r, x);
  const int64_t count = x.shape[0], width = row_width(x);
  out.rows = out.row_buffer;
  if (count == 0) return;
  auto* scratch = r.scratch.get<int64_t>(static_cast<int64_t>(row_scratch_bytes(count) / 8 + 1));
  const int64_t merged =
      merge_rows(r, x.rows, count, width, x.as<const T>(), scratch, out.row_buffer, out.as<T>());
  pad_rows(r, merged, count, width, out.row_buffer, out.as<T>());
}

Kernel bind_merge(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    return [=](const Run& r) { merge<decltype(t)>(r, r[x], r[out]); };
  });
}

void infer_values(Infer& i) {
  check_rows_in(i);
  i.out("Out", i.shape("X"), i.dtype("X"));
}

Kernel bind_values(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) { copy(r, r[x].numel(), r[out].as<T>(), r[x].as<const T>()); };
  });
}

}  // namespace

std::vector<OpDef> sparse_ops() {
  return {
      {.type = "merge_selected_rows",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_merge,
       .bind = bind_merge},
      {.type = "get_tensor_from_selected_rows",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_values,
       .bind = bind_values},
  };
}

}  // namespace paddle
