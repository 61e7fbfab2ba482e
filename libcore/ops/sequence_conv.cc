// sequence_conv: each row of a sequence beside its neighbours, times a filter. Rows beyond the ends
// of a sequence are 0.
#include "kernels/blas.h"
#include "kernels/each.h"
#include "kernels/memory.h"
#include "ops/common.h"
#include "ops/pieces.h"

namespace paddle {
namespace {

// For each row, where its sequence begins and ends.
struct RowSpan {
  int64_t begin, end;
};

// Row `row` of the matrix that the filter is multiplied with: `length` rows of X side by side.
template <class T>
struct SeqContext {
  int64_t start, length, width;
  const RowSpan* spans;
  const T* x;
  T* out;
  PS_HD void operator()(int64_t row) const {
    for (int64_t c = 0; c < length; ++c) {
      const int64_t from = row + start + c;
      const bool inside = from >= spans[row].begin && from < spans[row].end;
      T* to = out + (row * length + c) * width;
      for (int64_t d = 0; d < width; ++d) to[d] = inside ? x[from * width + d] : T(0);
    }
  }
};

// The gradient of row `row` of X: from every place where it stands.
template <class T>
struct SeqContextGrad {
  int64_t start, length, width;
  const RowSpan* spans;
  const T* dcontext;
  T* dx;
  PS_HD void operator()(int64_t row) const {
    for (int64_t d = 0; d < width; ++d) dx[row * width + d] = 0;
    for (int64_t c = 0; c < length; ++c) {
      const int64_t at = row - start - c;
      if (at < spans[row].begin || at >= spans[row].end) continue;
      for (int64_t d = 0; d < width; ++d)
        dx[row * width + d] += dcontext[(at * length + c) * width + d];
    }
  }
};

void check_seq_conv(const Infer& i) {
  const Shape &x = i.shape("X"), &filter = i.shape("Filter");
  const int64_t length = i.attr<int32_t>("contextLength");
  i.check(i.attr<int32_t>("contextStride") == 1, "contextStride must be 1");
  i.check(!i.attr<bool>("paddingTrainable"), "trainable padding is not supported");
  i.check(length >= 1, "contextLength must be at least 1, found ", length);
  i.check(x.rank() == 2, i.describe("X"), " must be [rows, width]");
  i.check(filter.rank() == 2 && (filter[0] < 0 || x[1] < 0 || filter[0] == length * x[1]),
          i.describe("Filter"), " must have ", length, " times as many rows as ", i.describe("X"),
          " has columns");
  i.check(i.dtype("X") == i.dtype("Filter"), "X and Filter must have one type");
}

void infer_seq_conv(Infer& i) {
  check_seq_conv(i);
  i.check(i.in("X").lod_level > 0, i.describe("X"), " must be a sequence (lod_level 1)");
  i.out("Out", {i.shape("X")[0], i.shape("Filter")[1]}, i.dtype("X"));
  i.share_lod("X", "Out");
}

void infer_seq_conv_grad(Infer& i) {
  check_seq_conv(i);
  const Shape& dout = i.shape("Out@GRAD");
  i.check(dout.compatible(Shape{i.shape("X")[0], i.shape("Filter")[1]}) &&
              i.dtype("Out@GRAD") == i.dtype("X"),
          i.describe("Out@GRAD"), " does not fit ", i.describe("X"), " and ", i.describe("Filter"));
  if (i.has_out("X@GRAD")) i.out_like("X@GRAD", "X");
  if (i.has_out("Filter@GRAD")) i.out_like("Filter@GRAD", "Filter");
}

// Of every row, into the device's memory.
const RowSpan* spans_of(const Run& r, const View& x, RowSpan* out) {
  require(x.lod != nullptr, Error::Kind::data,
          "op sequence_conv: the input has no LoD: feed it as a sequence");
  std::vector<RowSpan> host(static_cast<size_t>(x.shape[0]));
  const std::vector<size_t>& o = x.lod->back();
  for (size_t s = 0; s + 1 < o.size(); ++s)
    for (size_t row = o[s]; row < o[s + 1]; ++row)
      host[row] = {static_cast<int64_t>(o[s]), static_cast<int64_t>(o[s + 1])};
  write_all(r, x.shape[0], host.data(), out);
  return out;
}

struct SeqConvAttrs {
  explicit SeqConvAttrs(const Bind& b)
      : start(b.attr<int32_t>("contextStart")), length(b.attr<int32_t>("contextLength")) {}
  int64_t start, length;
};

template <class T>
const T* context_of(const Run& r, const SeqConvAttrs& a, const View& x, const RowSpan* spans,
                    T* out) {
  const int64_t rows = x.shape[0], width = x.shape[1];
  each(r, rows, a.length * width,
       SeqContext<T>{a.start, a.length, width, spans, x.as<const T>(), out});
  return out;
}

Kernel bind_seq_conv(const Bind& b) {
  const Arg x = b.in("X"), filter = b.in("Filter"), out = b.out("Out");
  const SeqConvAttrs a(b);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], inner = a.length * r[x].shape[1], n = r[filter].shape[1];
      Pieces memory(r, Pieces::bytes<RowSpan>(rows) + Pieces::bytes<T>(rows * inner));
      const RowSpan* spans = spans_of(r, r[x], memory.take<RowSpan>(rows));
      const T* context = context_of<T>(r, a, r[x], spans, memory.take<T>(rows * inner));
      if (rows > 0)
        gemm(r, false, false, rows, n, inner, T(1), context, inner, r[filter].as<const T>(), n,
             T(0), r[out].as<T>(), n);
    };
  });
}

Kernel bind_seq_conv_grad(const Bind& b) {
  const Arg x = b.in("X"), filter = b.in("Filter"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD"),
            dfilter = b.out("Filter@GRAD");
  const SeqConvAttrs a(b);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], width = r[x].shape[1], inner = a.length * width,
                    n = r[filter].shape[1];
      Pieces memory(r, Pieces::bytes<RowSpan>(rows) + Pieces::bytes<T>(rows * inner));
      const RowSpan* spans = spans_of(r, r[x], memory.take<RowSpan>(rows));
      T* context = memory.take<T>(rows * inner);
      if (rows == 0) {
        if (dfilter) fill(r, r[dfilter].numel(), r[dfilter].as<T>(), T(0));
        return;
      }
      if (dfilter)
        gemm(r, true, false, inner, n, rows, T(1), context_of<T>(r, a, r[x], spans, context), inner,
             r[dout].as<const T>(), n, T(0), r[dfilter].as<T>(), n);
      if (!dx) return;
      T* dcontext = context;  // the forward one is not needed any more
      gemm(r, false, true, rows, inner, n, T(1), r[dout].as<const T>(), n, r[filter].as<const T>(),
           n, T(0), dcontext, inner);
      each(r, rows, inner,
           SeqContextGrad<T>{a.start, a.length, width, spans, dcontext, r[dx].as<T>()});
    };
  });
}

}  // namespace

std::vector<OpDef> sequence_conv_ops() {
  const Attrs attrs{
      {"contextStart", 0}, {"contextLength", 1}, {"contextStride", 1}, {"paddingTrainable", false}};
  return {
      {.type = "sequence_conv",
       .in = {{"X"}, {"Filter"}},
       .out = {{"Out"}},
       .attrs = attrs,
       .infer = infer_seq_conv,
       .bind = bind_seq_conv,
       .grad = {"sequence_conv_grad", {"X", "Filter", "Out@GRAD"}, {"X@GRAD", "Filter@GRAD"}}},
      {.type = "sequence_conv_grad",
       .in = {{"X"}, {"Filter"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}, {"Filter@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_seq_conv_grad,
       .bind = bind_seq_conv_grad},
  };
}

}  // namespace paddle
