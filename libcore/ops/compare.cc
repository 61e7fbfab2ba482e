// Comparisons and logic: element by element, the result is bool.
#include "kernels/broadcast.h"
#include "kernels/map.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct Less {
  template <class T>
  PS_HD bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqual {
  template <class T>
  PS_HD bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct Greater {
  template <class T>
  PS_HD bool operator()(T x, T y) const {
    return x > y;
  }
};
struct GreaterEqual {
  template <class T>
  PS_HD bool operator()(T x, T y) const {
    return x >= y;
  }
};
struct Equal {
  template <class T>
  PS_HD bool operator()(T x, T y) const {
    return x == y;
  }
};
struct NotEqual {
  template <class T>
  PS_HD bool operator()(T x, T y) const {
    return x != y;
  }
};
struct And {
  PS_HD bool operator()(bool x, bool y) const { return x & y; }
};
struct Or {
  PS_HD bool operator()(bool x, bool y) const { return x | y; }
};
struct Xor {
  PS_HD bool operator()(bool x, bool y) const { return x != y; }
};
struct Not {
  PS_HD bool operator()(bool x) const { return !x; }
};

void infer_binary(Infer& i) {
  i.check(i.dtype("X") == i.dtype("Y"), "X (", i.op().in["X"][0], ") is ", name_of(i.dtype("X")),
          " and Y (", i.op().in["Y"][0], ") is ", name_of(i.dtype("Y")),
          ": cast one of them first");
  if (i.shape("Y").numel() != 1) i.check_same("X", "Y");
  i.out("Out", i.shape("X"), DType::boolean);
  i.share_lod("X", "Out");
}

void infer_logical(Infer& i) {
  i.check(i.dtype("X") == DType::boolean, "X (", i.op().in["X"][0], ") must be bool, found ",
          name_of(i.dtype("X")));
  if (i.has("Y")) return infer_binary(i);
  infer_same(i);
}

// Templates give plain functions; the closure is compiled once.
using Call = void (*)(const Device& d, int64_t n, bool one_y, const void* x, const void* y,
                      bool* out);

// As broadcast() passes them.
template <class F>
struct YFirst {
  template <class T>
  PS_HD bool operator()(T y, T x) const {
    return F{}(x, y);
  }
};

template <class F, class T>
void call(const Device& d, int64_t n, bool one_y, const void* x, const void* y, bool* out) {
  broadcast(d, one_y ? one_for_all(n) : Extents{.n = n}, YFirst<F>{}, out, static_cast<const T*>(y),
            static_cast<const T*>(x));
}

Kernel binary(const Bind& b, Call run) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  return [=](const Run& r) {
    const bool one_y = r[y].numel() == 1;
    run(r, r[x].numel(), one_y, r[x].data, r[y].data, r[out].as<bool>());
  };
}

template <class F>
Kernel bind_compare(const Bind& b) {
  return binary(b, with_dtype(b.dtype("X"), [](auto t) -> Call { return call<F, decltype(t)>; }));
}

template <class F>
Kernel bind_logical(const Bind& b) {
  return binary(b, call<F, bool>);
}

Kernel bind_not(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return
      [=](const Run& r) { map(r, r[x].numel(), Not{}, r[out].as<bool>(), r[x].as<const bool>()); };
}

OpDef compare(const std::string& type, Kernel (*bind)(const Bind&)) {
  return {.type = type,
          .in = {{"X"}, {"Y"}},
          .out = {{"Out"}},
          .attrs = {{"axis", -1}, {"force_cpu", false}},
          .infer = infer_binary,
          .bind = bind};
}

OpDef logical(const std::string& type, Kernel (*bind)(const Bind&)) {
  return {
      .type = type, .in = {{"X"}, {"Y"}}, .out = {{"Out"}}, .infer = infer_logical, .bind = bind};
}

}  // namespace

std::vector<OpDef> compare_ops() {
  return {
      compare("less_than", bind_compare<Less>),
      compare("less_equal", bind_compare<LessEqual>),
      compare("greater_than", bind_compare<Greater>),
      compare("greater_equal", bind_compare<GreaterEqual>),
      compare("equal", bind_compare<Equal>),
      compare("not_equal", bind_compare<NotEqual>),
      logical("logical_and", bind_logical<And>),
      logical("logical_or", bind_logical<Or>),
      logical("logical_xor", bind_logical<Xor>),
      {.type = "logical_not",
       .in = {{"X"}},
       .out = {{"Out"}},
       .infer = infer_logical,
       .bind = bind_not},
  };
}

}  // namespace paddle
