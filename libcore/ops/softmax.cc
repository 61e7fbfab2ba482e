// softmax and log_softmax along one axis. The last axis is the fast case; any other one is gathered
// column by column into rows.
#include <type_traits>

#include "ops/common.h"
#include "ops/softmax_rows.h"

namespace paddle {
namespace {

void infer_softmax(Infer& i) {
  resolve_axis(i, i.attr<int32_t>("axis"), i.shape("X").rank());
  infer_same(i);
}

void infer_softmax_grad(Infer& i) {
  resolve_axis(i, i.attr<int32_t>("axis"), i.shape("Out").rank());
  infer_grad_same(i);
}

// The row forms: each works on whole rows, and its output may be any of its inputs.
struct Softmax {
  template <class T>
  static void rows(ThreadPool& pool, int64_t rows, int64_t n, const T* x, T* out) {
    softmax_rows(pool, rows, n, x, out);
  }
};

template <class T>
PS_CLONES void shift_row(int64_t n, T by, T* x) {
  PS_IVDEP
  for (int64_t i = 0; i < n; ++i) x[i] -= by;
}

struct LogSoftmax {
  template <class T>
  static void rows(ThreadPool& pool, int64_t rows, int64_t n, const T* x, T* out) {
    pool.parallel_for(rows, std::max<int64_t>(1, map_grain / (n + 1)), [=](int64_t b, int64_t e) {
      std::vector<T> powers(static_cast<size_t>(n));
      for (int64_t r = b; r < e; ++r) {
        T top, sum;
        detail::exp_rows(1, n, x + r * n, powers.data(), &top, &sum);
        if (out != x) std::copy_n(x + r * n, n, out + r * n);
        // Two steps: the small part must not be lost in a large top.
        shift_row(n, top, out + r * n);
        shift_row(n, paddle::log(sum), out + r * n);
      }
    });
  }
};

struct SoftmaxGrad {
  template <class T>
  static void rows(ThreadPool& pool, int64_t rows, int64_t n, const T* y, const T* dy, T* dx) {
    for_row_groups(pool, rows, n, [=](int64_t first, int64_t count) {
      for (int64_t r = first; r < first + count; ++r) {
        const T dot = detail::dot_row(y + r * n, dy + r * n, n);
        detail::softmax_grad_row(n, dot, y + r * n, dy + r * n, dx + r * n);
      }
    });
  }
};

template <class T>
PS_CLONES void log_softmax_grad_row(int64_t n, const T* y, const T* dy, T* dx) {
  const T sum = reducing::reduce_row<reducing::Sum>(dy, n);
  PS_IVDEP
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - paddle::exp(y[i]) * sum;
}

struct LogSoftmaxGrad {
  template <class T>
  static void rows(ThreadPool& pool, int64_t rows, int64_t n, const T* y, const T* dy, T* dx) {
    for_row_groups(pool, rows, n, [=](int64_t first, int64_t count) {
      for (int64_t r = first; r < first + count; ++r)
        log_softmax_grad_row(n, y + r * n, dy + r * n, dx + r * n);
    });
  }
};

// Columns of [outer, n, inner] as rows of [outer * inner, n], and back.
template <class T>
void gather_columns(ThreadPool& pool, const Around& a, const T* from, T* rows) {
  pool.parallel_for(a.columns(), map_grain / (a.n + 1) + 1, [=](int64_t b, int64_t e) {
    for (int64_t c = b; c < e; ++c)
      for (int64_t k = 0; k < a.n; ++k) rows[c * a.n + k] = from[a.first(c) + k * a.inner];
  });
}
template <class T>
void scatter_columns(ThreadPool& pool, const Around& a, const T* rows, T* to) {
  pool.parallel_for(a.columns(), map_grain / (a.n + 1) + 1, [=](int64_t b, int64_t e) {
    for (int64_t c = b; c < e; ++c)
      for (int64_t k = 0; k < a.n; ++k) to[a.first(c) + k * a.inner] = rows[c * a.n + k];
  });
}

// F over the rows along an axis: directly where they are rows in memory.
template <class F, class T, class... In>
void along_axis(const Run& r, const Around& a, T* out, const In*... in) {
  const int64_t rows = a.columns(), size = rows * a.n;
  if (size == 0) return;
  if (a.inner == 1) return F::rows(r.pool, rows, a.n, in..., out);
  T* memory = r.scratch.get<T>(size * static_cast<int64_t>(sizeof...(in)));
  int64_t at = 0;
  const auto as_rows = [&](const T* from) -> const T* {
    T* to = memory + size * at++;
    gather_columns(r.pool, a, from, to);
    return to;
  };
  const T* given[] = {as_rows(in)...};
  if constexpr (sizeof...(in) == 1)
    F::rows(r.pool, rows, a.n, given[0], memory);
  else
    F::rows(r.pool, rows, a.n, given[0], given[1], memory);
  scatter_columns(r.pool, a, memory, out);
}

template <class F>
Kernel bind_forward(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  const auto axis = b.attr<int32_t>("axis");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      along_axis<F>(r, Around(r[x].shape, axis), r[out].as<T>(), r[x].as<const T>());
    };
  });
}

template <class F>
Kernel bind_backward(const Bind& b) {
  const Arg y = b.in("Out"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  const auto axis = b.attr<int32_t>("axis");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      along_axis<F>(r, Around(r[y].shape, axis), r[dx].as<T>(), r[y].as<const T>(),
                    r[dy].as<const T>());
    };
  });
}

template <class F, class G>
void add(std::vector<OpDef>& defs, const std::string& type) {
  const Attrs attrs = {{"axis", -1}};
  defs.push_back({.type = type,
                  .in = {{"X"}},
                  .out = {{"Out"}},
                  .attrs = attrs,
                  .infer = infer_softmax,
                  .bind = bind_forward<F>,
                  .grad = {type + "_grad", {"Out", "Out@GRAD"}, {"X@GRAD"}},
                  .inplace = {{"X", "Out"}}});
  defs.push_back({.type = type + "_grad",
                  .in = {{"Out"}, {"Out@GRAD"}},
                  .out = {{"X@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_softmax_grad,
                  .bind = bind_backward<G>,
                  .inplace = {{"Out@GRAD", "X@GRAD"}}});
}

}  // namespace

std::vector<OpDef> softmax_ops() {
  std::vector<OpDef> defs;
  add<Softmax, SoftmaxGrad>(defs, "softmax");
  add<LogSoftmax, LogSoftmaxGrad>(defs, "log_softmax");
  return defs;
}

}  // namespace paddle
