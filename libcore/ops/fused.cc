// Ops that the plan compiler puts in place of several (exec/fuse.cc); no program names them. What
// passes between the parts stays in cache, and the matrix products of the gradient update their
// weights at once where sgd follows.
#include <algorithm>
#include <cmath>

#include "kernels/blas.h"
#include "kernels/map.h"
#include "kernels/math.h"
#include "kernels/reduce.h"
#include "kernels/rows.h"
#include "ops/common.h"

namespace paddle {
namespace {

struct Linear {
  template <class T>
  PS_HD static T value(T x) {
    return x;
  }
  template <class T>
  PS_HD static T slope(T) {
    return T(1);
  }
};
struct Relu {
  template <class T>
  PS_HD static T value(T x) {
    return x > 0 ? x : T(0);
  }
  template <class T>
  PS_HD static T slope(T y) {  // in terms of the result, as for all of these
    return y > 0 ? T(1) : T(0);
  }
};
struct Tanh {
  template <class T>
  PS_INLINE static T value(T x) {
    return paddle::tanh(x);
  }
  template <class T>
  PS_HD static T slope(T y) {
    return 1 - y * y;
  }
};
struct Sigmoid {
  template <class T>
  PS_INLINE static T value(T x) {
    return paddle::sigmoid(x);
  }
  template <class T>
  PS_HD static T slope(T y) {
    return y * (1 - y);
  }
};

template <class F>
Kernel with_activation(const std::string& name, const F& f) {
  if (name.empty()) return f(Linear{});
  if (name == "relu") return f(Relu{});
  if (name == "tanh") return f(Tanh{});
  require(name == "sigmoid", Error::Kind::config, "no fused kernel for the activation '", name,
          "'");
  return f(Sigmoid{});
}

// y = act(y) for part of a matrix.
template <class Act, class T>
PS_CLONES void act_part(T* y, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    T* row = y + i * stride;
    PS_IVDEP
    for (int64_t j = 0; j < columns; ++j) row[j] = Act::value(row[j]);
  }
}

// dz = dy * act'(y), and the column sums of dz, which are the bias gradient.
template <class Act, class T>
PS_CLONES void act_grad_rows(int64_t m, int64_t n, const T* y, const T* dy, T* dz, T* sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] = 0;
  for (int64_t i = 0; i < m; ++i) {
    const int64_t at = i * n;
    PS_IVDEP
    for (int64_t j = 0; j < n; ++j) {
      const T d = dy[at + j] * Act::slope(y[at + j]);
      dz[at + j] = d;
      sums[j] += d;
    }
  }
}

struct Sizes {
  int64_t m, k, n;  // X [m, k], W [k, n], Out [m, n]
};

Sizes sizes(const View& x, const View& w, int columns) {
  return {x.shape.product(0, columns), x.shape.product(columns, x.shape.rank()), w.shape[1]};
}

constexpr int64_t row_grain(int64_t n) { return 1 + map_grain / (n + 1); }

// The plan makes these ops of ones that were checked; a program may name them too.
void check_fc(const Infer& i) {
  const auto columns = i.attr<int32_t>("x_num_col_dims");
  const Shape &x = i.shape("X"), &w = i.shape("W");
  i.check(w.rank() == 2 && columns >= 1 && columns < x.rank(), "needs a matrix W and columns of X",
          ", found ", i.tell("W"), " and ", i.tell("X"), " with x_num_col_dims ", columns);
  i.check(i.shape("Bias").numel() == w[1] || w[1] < 0, i.tell("Bias"), " must have an element for ",
          "each column of ", i.tell("W"));
  i.check(i.dtype("X") == i.dtype("W") && i.dtype("X") == i.dtype("Bias"),
          "X, W and Bias must be of one type");
}

Shape fc_shape(const Infer& i) {
  check_fc(i);
  const auto columns = i.attr<int32_t>("x_num_col_dims");
  const Shape& x = i.shape("X");
  Shape out = x.slice(0, columns);
  const int64_t inner = x.product(columns, x.rank());
  i.check(inner < 0 || inner == i.shape("W")[0], "the columns of ", i.tell("X"),
          " must be the rows of ", i.tell("W"));
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
  return with_float(b.dtype("X"), [&](auto t) {
    using T = decltype(t);
    return with_activation(b.attr<std::string>("act"), [&](auto act) -> Kernel {
      using Act = decltype(act);
      return [=](const Run& r) {
        const auto [m, k, n] = sizes(r[x], r[w], columns);
        constexpr bool linear = std::is_same_v<Act, Linear>;
        gemm_bias(r.pool, m, n, k, r[x].as<const T>(), r[w].as<const T>(), r[bias].as<const T>(),
                  linear ? nullptr : act_part<Act, T>, r[out].as<T>());
      };
    });
  });
}

void infer_fc_grad(Infer& i) {
  const Shape shape = fc_shape(i);
  for (const char* slot : {"Out", "Out@GRAD"})
    i.check(!i.has(slot) || (shape.compatible(i.shape(slot)) && i.dtype(slot) == i.dtype("X")),
            i.tell(slot), " must be ", name_of(i.dtype("X")), " ", shape);
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
  return with_float(b.dtype("Out@GRAD"), [&](auto t) {
    using T = decltype(t);
    return with_activation(b.attr<std::string>("act"), [&](auto act) -> Kernel {
      using Act = decltype(act);
      return [=](const Run& r) {
        const auto [m, k, n] = sizes(r[x], r[w], columns);
        T* room = r.scratch.get<T>(n + m * n);
        T* sums = room;
        const T* dz = r[dy].as<const T>();
        if constexpr (std::is_same_v<Act, Linear>) {
          if (db || b_out) column_sums(r.pool, m, n, dz, sums, false);
        } else {
          T* own = room + n;
          act_grad_rows<Act, T>(m, n, r[y].as<const T>(), dz, own, sums);
          dz = own;
        }
        if (dx)  // before the weights change
          gemm(r.pool, false, true, m, k, n, T(1), dz, n, r[w].as<const T>(), n, T(0),
               r[dx].as<T>(), k);
        if (w_out)
          gemm(r.pool, true, false, k, n, m, -*r[lr].as<const T>(), r[x].as<const T>(), k, dz, n,
               T(1), r[w_out].as<T>(), n);
        else if (dw)
          gemm(r.pool, true, false, k, n, m, T(1), r[x].as<const T>(), k, dz, n, T(0),
               r[dw].as<T>(), n);
        if (b_out) {
          const T rate = *r[bias_lr].as<const T>();
          for (int64_t j = 0; j < n; ++j) r[b_out].as<T>()[j] -= rate * sums[j];
        } else if (db) {
          for (int64_t j = 0; j < n; ++j) r[db].as<T>()[j] = sums[j];
        }
      };
    });
  });
}

void check_embedding_pool(const Infer& i) {
  const Meta& ids = i.in("Ids");
  i.check(i.shape("W").rank() == 2, "W must be a matrix [rows, width], found ", i.tell("W"));
  i.check(ids.dtype == DType::i64, "Ids must be int64, found ", name_of(ids.dtype), " in ",
          i.tell("Ids"));
  i.check(ids.lod != nullptr || ids.lod_level > 0, i.tell("Ids"), " must be a sequence");
  i.check(ids.lod == nullptr || static_cast<int64_t>(ids.lod->back().back()) == ids.shape.numel(),
          "the sequences of ", i.tell("Ids"), " must cover all of it");
}

// One row per sequence: the sum, mean or sum / sqrt(length) of its ids' rows, without the rows in
// between.
void infer_embedding_pool(Infer& i) {
  check_embedding_pool(i);
  const Meta& ids = i.in("Ids");
  const int64_t sequences = ids.lod ? static_cast<int64_t>(ids.lod->back().size()) - 1 : -1;
  i.out("Out", {sequences, i.shape("W")[1]}, i.dtype("W"));
}

template <class T>
T pool_scale(const std::string& type, size_t length) {
  if (length == 0 || type == "SUM") return T(1);
  return type == "AVERAGE" ? T(1) / static_cast<T>(length)
                           : T(1) / static_cast<T>(std::sqrt(double(length)));
}

template <class T>
PS_CLONES void add_row(int64_t width, const T* from, T* to) {
  PS_IVDEP
  for (int64_t c = 0; c < width; ++c) to[c] += from[c];
}

Kernel bind_embedding_pool(const Bind& b) {
  const Arg w = b.in("W"), ids = b.in("Ids"), out = b.out("Out");
  const auto type = b.attr<std::string>("pooltype");
  const auto padding = b.attr<int64_t>("padding_idx");
  return with_float(b.dtype("W"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t width = r[w].shape[1], height = r[w].shape[0];
      const int64_t* id = r[ids].as<const int64_t>();
      const int64_t bad = first_bad_id(id, r[ids].numel(), height, padding);
      require(bad < 0, Error::Kind::data, "id ", bad < 0 ? 0 : id[bad], " at place ", bad, " of '",
              "Ids", "' is outside of a table of ", height,
              " rows: raise the table's size or check the data");
      const std::vector<size_t>& offsets = r[ids].lod->back();
      r.pool.parallel_for(static_cast<int64_t>(offsets.size()) - 1, row_grain(width * 8),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t s = begin; s < end; ++s) {
                              T* row = r[out].as<T>() + s * width;
                              std::fill_n(row, width, T(0));
                              const size_t first = offsets[static_cast<size_t>(s)],
                                           last = offsets[static_cast<size_t>(s) + 1];
                              for (size_t e = first; e < last; ++e)
                                if (id[e] != padding)
                                  add_row<T>(width, r[w].as<const T>() + id[e] * width, row);
                              const T scale = pool_scale<T>(type, last - first);
                              if (scale != T(1))
                                for (int64_t c = 0; c < width; ++c) row[c] *= scale;
                            }
                          });
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
          "the gradient ", i.tell("Out@GRAD"), " must have a row of ", i.tell("W"),
          " for each sequence of ", i.tell("Ids"));
  i.out_rows("W@GRAD", {count, i.shape("W")[1]}, i.dtype("W"), i.shape("W")[0]);
}

Kernel bind_embedding_pool_grad(const Bind& b) {
  const Arg ids = b.in("Ids"), dy = b.in("Out@GRAD"), dw = b.out("W@GRAD");
  const auto type = b.attr<std::string>("pooltype");
  const auto padding = b.attr<int64_t>("padding_idx");
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const int64_t width = r[dw].shape[1];
      const int64_t* id = r[ids].as<const int64_t>();
      const std::vector<size_t>& offsets = r[ids].lod->back();
      for (size_t s = 0; s + 1 < offsets.size(); ++s) {
        const T scale = pool_scale<T>(type, offsets[s + 1] - offsets[s]);
        const T* from = r[dy].as<const T>() + static_cast<int64_t>(s) * width;
        for (size_t e = offsets[s]; e < offsets[s + 1]; ++e) {
          T* to = r[dw].as<T>() + static_cast<int64_t>(e) * width;
          for (int64_t c = 0; c < width; ++c) to[c] = id[e] == padding ? T(0) : scale * from[c];
        }
      }
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
       .bind = bind_embedding_pool},
      {.type = "fused_embedding_seq_pool_grad",
       .in = {{"W"}, {"Ids"}, {"Out@GRAD"}},
       .out = {{"W@GRAD"}},
       .attrs = {{"pooltype", std::string("SUM")}, {"padding_idx", int64_t{-1}}},
       .infer = infer_embedding_pool_grad,
       .bind = bind_embedding_pool_grad,
       .borrows = {{"Ids", "W@GRAD"}},
       .shape_only = {"W"}},
  };
}

}  // namespace paddle
