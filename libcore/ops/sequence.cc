// Ops over sequences: rows of X that belong together by the last level of its LoD.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/math.h"
#include "kernels/simd.h"
#include "ops/common.h"

namespace paddle {
namespace {

enum class Pool { average, sum, sqrt, last, first, max };

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

// Sequences as kernels see them: offsets into rows of `width` elements.
struct Rows {
  explicit Rows(const View& x) : width(x.shape.product(1, x.shape.rank())) {
    require(x.lod != nullptr, Error::Kind::data, "the input has no LoD: feed it as a sequence");
    offsets = x.lod->back().data();
    count = static_cast<int64_t>(x.lod->back().size()) - 1;
  }
  int64_t begin(int64_t s) const { return static_cast<int64_t>(offsets[s]); }
  int64_t end(int64_t s) const { return static_cast<int64_t>(offsets[s + 1]); }

  const size_t* offsets = nullptr;
  int64_t count = 0, width;
};

// At build time offsets are not known yet, only whether there will be any.
void check_sequence(const Infer& i, std::string_view slot) {
  const Meta& m = i.in(slot);
  i.check(m.shape.rank() >= 1 && m.lod_level > 0, slot, " must be a sequence (lod_level 1 or more)",
          ", found ", i.tell(slot), " without LoD");
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

void infer_pool_grad(Infer& i) {
  check_sequence(i, "X");
  const Meta& x = i.in("X");
  i.check(!x.lod || i.shape("Out@GRAD")[0] == static_cast<int64_t>(x.lod->back().size()) - 1,
          "the gradient ", i.tell("Out@GRAD"), " must have a row for each sequence of ",
          i.tell("X"));
  i.out_like("X@GRAD", "X");
}

template <class T>
PS_INLINE void sum_rows(const T* x, int64_t rows, int64_t width, T scale, T* out) {
  for (int64_t k = 0; k < width; ++k) out[k] = x[k];
  for (int64_t r = 1; r < rows; ++r)
    for (int64_t k = 0; k < width; ++k) out[k] += x[r * width + k];
  if (scale != 1)
    for (int64_t k = 0; k < width; ++k) out[k] *= scale;
}

template <class T>
void max_rows(const T* x, int64_t begin, int64_t end, int64_t width, T* out, int32_t* index) {
  for (int64_t k = 0; k < width; ++k) {
    int64_t best = begin;
    for (int64_t r = begin + 1; r < end; ++r)
      if (x[r * width + k] > x[best * width + k]) best = r;
    out[k] = x[best * width + k];
    if (index != nullptr) index[k] = static_cast<int32_t>(best);
  }
}

template <class T>
T scale_of(Pool type, int64_t rows) {
  if (type == Pool::average) return T(1) / static_cast<T>(rows);
  if (type == Pool::sqrt) return T(1) / std::sqrt(static_cast<T>(rows));
  return 1;
}

template <class T>
PS_CLONES void pool_range(Pool type, const Rows& rows, int64_t first, int64_t last, T pad,
                          const T* x, T* out, int32_t* index) {
  const int64_t width = rows.width;
  for (int64_t s = first; s < last; ++s) {
    const int64_t begin = rows.begin(s), end = rows.end(s);
    T* to = out + s * width;
    int32_t* at = index != nullptr ? index + s * width : nullptr;
    if (begin == end) {
      std::fill_n(to, width, pad);
      if (at != nullptr) std::fill_n(at, width, -1);
    } else if (type == Pool::first) {
      std::copy_n(x + begin * width, width, to);
    } else if (type == Pool::last) {
      std::copy_n(x + (end - 1) * width, width, to);
    } else if (type == Pool::max) {
      max_rows(x, begin, end, width, to, at);
    } else {
      sum_rows(x + begin * width, end - begin, width, scale_of<T>(type, end - begin), to);
    }
  }
}

// Sequences per thread: enough elements to be worth one.
int64_t grain_of(const Rows& rows, int64_t elements) {
  return std::max<int64_t>(1, 16384 * rows.count / std::max<int64_t>(1, elements));
}

Kernel bind_pool(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out"), index = b.out("MaxIndex");
  const Pool type = pool_type(b.op().attrs);
  const bool keep = index && type == Pool::max && !b.attr<bool>("is_test");
  const auto pad = b.attr<float>("pad_value");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Rows rows(r[x]);
      int32_t* at = keep ? r[index].as<int32_t>() : nullptr;
      r.pool.parallel_for(rows.count, grain_of(rows, r[x].numel()), [&](int64_t b0, int64_t e0) {
        pool_range<T>(type, rows, b0, e0, static_cast<T>(pad), r[x].as<const T>(), r[out].as<T>(),
                      at);
      });
    };
  });
}

template <class T>
PS_CLONES void pool_grad_range(Pool type, const Rows& rows, int64_t first, int64_t last,
                               const T* dout, const int32_t* index, T* dx) {
  const int64_t width = rows.width;
  for (int64_t s = first; s < last; ++s) {
    const int64_t begin = rows.begin(s), end = rows.end(s);
    if (begin == end) continue;
    const T* from = dout + s * width;
    if (type == Pool::average || type == Pool::sum || type == Pool::sqrt) {
      const T scale = scale_of<T>(type, end - begin);
      for (int64_t r = begin; r < end; ++r)
        for (int64_t k = 0; k < width; ++k) dx[r * width + k] = from[k] * scale;
      continue;
    }
    std::fill(dx + begin * width, dx + end * width, T(0));
    for (int64_t k = 0; k < width; ++k) {
      const int64_t row = type == Pool::first  ? begin
                          : type == Pool::last ? end - 1
                                               : index[s * width + k];
      dx[row * width + k] = from[k];
    }
  }
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
      const Rows rows(r[x]);
      const int32_t* at = type == Pool::max ? r[index].as<const int32_t>() : nullptr;
      r.pool.parallel_for(rows.count, grain_of(rows, r[x].numel()), [&](int64_t b0, int64_t e0) {
        pool_grad_range<T>(type, rows, b0, e0, r[dout].as<const T>(), at, r[dx].as<T>());
      });
    };
  });
}

void infer_softmax(Infer& i) {
  check_sequence(i, "X");
  const Shape& x = i.shape("X");
  i.check(x.product(1, x.rank()) == 1 || x.product(1, x.rank()) < 0,
          "X must have one value per row, found ", i.tell("X"));
  i.out_like("Out", "X");
}

template <class T>
PS_CLONES void softmax_range(const Rows& rows, int64_t first, int64_t last, const T* x, T* out) {
  for (int64_t s = first; s < last; ++s) {
    const int64_t begin = rows.begin(s), end = rows.end(s);
    T top = -std::numeric_limits<T>::infinity(), sum = 0;
    for (int64_t r = begin; r < end; ++r) top = std::max(top, x[r]);
    for (int64_t r = begin; r < end; ++r) out[r] = paddle::exp(x[r] - top);
    for (int64_t r = begin; r < end; ++r) sum += out[r];
    for (int64_t r = begin; r < end; ++r) out[r] /= sum;
  }
}

Kernel bind_softmax(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return with_float(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Rows rows(r[x]);
      r.pool.parallel_for(rows.count, grain_of(rows, r[x].numel()), [&](int64_t b0, int64_t e0) {
        softmax_range<T>(rows, b0, e0, r[x].as<const T>(), r[out].as<T>());
      });
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
      const Rows rows(r[out]);
      const T *y = r[out].as<const T>(), *dy = r[dout].as<const T>();
      T* to = r[dx].as<T>();
      for (int64_t s = 0; s < rows.count; ++s) {
        T dot = 0;
        for (int64_t k = rows.begin(s); k < rows.end(s); ++k) dot += y[k] * dy[k];
        for (int64_t k = rows.begin(s); k < rows.end(s); ++k) to[k] = y[k] * (dy[k] - dot);
      }
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
       .grad = {"sequence_pool_grad", {"X", "MaxIndex", "Out@GRAD"}, {"X@GRAD"}}},
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
       .grad = {"sequence_softmax_grad", {"Out", "Out@GRAD"}, {"X@GRAD"}},
       .inplace = {{"X", "Out"}}},
      {.type = "sequence_softmax_grad",
       .in = {{"Out"}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::optional}},
       .attrs = {{"use_cudnn", false}, {"data_format", "AnyLayout"}},
       .infer = infer_softmax_grad,
       .bind = bind_softmax_grad,
       .inplace = {{"Out@GRAD", "X@GRAD"}}},
  };
}

}  // namespace paddle
