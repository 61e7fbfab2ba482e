// Ops over sequences: rows of X that belong together by the last level of its LoD.
#include "kernels/sequence.h"

#include "ops/common.h"

namespace paddle {
namespace {

Pool pool_type(const Attrs& attrs) {
  const auto name = attrs.get<std::string>("pooltype");
  if (name == "AVERAGE") return Pool::average;
  if (name == "SUM") return Pool::sum;
  if (name == "SQRT") return Pool::sqrt;
  if (name == "LAST") return Pool::last;
  if (name == "FIRST") return Pool::first;
  require(name == "MAX", Error::Kind::config, "the attribute 'pooltype' is '", name,
          "'; it can be AVERAGE, SUM, SQRT, LAST, FIRST or MAX");
  return Pool::max;
}

Sequences sequences(const View& x) {
  require(x.lod != nullptr, Error::Kind::data, "the input has no LoD: feed it as a sequence");
  return {x.lod->back(), x.shape.product(1, x.shape.rank())};
}

// At build time offsets are not known yet, only whether there will be any.
void check_sequence(const Infer& i, std::string_view slot) {
  const Meta& m = i.in(slot);
  i.check(m.shape.rank() >= 1 && m.lod_level > 0, slot, " must be a sequence (lod_level 1 or more)",
          ", found ", i.describe(slot), " without LoD");
}

void infer_pool(Infer& i) {
  check_sequence(i, "X");
  const Meta& x = i.in("X");
  Shape out = x.shape;
  out[0] = x.lod ? static_cast<int64_t>(x.lod->back().size()) - 1 : -1;
  i.out("Out", out, x.dtype);
  const bool index = pool_type(i.op().attrs) == Pool::max && !i.attr<bool>("is_test");
  i.out("MaxIndex", index ? out : Shape{0}, DType::i32);
  if (x.lod && x.lod->size() > 1)
    i.make_lod("Out", Lod(x.lod->begin(), x.lod->end() - 1));
  else if (i.has_out("Out"))
    i.out_meta("Out").lod_level = x.lod_level - 1;
}

// Only maxima need MaxIndex.
std::vector<Op> make_pool_grad(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  Op g{.type = "sequence_pool_grad", .in = {{"X", {x}}}, .attrs = forward.attrs};
  if (pool_type(forward.attrs) == Pool::max && forward.out.has("MaxIndex"))
    g.in.set("MaxIndex", forward.out["MaxIndex"]);
  g.in.set("Out@GRAD", {grad_name(forward.out["Out"][0])});
  g.out.set("X@GRAD", {want(x) ? grad_name(x) : std::string(empty_name)});
  return {std::move(g)};
}

void infer_pool_grad(Infer& i) {
  check_sequence(i, "X");
  const Meta& x = i.in("X");
  i.check(!x.lod || i.shape("Out@GRAD")[0] == static_cast<int64_t>(x.lod->back().size()) - 1,
          "the gradient ", i.describe("Out@GRAD"), " must have a row for each sequence of ",
          i.describe("X"));
  i.out_like("X@GRAD", "X");
}

Kernel bind_pool(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out"), index = b.out("MaxIndex");
  const Pool type = pool_type(b.op().attrs);
  const bool keep = index && type == Pool::max && !b.attr<bool>("is_test");
  const auto pad = b.attr<float>("pad_value");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      int32_t* at = keep ? r[index].as<int32_t>() : nullptr;
      pool_sequences(r, type, sequences(r[x]), static_cast<T>(pad), r[x].as<const T>(),
                     r[out].as<T>(), at);
    };
  });
}

Kernel bind_pool_grad(const Bind& b) {
  const Arg x = b.in("X"), index = b.in("MaxIndex"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const Pool type = pool_type(b.op().attrs);
  require(type != Pool::max || (index && !b.attr<bool>("is_test")), Error::Kind::config,
          "op sequence_pool_grad: MAX needs the MaxIndex that sequence_pool makes when is_test is "
          "false");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int32_t* at = type == Pool::max ? r[index].as<const int32_t>() : nullptr;
      pool_sequences_grad(r, type, sequences(r[x]), r[dout].as<const T>(), at, r[dx].as<T>());
    };
  });
}

void infer_softmax(Infer& i) {
  check_sequence(i, "X");
  const Shape& x = i.shape("X");
  i.check(x.product(1, x.rank()) == 1 || x.product(1, x.rank()) < 0,
          "X must have one value per row, found ", i.describe("X"));
  i.out_like("Out", "X");
}

Kernel bind_softmax(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      softmax_sequences(r, sequences(r[x]), r[x].as<const T>(), r[out].as<T>());
    };
  });
}

void infer_softmax_grad(Infer& i) {
  check_sequence(i, "Out");
  i.check_same("Out", "Out@GRAD");
  i.out_like("X@GRAD", "Out");
}

Kernel bind_softmax_grad(const Bind& b) {
  const Arg out = b.in("Out"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      softmax_sequences_grad(r, sequences(r[out]), r[out].as<const T>(), r[dout].as<const T>(),
                             r[dx].as<T>());
    };
  });
}

}  // namespace

std::vector<OpDef> sequence_ops() {
  const Attrs pool_attrs{{"pooltype", "AVERAGE"}, {"pad_value", 0.0f}, {"is_test", false}};
  return {
      {.type = "sequence_pool",
       .in = {{"X"}},
       .out = {{"Out"}, {"MaxIndex", SlotDef::intermediate}},
       .attrs = pool_attrs,
       .infer = infer_pool,
       .bind = bind_pool,
       .grad = {"sequence_pool_grad", {"X", "MaxIndex", "Out@GRAD"}, {"X@GRAD"}},
       .make_grad = make_pool_grad},
      {.type = "sequence_pool_grad",
       .in = {{"X"}, {"MaxIndex", SlotDef::optional}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = pool_attrs,
       .infer = infer_pool_grad,
       .bind = bind_pool_grad,
       .shape_only = {"X"}},
      {.type = "sequence_softmax",
       .in = {{"X"}},
       .out = {{"Out"}},
       .attrs = {{"use_cudnn", false}, {"data_format", "AnyLayout"}},
       .infer = infer_softmax,
       .bind = bind_softmax,
       .grad = {"sequence_softmax_grad", {"X", "Out", "Out@GRAD"}, {"X@GRAD"}},
       .inplace = {{"X", "Out"}}},
      {.type = "sequence_softmax_grad",
       .in = {{"X", SlotDef::optional}, {"Out"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"use_cudnn", false}, {"data_format", "AnyLayout"}},
       .infer = infer_softmax_grad,
       .bind = bind_softmax_grad,
       .inplace = {{"Out@GRAD", "X@GRAD"}},
       .shape_only = {"X"}},
  };
}

}  // namespace paddle
