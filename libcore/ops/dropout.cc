// dropout: elements set to zero at random. Whether element i of step t is kept is a function of
// (seed, t, i), so neither threads nor a restart change it.
#include "kernels/map.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct DropAttrs {
  explicit DropAttrs(const Bind& b)
      : prob(b.attr<float>("dropout_prob")),
        is_test(b.attr<bool>("is_test")),
        upscale(b.attr<std::string>("dropout_implementation") == "upscale_in_train"),
        fix_seed(b.attr<bool>("fix_seed")),
        seed(static_cast<uint64_t>(b.attr<int32_t>("seed"))) {}

  // What elements are multiplied with in inference, and what kept ones are in training.
  float test_scale() const { return upscale ? 1 : 1 - prob; }
  float train_scale() const { return !upscale ? 1 : prob < 1 ? 1 / (1 - prob) : 0; }

  float prob;
  bool is_test, upscale, fix_seed;
  uint64_t seed;
};

void check_dropout(const Infer& i) {
  const auto prob = i.attr<float>("dropout_prob");
  i.check(prob >= 0 && prob <= 1, "dropout_prob must be between 0 and 1, found ", prob);
  const auto how = i.attr<std::string>("dropout_implementation");
  i.check(how == "downgrade_in_infer" || how == "upscale_in_train",
          "the attribute 'dropout_implementation' is '", how,
          "'; it can be downgrade_in_infer or upscale_in_train");
}

void infer_dropout(Infer& i) {
  check_dropout(i);
  i.out_like("Out", "X");
  i.out("Mask", i.shape("X"), DType::u8);
}

void infer_dropout_grad(Infer& i) {
  check_dropout(i);
  if (i.has("Mask")) i.check_same("Mask", "Out@GRAD");
  i.out_like("X@GRAD", "Out@GRAD");
}

template <class T>
struct Scale {
  T scale;
  PS_HD T operator()(T x) const { return x * scale; }
};

// A kept element is multiplied, a dropped one is zero even where it was infinite.
template <class T>
struct Masked {
  T scale;
  PS_HD T operator()(T x, uint8_t kept) const { return kept ? x * scale : T(0); }
};

template <class T>
Kernel drop(const DropAttrs& a, Arg x, Arg out, Arg mask) {
  return [=](const Run& r) {
    const int64_t n = r[x].numel();
    uint8_t* kept = mask ? r[mask].as<uint8_t>() : r.scratch.get<uint8_t>(n);
    const RandomStream stream(a.fix_seed ? a.seed : r.seed, r.step());
    draw_mask(r, n, stream, a.prob, kept);
    map(r, n, Masked<T>{static_cast<T>(a.train_scale())}, r[out].as<T>(), r[x].as<const T>(),
        static_cast<const uint8_t*>(kept));
  };
}

Kernel bind_dropout(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out"), mask = b.out("Mask");
  const DropAttrs a(b);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    if (!a.is_test) return drop<T>(a, x, out, mask);
    return [=](const Run& r) {
      const int64_t n = r[x].numel();
      map(r, n, Scale<T>{static_cast<T>(a.test_scale())}, r[out].as<T>(), r[x].as<const T>());
      if (mask) fill(r, n, r[mask].as<uint8_t>(), uint8_t{1});
    };
  });
}

Kernel bind_dropout_grad(const Bind& b) {
  const Arg mask = b.in("Mask"), dy = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const DropAttrs a(b);
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=, scale = static_cast<T>(a.is_test ? a.test_scale() : a.train_scale())](const Run& r) {
      map(r, r[dy].numel(), Masked<T>{scale}, r[dx].as<T>(), r[dy].as<const T>(),
          r[mask].as<const uint8_t>());
    };
  });
}

}  // namespace

std::vector<OpDef> dropout_ops() {
  const Attrs attrs{{"dropout_prob", 0.5f},
                    {"is_test", false},
                    {"fix_seed", false},
                    {"seed", 0},
                    {"dropout_implementation", "downgrade_in_infer"}};
  return {
      {.type = "dropout",
       .in = {{"X"}},
       .out = {{"Out"}, {"Mask", SlotDef::intermediate}},
       .attrs = attrs,
       .infer = infer_dropout,
       .bind = bind_dropout,
       .grad = {"dropout_grad", {"Mask", "Out@GRAD"}, {"X@GRAD"}},
       .inplace = {{"X", "Out"}}},
      {.type = "dropout_grad",
       .in = {{"Mask"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = attrs,
       .infer = infer_dropout_grad,
       .bind = bind_dropout_grad,
       .inplace = {{"Out@GRAD", "X@GRAD"}}},
  };
}

}  // namespace paddle
