// sequence_expand: the i-th sequence (or row) of X, repeated as often as the i-th sequence of Y has
// parts.
#include <algorithm>

#include "ops/common.h"

namespace paddle {
namespace {

// The rows of X that belong together, and how often each group is repeated.
class Repeats {
 public:
  Repeats(const Lod* x, const Lod& y, int ref_level)
      : x_(x ? &x->back() : nullptr),
        y_(y[ref_level < 0 ? y.size() - 1 : static_cast<size_t>(ref_level)]) {}

  size_t count() const { return y_.size() - 1; }
  size_t times(size_t i) const { return y_[i + 1] - y_[i]; }
  size_t begin(size_t i) const { return x_ ? (*x_)[i] : i; }
  size_t rows(size_t i) const { return x_ ? (*x_)[i + 1] - (*x_)[i] : 1; }
  bool fits(int64_t x_rows) const {
    return x_ ? x_->size() == y_.size() : x_rows == static_cast<int64_t>(count());
  }

 private:
  const std::vector<size_t>* x_;
  const std::vector<size_t>& y_;
};

void check_expand(const Infer& i) {
  const Meta &x = i.in("X"), &y = i.in("Y");
  const auto level = i.attr<int32_t>("ref_level");
  i.check(x.shape.rank() >= 2, "needs X of at least 2 dimensions, found ", i.tell("X"));
  i.check(x.lod_level <= 1, "X may have one LoD level, found ", x.lod_level, " in ", i.tell("X"));
  i.check(y.lod_level >= 1, "Y must be a sequence (lod_level 1 or more), found ", i.tell("Y"));
  i.check(level >= -1 && level < y.lod_level, "ref_level ", level, " is none of the ", y.lod_level,
          " LoD levels of ", i.tell("Y"));
}

void infer_expand(Infer& i) {
  check_expand(i);
  const Meta &x = i.in("X"), &y = i.in("Y");
  Shape out = x.shape;
  out[0] = -1;
  if (y.lod == nullptr) {  // offsets are known only when there is data
    i.out("Out", out, x.dtype);
    i.share_lod("X", "Out");
    return;
  }
  const Repeats r(x.lod, *y.lod, i.attr<int32_t>("ref_level"));
  i.check(r.fits(x.shape[0]), i.tell("X"), " must have as many ", x.lod ? "sequences" : "rows",
          " as the LoD of ", i.tell("Y"), " has sequences: ", r.count());
  std::vector<size_t> offsets{0};
  for (size_t k = 0; k < r.count(); ++k)
    for (size_t t = 0; t < r.times(k); ++t) offsets.push_back(offsets.back() + r.rows(k));
  out[0] = static_cast<int64_t>(offsets.back());
  i.out("Out", out, x.dtype);
  // Also where X has no LoD: the length of Out follows the offsets of Y.
  i.make_lod("Out", x.lod ? Lod{offsets} : Lod{});
}

void infer_expand_grad(Infer& i) {
  check_expand(i);
  i.out_like("X@GRAD", "X");
}

Repeats repeats_of(const View& x, const View& y, int ref_level) {
  require(y.lod != nullptr, Error::Kind::data, "Y has no LoD: feed it as a sequence");
  return {x.lod, *y.lod, ref_level};
}

Kernel bind_expand(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  const auto level = b.attr<int32_t>("ref_level");
  return with_dtype(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Repeats p = repeats_of(r[x], r[y], level);
      const auto width = static_cast<size_t>(r[x].shape.product(1, r[x].shape.rank()));
      T* to = r[out].as<T>();
      for (size_t k = 0; k < p.count(); ++k)
        for (size_t n = 0; n < p.times(k); ++n)
          to = std::copy_n(r[x].as<const T>() + p.begin(k) * width, p.rows(k) * width, to);
    };
  });
}

Kernel bind_expand_grad(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const auto level = b.attr<int32_t>("ref_level");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Repeats p = repeats_of(r[x], r[y], level);
      const auto width = static_cast<size_t>(r[x].shape.product(1, r[x].shape.rank()));
      const T* from = r[dout].as<const T>();
      std::fill_n(r[dx].as<T>(), r[dx].numel(), T(0));
      for (size_t k = 0; k < p.count(); ++k) {
        T* to = r[dx].as<T>() + p.begin(k) * width;
        const size_t size = p.rows(k) * width;
        for (size_t n = 0; n < p.times(k); ++n, from += size)
          for (size_t e = 0; e < size; ++e) to[e] += from[e];
      }
    };
  });
}

}  // namespace

std::vector<OpDef> sequence_expand_ops() {
  return {
      {.type = "sequence_expand",
       .in = {{"X"}, {"Y"}},
       .out = {{"Out"}},
       .attrs = {{"ref_level", -1}},
       .infer = infer_expand,
       .bind = bind_expand,
       .grad = {"sequence_expand_grad", {"X", "Y", "Out@GRAD"}, {"X@GRAD"}},
       .shape_only = {"Y"}},
      {.type = "sequence_expand_grad",
       .in = {{"X"}, {"Y"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"ref_level", -1}},
       .infer = infer_expand_grad,
       .bind = bind_expand_grad,
       .shape_only = {"X", "Y"}},
  };
}

}  // namespace paddle
