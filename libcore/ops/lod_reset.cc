// lod_reset: the same rows as other sequences: those of Y, or those of the offsets in target_lod.
#include <algorithm>

#include "kernels/memory.h"
#include "ops/common.h"

namespace paddle {
namespace {

void infer_lod_reset(Infer& i) {
  const Meta& x = i.in("X");
  i.check(x.shape.rank() >= 1, i.describe("X"), " needs rows");
  i.out("Out", x.shape, x.dtype);
  Meta& out = i.out_meta("Out");
  out.lod_level = 1;
  if (i.has("Y")) {
    const Meta& y = i.in("Y");
    i.check(y.lod_level > 0, i.describe("Y"), " must be a sequence (lod_level 1 or more)");
    if (y.lod == nullptr) return;
    i.check(static_cast<int64_t>(y.lod->back().back()) == x.shape[0], "the sequences of ",
            i.describe("Y"), " have ", y.lod->back().back(), " rows, and ", i.describe("X"),
            " has ", x.shape[0]);
    return i.make_lod("Out", *y.lod);
  }
  const auto target = i.attr<Ints>("target_lod");
  if (target.empty()) return i.share_lod("X", "Out");  // the gradient op's view of a reset by Y
  i.check(target.size() >= 2 && target.front() == 0 && std::is_sorted(target.begin(), target.end()),
          "target_lod must be offsets that begin with 0 and do not fall, found ",
          attr_text(target));
  if (x.shape[0] < 0) return;
  i.check(target.back() == x.shape[0], "target_lod ends at ", target.back(), ", and ",
          i.describe("X"), " has ", x.shape[0], " rows");
  i.make_lod("Out", Lod{std::vector<size_t>(target.begin(), target.end())});
}

Kernel bind_copy_all(const Bind& b, std::string_view from_slot, std::string_view to_slot) {
  const Arg from = b.in(from_slot), to = b.out(to_slot);
  if (!to) return [](const Run&) {};
  return [=](const Run& r) {
    copy_elements(r, r[from].numel(), size_of(r[from].dtype), r[to].data, r[from].data);
  };
}
Kernel bind_lod_reset(const Bind& b) { return bind_copy_all(b, "X", "Out"); }
Kernel bind_lod_reset_grad(const Bind& b) { return bind_copy_all(b, "Out@GRAD", "X@GRAD"); }

void infer_lod_reset_grad(Infer& i) {
  i.check_same("X", "Out@GRAD");
  i.check(i.dtype("X") == i.dtype("Out@GRAD"), "X and Out@GRAD must have one type");
  i.out_like("X@GRAD", "X");
}

}  // namespace

std::vector<OpDef> lod_reset_ops() {
  const SlotDef dx{"X@GRAD", SlotDef::optional};
  const Attrs reset{{"target_lod", Ints{}}, {"append", false}};
  return {
      {.type = "lod_reset",
       .in = {{"X"}, {"Y", SlotDef::optional}},
       .out = {{"Out"}},
       .attrs = reset,
       .infer = infer_lod_reset,
       .bind = bind_lod_reset,
       .grad = {"lod_reset_grad", {"X", "Out@GRAD"}, {"X@GRAD"}},
       .inplace = {{"X", "Out"}},
       .shape_only = {"Y"}},
      {.type = "lod_reset_grad",
       .in = {{"X"}, {"Out@GRAD"}},
       .out = {dx},
       .attrs = reset,
       .infer = infer_lod_reset_grad,
       .bind = bind_lod_reset_grad,
       .shape_only = {"X"}},
  };
}

}  // namespace paddle
