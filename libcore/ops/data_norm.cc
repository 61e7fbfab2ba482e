// data_norm: (x - mean) * scale per column, by sums over all batches so far (how many rows, their
// sum, the sum of squares) instead of those of this batch. The gradients of the three sums are what
// this batch adds to them.
#include <cmath>

#include "kernels/each.h"
#include "ops/common.h"

namespace paddle {
namespace {

template <class T>
struct DataNormColumn {
  int64_t rows, width;
  const T *x, *size, *sum, *squares;
  T *y, *means, *scales;
  PS_HD void operator()(int64_t c) const {
    const T mean = sum[c] / size[c], scale = std::sqrt(size[c] / squares[c]);
    means[c] = mean;
    scales[c] = scale;
    for (int64_t r = 0; r < rows; ++r) y[r * width + c] = (x[r * width + c] - mean) * scale;
  }
};

template <class T>
struct DataNormColumnGrad {
  int64_t rows, width;
  T epsilon;
  const T *x, *means, *scales, *dy;
  T *dx, *dsize, *dsum, *dsquares;  // any may be null
  PS_HD void operator()(int64_t c) const {
    T sum = 0, squares = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const T value = x[r * width + c], d = value - means[c];
      sum += value;
      squares += d * d;
      if (dx) dx[r * width + c] = dy[r * width + c] * scales[c];
    }
    const T n = static_cast<T>(rows);
    if (dsize) dsize[c] = n;
    if (dsum) dsum[c] = sum;
    if (dsquares) dsquares[c] = squares + n * epsilon;
  }
};

void check_per_column(const Infer& i, const char* slot) {
  const Shape& x = i.shape("X");
  i.check(i.shape(slot).compatible(Shape{x[1]}), i.describe(slot),
          " must have one number per column of ", i.describe("X"));
  i.check(i.dtype(slot) == i.dtype("X"), "X and ", slot, " must have one type");
}

void check_data_norm(const Infer& i) {
  i.check(i.shape("X").rank() == 2, i.describe("X"), " must be [N, width]");
  i.check(
      i.attr<std::string>("data_layout") == "NCHW" || i.attr<std::string>("data_layout") == "NHWC",
      "data_layout must be NCHW or NHWC");
}

void infer_data_norm(Infer& i) {
  check_data_norm(i);
  for (const char* slot : {"BatchSize", "BatchSum", "BatchSquareSum"}) check_per_column(i, slot);
  i.out_like("Y", "X");
  for (const char* slot : {"Means", "Scales"}) i.out(slot, {i.shape("X")[1]}, i.dtype("X"));
}

void infer_data_norm_grad(Infer& i) {
  check_data_norm(i);
  for (const char* slot : {"Means", "Scales"}) check_per_column(i, slot);
  i.check_same("X", "Y@GRAD");
  i.check(i.dtype("Y@GRAD") == i.dtype("X"), "X and Y@GRAD must have one type");
  if (i.has_out("X@GRAD")) i.out_like("X@GRAD", "X");
  for (const char* slot : {"BatchSize@GRAD", "BatchSum@GRAD", "BatchSquareSum@GRAD"})
    if (i.has_out(slot)) i.out(slot, {i.shape("X")[1]}, i.dtype("X"));
}

Kernel bind_data_norm(const Bind& b) {
  const Arg x = b.in("X"), size = b.in("BatchSize"), sum = b.in("BatchSum"),
            squares = b.in("BatchSquareSum"), y = b.out("Y"), means = b.out("Means"),
            scales = b.out("Scales");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], width = r[x].shape[1];
      T* spare = r.scratch.get<T>(2 * width);
      each(r, width, rows,
           DataNormColumn<T>{rows, width, r[x].as<const T>(), r[size].as<const T>(),
                             r[sum].as<const T>(), r[squares].as<const T>(), r[y].as<T>(),
                             means ? r[means].as<T>() : spare,
                             scales ? r[scales].as<T>() : spare + width});
    };
  });
}

Kernel bind_data_norm_grad(const Bind& b) {
  const Arg x = b.in("X"), means = b.in("Means"), scales = b.in("Scales"), dy = b.in("Y@GRAD"),
            dx = b.out("X@GRAD"), dsize = b.out("BatchSize@GRAD"), dsum = b.out("BatchSum@GRAD"),
            dsquares = b.out("BatchSquareSum@GRAD");
  const auto epsilon = b.attr<float>("epsilon");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t rows = r[x].shape[0], width = r[x].shape[1];
      const auto to = [&](Arg a) { return a ? r[a].as<T>() : nullptr; };
      each(r, width, rows,
           DataNormColumnGrad<T>{rows, width, T(epsilon), r[x].as<const T>(),
                                 r[means].as<const T>(), r[scales].as<const T>(),
                                 r[dy].as<const T>(), to(dx), to(dsize), to(dsum), to(dsquares)});
    };
  });
}

}  // namespace

std::vector<OpDef> data_norm_ops() {
  const Attrs attrs{{"epsilon", 1e-4f}, {"data_layout", std::string("NCHW")}};
  const auto optional = SlotDef::optional;
  return {
      {.type = "data_norm",
       .in = {{"X"}, {"BatchSize"}, {"BatchSum"}, {"BatchSquareSum"}},
       .out = {{"Y"}, {"Means", SlotDef::intermediate}, {"Scales", SlotDef::intermediate}},
       .attrs = attrs,
       .infer = infer_data_norm,
       .bind = bind_data_norm,
       .grad = {"data_norm_grad",
                {"X", "Means", "Scales", "Y@GRAD"},
                {"X@GRAD", "BatchSize@GRAD", "BatchSum@GRAD", "BatchSquareSum@GRAD"}}},
      {.type = "data_norm_grad",
       .in = {{"X"}, {"Means"}, {"Scales"}, {"Y@GRAD"}},
       .out = {{"X@GRAD", optional},
               {"BatchSize@GRAD", optional},
               {"BatchSum@GRAD", optional},
               {"BatchSquareSum@GRAD", optional}},
       .attrs = attrs,
       .infer = infer_data_norm_grad,
       .bind = bind_data_norm_grad},
  };
}

}  // namespace paddle
