// Ops that the plan compiler puts in place of several (exec/fuse.cc); no program names them. What
// passes between the parts stays in cache, and the matrix products of the gradient update their
// weights at once where sgd follows.
#include "kernels/blas.h"
#include "kernels/fc.h"
#include "kernels/memory.h"
#include "kernels/reduce.h"
#include "kernels/rows.h"
#include "kernels/sequence.h"
#include "ops/common.h"

namespace paddle {
namespace {

Act act_of(const Bind& b) {
  const auto name = b.attr<std::string>("act");
  if (name.empty()) return Act::none;
  if (name == "relu") return Act::relu;
  if (name == "tanh") return Act::tanh;
  require(name == "sigmoid", Error::Kind::config, "no fused kernel for the activation '", name,
          "'");
  return Act::sigmoid;
}

struct Sizes {
  int64_t m, k, n;  // X [m, k], W [k, n], Out [m, n]
};

Sizes sizes(const View& x, const View& w, int columns) {
  return {x.shape.product(0, columns), x.shape.product(columns, x.shape.rank()), w.shape[1]};
}

// The plan makes these ops of ones that were checked; a program may name them too.
void check_fc(const Infer& i) {
  const auto columns = i.attr<int32_t>("x_num_col_dims");
  const Shape &x = i.shape("X"), &w = i.shape("W");
  i.check(w.rank() == 2 && columns >= 1 && columns < x.rank(), "needs a matrix W and columns of X",
          ", found ", i.describe("W"), " and ", i.describe("X"), " with x_num_col_dims ", columns);
  i.check(i.shape("Bias").numel() == w[1] || w[1] < 0, i.describe("Bias"),
          " must have an element for ", "each column of ", i.describe("W"));
  i.check(i.dtype("X") == i.dtype("W") && i.dtype("X") == i.dtype("Bias"),
          "X, W and Bias must be of one type");
}

Shape fc_shape(const Infer& i) {
  check_fc(i);
  const auto columns = i.attr<int32_t>("x_num_col_dims");
  const Shape& x = i.shape("X");
  Shape out = x.slice(0, columns);
  const int64_t inner = x.product(columns, x.rank());
  i.check(inner < 0 || inner == i.shape("W")[0], "the columns of ", i.describe("X"),
          " must be the rows of ", i.describe("W"));
  out.append(i.shape("W")[1]);
  return out;
}

void infer_fc(Infer& i) {
  i.out("Out", fc_shape(i), i.dtype("X"));
  i.share_lod("X", "Out");
}

Kernel bind_fc(const Bind& b) {
  const Arg x = b.in("X"), w = b.in("W"), bias = b.in("Bias"), out = b.out("Out");
  const auto columns = b.attr<int32_t>("x_num_col_dims");
  const Act act = act_of(b);
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const auto [m, k, n] = sizes(r[x], r[w], columns);
      fc(r, m, n, k, r[x].as<const T>(), r[w].as<const T>(), r[bias].as<const T>(), act,
         r[out].as<T>());
    };
  });
}

void infer_fc_grad(Infer& i) {
  const Shape shape = fc_shape(i);
  for (const char* slot : {"Out", "Out@GRAD"})
    i.check(!i.has(slot) || (shape.compatible(i.shape(slot)) && i.dtype(slot) == i.dtype("X")),
            i.describe(slot), " must be ", name_of(i.dtype("X")), " ", shape);
  const auto like = [&](std::string_view out, std::string_view in) {
    if (i.has_out(out)) i.out(out, i.shape(in), i.dtype(in));
  };
  like("X@GRAD", "X");
  like("W@GRAD", "W");
  like("WOut", "W");
  like("Bias@GRAD", "Bias");
  like("BiasOut", "Bias");
  if (i.has_out("X@GRAD")) i.share_lod("X", "X@GRAD");
}

// The weight gradient goes to W@GRAD, or as W -= lr * gradient straight into WOut, which is W; the
// bias alike.
Kernel bind_fc_grad(const Bind& b) {
  const Arg x = b.in("X"), w = b.in("W"), y = b.in("Out"), dy = b.in("Out@GRAD");
  const Arg lr = b.in("LearningRate"), bias_lr = b.in("BiasLearningRate");
  const Arg dx = b.out("X@GRAD"), dw = b.out("W@GRAD"), db = b.out("Bias@GRAD");
  const Arg w_out = b.out("WOut"), b_out = b.out("BiasOut");
  const auto columns = b.attr<int32_t>("x_num_col_dims");
  const Act act = act_of(b);
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const auto [m, k, n] = sizes(r[x], r[w], columns);
      T* sums = r.scratch.get<T>(n + m * n + fc_update_scratch(k, n));
      const T* dz = r[dy].as<const T>();
      if (act == Act::none) {
        if (db || b_out) column_sums(r, m, n, dz, sums, false);
      } else {
        T* own = sums + n;
        fc_act_grad(r, act, m, n, r[y].as<const T>(), dz, own, sums);
        dz = own;
      }
      if (dx)  // before the weights change
        gemm(r, false, true, m, k, n, T(1), dz, n, r[w].as<const T>(), n, T(0), r[dx].as<T>(), k);
      if (w_out)
        fc_weight_update(r, m, n, k, r[lr].as<const T>(), r[x].as<const T>(), dz, sums + n + m * n,
                         r[w_out].as<T>());
      else if (dw)
        gemm(r, true, false, k, n, m, T(1), r[x].as<const T>(), k, dz, n, T(0), r[dw].as<T>(), n);
      if (b_out)
        fc_bias_update(r, n, r[bias_lr].as<const T>(), static_cast<const T*>(sums),
                       r[b_out].as<T>());
      else if (db)
        copy(r, n, r[db].as<T>(), static_cast<const T*>(sums));
    };
  });
}

void check_embedding_pool(const Infer& i) {
  const Meta& ids = i.in("Ids");
  i.check(i.shape("W").rank() == 2, "W must be a matrix [rows, width], found ", i.describe("W"));
  i.check(ids.dtype == DType::i64, "Ids must be int64, found ", name_of(ids.dtype), " in ",
          i.describe("Ids"));
  i.check(ids.lod != nullptr || ids.lod_level > 0, i.describe("Ids"), " must be a sequence");
  i.check(ids.lod == nullptr || static_cast<int64_t>(ids.lod->back().back()) == ids.shape.numel(),
          "the sequences of ", i.describe("Ids"), " must cover all of it");
}

// One row per sequence: the sum, mean or sum / sqrt(length) of its ids' rows, without the rows in
// between.
void infer_embedding_pool(Infer& i) {
  check_embedding_pool(i);
  const Meta& ids = i.in("Ids");
  const int64_t sequences = ids.lod ? static_cast<int64_t>(ids.lod->back().size()) - 1 : -1;
  i.out("Out", {sequences, i.shape("W")[1]}, i.dtype("W"));
}

Pool pool_of(const Bind& b) {
  const auto type = b.attr<std::string>("pooltype");
  return type == "SUM" ? Pool::sum : type == "AVERAGE" ? Pool::average : Pool::sqrt;
}

Kernel bind_embedding_pool(const Bind& b) {
  const Arg w = b.in("W"), ids = b.in("Ids"), out = b.out("Out");
  const Pool type = pool_of(b);
  const auto padding = b.attr<int64_t>("padding_idx");
  return with_float(b.dtype("W"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t width = r[w].shape[1], height = r[w].shape[0];
      const int64_t* id = r[ids].as<const int64_t>();
      const int64_t bad = first_bad_id(r, id, r[ids].numel(), height, padding);
      require(bad < 0, Error::Kind::data, "id ", bad < 0 ? 0 : read_one(r, id + bad), " at place ",
              bad, " of '", "Ids", "' is outside of a table of ", height,
              " rows: raise the table's size or check the data");
      pool_table_rows(r, type, Sequences(r[ids].lod->back(), width), id, padding,
                      r[w].as<const T>(), r[out].as<T>());
    };
  });
}

void infer_embedding_pool_grad(Infer& i) {
  check_embedding_pool(i);
  const int64_t count = i.shape("Ids").numel(), found = i.shape("Out@GRAD").numel();
  const Lod* lod = i.in("Ids").lod;
  i.check(i.dtype("Out@GRAD") == i.dtype("W") &&
              (lod == nullptr || found < 0 ||
               found == static_cast<int64_t>(lod->back().size() - 1) * i.shape("W")[1]),
          "the gradient ", i.describe("Out@GRAD"), " must have a row of ", i.describe("W"),
          " for each sequence of ", i.describe("Ids"));
  i.out_rows("W@GRAD", {count, i.shape("W")[1]}, i.dtype("W"), i.shape("W")[0]);
}

Kernel bind_embedding_pool_grad(const Bind& b) {
  const Arg ids = b.in("Ids"), dy = b.in("Out@GRAD"), dw = b.out("W@GRAD");
  const Pool type = pool_of(b);
  const auto padding = b.attr<int64_t>("padding_idx");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t width = r[dw].shape[1];
      const int64_t* id = r[ids].as<const int64_t>();
      pool_table_rows_grad(r, type, Sequences(r[ids].lod->back(), width), id, padding,
                           r[dy].as<const T>(), r[dw].as<T>());
      r[dw].rows = id;
    };
  });
}

}  // namespace

std::vector<OpDef> fused_ops() {
  return {
      {.type = "fused_fc",
       .in = {{"X"}, {"W"}, {"Bias"}},
       .out = {{"Out"}},
       .attrs = {{"x_num_col_dims", 1}, {"act", std::string()}},
       .infer = infer_fc,
       .bind = bind_fc},
      {.type = "fused_fc_grad",
       .in = {{"X"},
              {"W"},
              {"Bias"},
              {"Out", SlotDef::optional},
              {"Out@GRAD"},
              {"LearningRate", SlotDef::optional},
              {"BiasLearningRate", SlotDef::optional}},
       .out = {{"X@GRAD", SlotDef::optional},
               {"W@GRAD", SlotDef::optional},
               {"Bias@GRAD", SlotDef::optional},
               {"WOut", SlotDef::optional},
               {"BiasOut", SlotDef::optional}},
       .attrs = {{"x_num_col_dims", 1}, {"act", std::string()}},
       .infer = infer_fc_grad,
       .bind = bind_fc_grad},
      {.type = "fused_embedding_seq_pool",
       .in = {{"W"}, {"Ids"}},
       .out = {{"Out"}},
       .attrs = {{"pooltype", std::string("SUM")}, {"padding_idx", int64_t{-1}}},
       .infer = infer_embedding_pool,
       .bind = bind_embedding_pool,
       .on_host = [](const Op&) { return true; }},  // as its table, which is updated there
      {.type = "fused_embedding_seq_pool_grad",
       .in = {{"W"}, {"Ids"}, {"Out@GRAD"}},
       .out = {{"W@GRAD"}},
       .attrs = {{"pooltype", std::string("SUM")}, {"padding_idx", int64_t{-1}}},
       .infer = infer_embedding_pool_grad,
       .bind = bind_embedding_pool_grad,
       .borrows = {{"Ids", "W@GRAD"}},
       .shape_only = {"W"},
       .on_host = [](const Op&) { return true; }},
  };
}

}  // namespace paddle
