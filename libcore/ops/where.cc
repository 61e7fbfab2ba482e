// What a condition selects: where_index (the places at which it holds), where (elements of one
// input or the other).
#include <algorithm>

#include "kernels/map.h"
#include "ops/common.h"

namespace paddle {
namespace {

void check_condition(const Infer& i) {
  i.check(i.dtype("Condition") == DType::boolean, i.describe("Condition"), " must be bool, found ",
          name_of(i.dtype("Condition")));
}

int64_t count_true(const bool* condition, int64_t n) {
  return std::count(condition, condition + n, true);
}

// As many rows as places, which only the values tell.
void infer_where_index(Infer& i) {
  check_condition(i);
  const Meta& condition = i.in("Condition");
  i.check(condition.shape.rank() >= 1, i.describe("Condition"), " needs at least one dimension");
  int64_t places = -1;
  if (condition.value != nullptr)
    places = count_true(condition.value->data<bool>(), condition.value->numel());
  i.out("Out", {places, condition.shape.rank()}, DType::i64);
}

// One row per place: its coordinates, in the order in which the condition lies in memory.
Kernel bind_where_index(const Bind& b) {
  const Arg condition = b.in("Condition"), out = b.out("Out");
  return [=](const Run& r) {
    const Shape& s = r[condition].shape;
    const bool* holds = r[condition].as<const bool>();
    const int64_t n = r[condition].numel(), rows = r[out].shape[0];
    require(count_true(holds, n) == rows, Error::Kind::data,
            "op where_index: the condition holds at other places than when the memory was laid "
            "out: it must not depend on random numbers or on what this step has updated");
    auto* row = r[out].as<int64_t>();
    for (int64_t at = 0; at < n; ++at) {
      if (!holds[at]) continue;
      int64_t rest = at;
      for (int d = s.rank() - 1; d >= 0; --d) {
        row[d] = rest % s[d];
        rest /= s[d];
      }
      row += s.rank();
    }
  };
}

template <class T>
struct Chosen {
  PS_HD T operator()(bool condition, T x, T y) const { return condition ? x : y; }
};

// The gradient of the input that is taken where the condition is `taken`.
template <class T>
struct ChosenGrad {
  bool taken;
  PS_HD T operator()(bool condition, T dy) const { return condition == taken ? dy : T(0); }
};

void check_alike(const Infer& i, std::initializer_list<const char*> slots) {
  check_condition(i);
  for (const char* slot : slots) {
    i.check_same("Condition", slot);
    i.check(i.dtype(slot) == i.dtype("X"), i.describe("X"), " is ", name_of(i.dtype("X")), " and ",
            i.describe(slot), " is ", name_of(i.dtype(slot)), ": cast one of them first");
  }
}

void infer_where(Infer& i) {
  check_alike(i, {"X", "Y"});
  i.out_like("Out", "X");
}

void infer_where_grad(Infer& i) {
  check_alike(i, {"X", "Y", "Out@GRAD"});
  infer_grad_same(i);
}

Kernel bind_where(const Bind& b) {
  const Arg condition = b.in("Condition"), x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  return with_dtype(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      map(r, r[out].numel(), Chosen<T>{}, r[out].as<T>(), r[condition].as<const bool>(),
          r[x].as<const T>(), r[y].as<const T>());
    };
  });
}

Kernel bind_where_grad(const Bind& b) {
  const Arg condition = b.in("Condition"), dy = b.in("Out@GRAD");
  const Arg for_x = b.out("X@GRAD"), for_y = b.out("Y@GRAD");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const auto give = [&](const Arg& to, bool taken) {
        if (to)
          map(r, r[dy].numel(), ChosenGrad<T>{taken}, r[to].as<T>(), r[condition].as<const bool>(),
              r[dy].as<const T>());
      };
      give(for_x, true);
      give(for_y, false);
    };
  });
}

}  // namespace

std::vector<OpDef> where_ops() {
  return {
      {.type = "where_index",
       .in = {{"Condition"}},
       .out = {{"Out"}},
       .infer = infer_where_index,
       .bind = bind_where_index,
       .shape_values = {"Condition"},
       .on_host = [](const Op&) { return true; }},
      {.type = "where",
       .in = {{"Condition"}, {"X"}, {"Y"}},
       .out = {{"Out"}},
       .infer = infer_where,
       .bind = bind_where,
       .grad = {"where_grad", {"Condition", "X", "Y", "Out@GRAD"}, {"X@GRAD", "Y@GRAD"}}},
      {.type = "where_grad",
       .in = {{"Condition"}, {"X"}, {"Y"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}, {"Y@GRAD", SlotDef::optional}},
       .infer = infer_where_grad,
       .bind = bind_where_grad,
       .shape_only = {"X", "Y"}},
  };
}

}  // namespace paddle
