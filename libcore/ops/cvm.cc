// cvm (continuous_value_model): the first two columns of X are how often a feature was shown and
// clicked. They become log(shown + 1) and log(clicked + 1) - log(shown + 1), or are left out. Their
// gradient is what the input CVM says: the counts that a table keeps.
#include "kernels/each.h"
#include "kernels/math.h"
#include "ops/common.h"

namespace paddle {
namespace {

template <class T>
struct CvmRow {
  int64_t width;  // of X
  bool use;
  const T* x;
  T* out;
  PS_HD void operator()(int64_t row) const {
    const T* from = x + row * width;
    T* to = out + row * (use ? width : width - 2);
    if (use) {
      to[0] = paddle::log(from[0] + 1);
      to[1] = paddle::log(from[1] + 1) - to[0];
    }
    for (int64_t k = 2; k < width; ++k) to[use ? k : k - 2] = from[k];
  }
};
template <class T>
struct CvmRowGrad {
  int64_t width;
  bool use;
  const T *cvm, *dout;
  T* dx;
  PS_HD void operator()(int64_t row) const {
    const T* from = dout + row * (use ? width : width - 2);
    T* to = dx + row * width;
    to[0] = cvm[row * 2];
    to[1] = cvm[row * 2 + 1];
    for (int64_t k = 2; k < width; ++k) to[k] = from[use ? k : k - 2];
  }
};

void check_cvm(const Infer& i) {
  const Shape &x = i.shape("X"), &cvm = i.shape("CVM");
  i.check(x.rank() == 2 && (x[1] > 2 || x[1] < 0), i.describe("X"),
          " must be [N, width] with more than 2 columns");
  i.check(cvm.compatible(Shape{x[0], 2}), i.describe("CVM"), " must be [N, 2] for ",
          i.describe("X"));
  i.check(i.dtype("X") == i.dtype("CVM"), "X and CVM must have one type");
}

void infer_cvm(Infer& i) {
  check_cvm(i);
  Shape out = i.shape("X");
  if (!i.attr<bool>("use_cvm") && out[1] > 0) out[1] -= 2;
  i.out("Y", out, i.dtype("X"));
  i.share_lod("X", "Y");
}

void infer_cvm_grad(Infer& i) {
  check_cvm(i);
  i.out_like("X@GRAD", "X");
}

Kernel bind_cvm(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Y");
  const bool use = b.attr<bool>("use_cvm");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t width = r[x].shape[1];
      each(r, r[x].shape[0], width, CvmRow<T>{width, use, r[x].as<const T>(), r[out].as<T>()});
    };
  });
}

Kernel bind_cvm_grad(const Bind& b) {
  const Arg cvm = b.in("CVM"), dout = b.in("Y@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const bool use = b.attr<bool>("use_cvm");
  return with_float(b.dtype("Y@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t width = r[dx].shape[1];
      each(r, r[dx].shape[0], width,
           CvmRowGrad<T>{width, use, r[cvm].as<const T>(), r[dout].as<const T>(), r[dx].as<T>()});
    };
  });
}

}  // namespace

std::vector<OpDef> cvm_ops() {
  const Attrs attrs{{"use_cvm", true}};
  return {
      {.type = "cvm",
       .in = {{"X"}, {"CVM"}},
       .out = {{"Y"}},
       .attrs = attrs,
       .infer = infer_cvm,
       .bind = bind_cvm,
       .grad = {"cvm_grad", {"X", "CVM", "Y@GRAD"}, {"X@GRAD"}}},
      {.type = "cvm_grad",
       .in = {{"X"}, {"CVM"}, {"Y@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_cvm_grad,
       .bind = bind_cvm_grad,
       .shape_only = {"X"}},
  };
}

}  // namespace paddle
