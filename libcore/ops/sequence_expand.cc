// sequence_expand: the i-th sequence (or row) of X, repeated as often as the i-th sequence of Y has
// parts.
#include "kernels/sequence.h"
#include "ops/common.h"

namespace paddle {
namespace {

// The rows of X that belong together, and how often each group is repeated.
Repeats repeats(const Lod* x, const Lod& y, int ref_level) {
  const std::vector<size_t>& times =
      y[ref_level < 0 ? y.size() - 1 : static_cast<size_t>(ref_level)];
  return {x ? x->back().data() : nullptr, times.data(), static_cast<int64_t>(times.size()) - 1};
}

bool fits(const Repeats& r, const Lod* x, int64_t x_rows) {
  return (x ? static_cast<int64_t>(x->back().size()) - 1 : x_rows) == r.count;
}

void check_expand(const Infer& i) {
  const Meta &x = i.in("X"), &y = i.in("Y");
  const auto level = i.attr<int32_t>("ref_level");
  i.check(x.shape.rank() >= 2, "needs X of at least 2 dimensions, found ", i.describe("X"));
  i.check(x.lod_level <= 1, "X may have one LoD level, found ", x.lod_level, " in ",
          i.describe("X"));
  i.check(y.lod_level >= 1, "Y must be a sequence (lod_level 1 or more), found ", i.describe("Y"));
  i.check(level >= -1 && level < y.lod_level, "ref_level ", level, " is none of the ", y.lod_level,
          " LoD levels of ", i.describe("Y"));
}

void infer_expand_sequences(Infer& i) {
  check_expand(i);
  const Meta &x = i.in("X"), &y = i.in("Y");
  Shape out = x.shape;
  out[0] = -1;
  if (y.lod == nullptr) {  // offsets are known only when there is data
    i.out("Out", out, x.dtype);
    i.share_lod("X", "Out");
    return;
  }
  const Repeats r = repeats(x.lod, *y.lod, i.attr<int32_t>("ref_level"));
  i.check(fits(r, x.lod, x.shape[0]), i.describe("X"), " must have as many ",
          x.lod ? "sequences" : "rows", " as the LoD of ", i.describe("Y"),
          " has sequences: ", r.count);
  std::vector<size_t> offsets{0};
  for (int64_t k = 0; k < r.count; ++k)
    for (int64_t t = 0; t < r.repeats(k); ++t)
      offsets.push_back(offsets.back() + static_cast<size_t>(r.rows(k)));
  out[0] = static_cast<int64_t>(offsets.back());
  i.out("Out", out, x.dtype);
  // Also where X has no LoD: the length of Out follows the offsets of Y.
  i.make_lod("Out", x.lod ? Lod{offsets} : Lod{});
}

void infer_expand_sequences_grad(Infer& i) {
  check_expand(i);
  i.out_like("X@GRAD", "X");
}

Repeats repeats_of(const View& x, const View& y, int ref_level) {
  require(y.lod != nullptr, Error::Kind::data, "Y has no LoD: feed it as a sequence");
  return repeats(x.lod, *y.lod, ref_level);
}

Kernel bind_expand_sequences(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  const auto level = b.attr<int32_t>("ref_level");
  return [=](const Run& r) {
    const auto width = static_cast<size_t>(r[x].shape.product(1, r[x].shape.rank()));
    repeat_rows(r, repeats_of(r[x], r[y], level), width * size_of(r[x].dtype), r[x].data,
                r[out].data);
  };
}

Kernel bind_expand_sequences_grad(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const auto level = b.attr<int32_t>("ref_level");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      repeat_rows_grad(r, repeats_of(r[x], r[y], level), r[x].shape.product(1, r[x].shape.rank()),
                       r[dout].as<const T>(), r[dx].numel(), r[dx].as<T>());
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
       .infer = infer_expand_sequences,
       .bind = bind_expand_sequences,
       .grad = {"sequence_expand_grad", {"X", "Y", "Out@GRAD"}, {"X@GRAD"}},
       .shape_only = {"Y"}},
      {.type = "sequence_expand_grad",
       .in = {{"X"}, {"Y"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"ref_level", -1}},
       .infer = infer_expand_sequences_grad,
       .bind = bind_expand_sequences_grad,
       .shape_only = {"X", "Y"}},
  };
}

}  // namespace paddle
