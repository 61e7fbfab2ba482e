// Rows of sequences moved as they are: sequence_reverse, sequence_concat, sequence_expand_as,
// sequence_pad, sequence_unpad, sequence_mask. The offsets decide where a row goes, so
// the kernels copy runs of rows from place to place.
#include <algorithm>

#include "kernels/each.h"
#include "kernels/memory.h"
#include "kernels/strided.h"
#include "ops/common.h"

namespace paddle {
namespace {

using Offsets = std::vector<size_t>;

int64_t row_elements(const Shape& s) { return s.product(1, s.rank()); }

void check_is_sequence(const Infer& i, std::string_view slot, int k = 0) {
  const Meta& m = i.in(slot, k);
  i.check(m.shape.rank() >= 1 && m.lod_level > 0, i.describe(slot, k),
          " must be a sequence (lod_level 1 or more)");
}

const Offsets& offsets_of(const View& v) {
  require(v.lod != nullptr, Error::Kind::data, "the input has no LoD: feed it as a sequence");
  return v.lod->back();
}

int64_t begin_of(const Offsets& o, size_t s) { return static_cast<int64_t>(o[s]); }
int64_t length_of(const Offsets& o, size_t s) { return static_cast<int64_t>(o[s + 1] - o[s]); }

// `rows` rows from one place to another; both counted in rows of `width` elements of `size` bytes.
void copy_rows(const Run& r, int64_t rows, int64_t width, size_t size, void* to, int64_t to_row,
               const void* from, int64_t from_row) {
  copy_elements(r, rows * width, size, advance(to, to_row * width, size),
                advance(from, from_row * width, size));
}

// ---- sequence_reverse: each sequence backwards; its gradient is the same op

// Whether there are sequences is checked by the kernel: a gradient has the LoD of what it is of,
// but is declared without.
void infer_reverse(Infer& i) {
  i.check(i.shape("X").rank() >= 1, i.describe("X"), " needs rows");
  i.out_like("Y", "X");
}

Kernel bind_reverse(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Y");
  return [=](const Run& r) {
    const Offsets& o = offsets_of(r[x]);
    const int64_t width = row_elements(r[x].shape);
    const size_t size = size_of(r[x].dtype);
    for (size_t s = 0; s + 1 < o.size(); ++s) {
      const int64_t begin = begin_of(o, s), n = length_of(o, s);
      for (int64_t k = 0; k < n; ++k)
        copy_rows(r, 1, width, size, r[out].data, begin + n - 1 - k, r[x].data, begin + k);
    }
  };
}

std::vector<Op> reverse_again(const Op& forward, const Want& want) {
  const std::string& x = forward.in["X"][0];
  Op g{.type = "sequence_reverse", .attrs = forward.attrs};
  g.in.set("X", {grad_name(forward.out["Y"][0])});
  g.out.set("Y", {want(x) ? grad_name(x) : std::string(empty_name)});
  return {std::move(g)};
}

// ---- sequence_concat: sequence s of the result is sequence s of all inputs, one after the other

void infer_concat_sequences(Infer& i) {
  const Meta& first = i.in("X");
  Shape out = first.shape;
  Lod joined(1, {0});
  bool known = true;
  for (int k = 0; k < i.count("X"); ++k) {
    check_is_sequence(i, "X", k);
    const Meta& m = i.in("X", k);
    i.check(m.lod_level == 1, i.describe("X", k), " must have one LoD level, found ", m.lod_level);
    i.check(m.shape.slice(1, m.shape.rank()).compatible(first.shape.slice(1, first.shape.rank())) &&
                m.dtype == first.dtype,
            "the rows of ", i.describe("X"), " and ", i.describe("X", k), " must be alike");
    known = known && m.lod != nullptr;
    i.check(!m.lod || !first.lod || m.lod->back().size() == first.lod->back().size(),
            i.describe("X"), " and ", i.describe("X", k), " must have as many sequences");
  }
  out[0] = -1;
  if (known) {
    for (size_t s = 0; s + 1 < first.lod->back().size(); ++s) {
      size_t end = joined[0].back();
      for (int k = 0; k < i.count("X"); ++k)
        end += static_cast<size_t>(length_of(i.in("X", k).lod->back(), s));
      joined[0].push_back(end);
    }
    out[0] = static_cast<int64_t>(joined[0].back());
  }
  i.out("Out", out, first.dtype);
  i.out_meta("Out").lod_level = 1;
  if (known) i.make_lod("Out", std::move(joined));
}

// Calls f(input, sequence, row of the result) for every piece, in order.
template <class F>
void each_piece(const Run& r, Arg x, const F& f) {
  const size_t count = offsets_of(r.at(x, 0)).size() - 1;
  int64_t at = 0;
  for (size_t s = 0; s < count; ++s) {
    for (int k = 0; k < x.count; ++k) {
      f(k, s, at);
      at += length_of(offsets_of(r.at(x, k)), s);
    }
  }
}

Kernel bind_concat_sequences(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return [=](const Run& r) {
    const int64_t width = row_elements(r[out].shape);
    const size_t size = size_of(r[out].dtype);
    each_piece(r, x, [&](int k, size_t s, int64_t at) {
      const Offsets& o = offsets_of(r.at(x, k));
      copy_rows(r, length_of(o, s), width, size, r[out].data, at, r.at(x, k).data, begin_of(o, s));
    });
  };
}

Kernel bind_concat_sequences_grad(const Bind& b) {
  const Arg x = b.in("X"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  return [=](const Run& r) {
    const int64_t width = row_elements(r[dout].shape);
    const size_t size = size_of(r[dout].dtype);
    each_piece(r, x, [&](int k, size_t s, int64_t at) {
      const Offsets& o = offsets_of(r.at(x, k));
      if (k < dx.count && r.at(dx, k).data != nullptr)
        copy_rows(r, length_of(o, s), width, size, r.at(dx, k).data, begin_of(o, s), r[dout].data,
                  at);
    });
  };
}

// ---- sequence_expand_as: row s of X as often as sequence s of Y is long

void check_expand_rows(const Infer& i) {
  check_is_sequence(i, "Y");
  const Meta &x = i.in("X"), &y = i.in("Y");
  i.check(x.shape.rank() >= 1, i.describe("X"), " needs rows");
  i.check(!y.lod || x.shape[0] < 0 || x.shape[0] == static_cast<int64_t>(y.lod->back().size()) - 1,
          i.describe("X"), " must have a row for each sequence of ", i.describe("Y"));
}

void infer_expand_rows(Infer& i) {
  check_expand_rows(i);
  const Meta &x = i.in("X"), &y = i.in("Y");
  Shape out = x.shape;
  out[0] = y.lod ? static_cast<int64_t>(y.lod->back().back()) : -1;
  i.out("Out", out, x.dtype);
  i.out_meta("Out").lod_level = 1;
  if (y.lod) i.make_lod("Out", Lod{y.lod->back()});
}

Kernel bind_expand_rows(const Bind& b) {
  const Arg x = b.in("X"), y = b.in("Y"), out = b.out("Out");
  return [=](const Run& r) {
    const Offsets& o = offsets_of(r[y]);
    const int64_t width = row_elements(r[x].shape);
    const size_t size = size_of(r[x].dtype);
    for (size_t s = 0; s + 1 < o.size(); ++s)
      for (int64_t k = 0; k < length_of(o, s); ++k)
        copy_rows(r, 1, width, size, r[out].data, begin_of(o, s) + k, r[x].data,
                  static_cast<int64_t>(s));
  };
}

template <class T>
struct SumOfRows {
  int64_t rows, width;
  const T* from;
  T* to;
  PS_HD void operator()(int64_t k) const {
    T sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += from[row * width + k];
    to[k] = sum;
  }
};

void infer_expand_rows_grad(Infer& i) {
  check_expand_rows(i);
  i.out_like("X@GRAD", "X");
}

Kernel bind_expand_rows_grad(const Bind& b) {
  const Arg y = b.in("Y"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Offsets& o = offsets_of(r[y]);
      const int64_t width = row_elements(r[dx].shape);
      for (size_t s = 0; s + 1 < o.size(); ++s)
        each(r, width, length_of(o, s),
             SumOfRows<T>{length_of(o, s), width, r[dout].as<const T>() + begin_of(o, s) * width,
                          r[dx].as<T>() + static_cast<int64_t>(s) * width});
    };
  });
}

// ---- sequence_pad: [sequences, length, ...], filled up with PadValue; Length says how long each
// was

int64_t longest(const Offsets& o) {
  int64_t most = 0;
  for (size_t s = 0; s + 1 < o.size(); ++s) most = std::max(most, length_of(o, s));
  return most;
}

void infer_pad(Infer& i) {
  check_is_sequence(i, "X");
  const Meta &x = i.in("X"), &pad = i.in("PadValue");
  const auto wanted = int64_t{i.attr<int32_t>("padded_length")};
  i.check(x.lod_level == 1, i.describe("X"), " must have one LoD level, found ", x.lod_level);
  i.check(wanted == -1 || wanted > 0, "padded_length must be -1 or above 0, found ", wanted);
  i.check(pad.dtype == x.dtype, "X and PadValue must have one type");
  i.check(pad.shape.numel() == 1 || pad.shape.numel() < 0 ||
              pad.shape.numel() == row_elements(x.shape) || row_elements(x.shape) < 0,
          i.describe("PadValue"), " must have one element, or those of a row of ", i.describe("X"));
  const int64_t most = x.lod ? longest(x.lod->back()) : -1;
  i.check(wanted < 0 || most <= wanted, "a sequence of ", i.describe("X"), " has ", most,
          " rows, more than padded_length ", wanted);
  const int64_t count = x.lod ? static_cast<int64_t>(x.lod->back().size()) - 1 : -1;
  Shape out{count, wanted > 0 ? wanted : most};
  i.check(x.shape.rank() < Shape::max_rank, i.describe("X"), " has too many dimensions");
  for (int d = 1; d < x.shape.rank(); ++d) out.append(x.shape[d]);
  i.out("Out", out, x.dtype);
  i.make_lod("Out", {});  // its length follows the offsets
  i.out("Length", {count}, DType::i64);
}

// One row of the result: a row of X, or the value that fills up.
template <class T>
struct PadRow {
  int64_t width, pad_width;
  const T* pad;
  T* to;
  PS_HD void operator()(int64_t k) const { to[k] = pad[pad_width == 1 ? 0 : k % width]; }
};

Kernel bind_pad(const Bind& b) {
  const Arg x = b.in("X"), pad = b.in("PadValue"), out = b.out("Out"), length = b.out("Length");
  return with_dtype(b.dtype("X"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Offsets& o = offsets_of(r[x]);
      const int64_t width = row_elements(r[x].shape), most = r[out].shape[1];
      for (size_t s = 0; s + 1 < o.size(); ++s) {
        const int64_t n = length_of(o, s), first = static_cast<int64_t>(s) * most;
        copy_rows(r, n, width, sizeof(T), r[out].data, first, r[x].data, begin_of(o, s));
        each(r, (most - n) * width, 1,
             PadRow<T>{width, r[pad].numel(), r[pad].as<const T>(),
                       r[out].as<T>() + (first + n) * width});
        if (length) write_one(r, n, r[length].as<int64_t>() + s);
      }
    };
  });
}

void infer_pad_grad(Infer& i) {
  check_is_sequence(i, "X");
  const Shape& dout = i.shape("Out@GRAD");
  const Meta& x = i.in("X");
  i.check(dout.rank() == x.shape.rank() + 1 &&
              (!x.lod || dout[1] < 0 || dout[1] >= longest(x.lod->back())),
          i.describe("Out@GRAD"), " is not the gradient of ", i.describe("X"), ", padded");
  i.out_like("X@GRAD", "X");
}

Kernel bind_pad_grad(const Bind& b) {
  const Arg x = b.in("X"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  return [=](const Run& r) {
    const Offsets& o = offsets_of(r[x]);
    const int64_t width = row_elements(r[dx].shape), most = r[dout].shape[1];
    for (size_t s = 0; s + 1 < o.size(); ++s)
      copy_rows(r, length_of(o, s), width, size_of(r[dx].dtype), r[dx].data, begin_of(o, s),
                r[dout].data, static_cast<int64_t>(s) * most);
  };
}

// ---- sequence_unpad: the first Length[s] rows of X[s] as sequence s

void infer_unpad(Infer& i) {
  const Shape &x = i.shape("X"), &length = i.shape("Length");
  i.check(x.rank() >= 2, i.describe("X"), " must be [sequences, length, ...]");
  i.check(length.rank() >= 1 && (length.numel() < 0 || x[0] < 0 || length.numel() == x[0]),
          i.describe("Length"), " must have a number for each sequence of ", i.describe("X"));
  Shape out{-1};
  for (int d = 2; d < x.rank(); ++d) out.append(x[d]);
  if (out.rank() == 1) out.append(1);
  Lod lod(1, {0});
  const auto lengths = i.values("Length");
  for (const int64_t n : lengths.value_or(Longs{})) {
    i.check(n >= 0 && (x[1] < 0 || n <= x[1]), "a length is ", n, ", and the sequences of ",
            i.describe("X"), " have room for ", x[1]);
    lod[0].push_back(lod[0].back() + static_cast<size_t>(n));
  }
  if (lengths) out[0] = static_cast<int64_t>(lod[0].back());
  i.out("Out", out, i.dtype("X"));
  i.out_meta("Out").lod_level = 1;
  if (lengths) i.make_lod("Out", std::move(lod));
}

Kernel bind_unpad(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Out");
  return [=](const Run& r) {
    const Offsets& o = offsets_of(r[out]);
    const Shape& shape = r[x].shape;
    for (size_t s = 0; s + 1 < o.size(); ++s)
      copy_rows(r, length_of(o, s), shape.product(2, shape.rank()), size_of(r[x].dtype),
                r[out].data, begin_of(o, s), r[x].data, static_cast<int64_t>(s) * shape[1]);
  };
}

void infer_unpad_grad(Infer& i) {
  i.check(i.shape("X").rank() >= 2, i.describe("X"), " must be [sequences, length, ...]");
  i.check(!i.has("Length") || i.dtype("Length") == DType::i64 || i.dtype("Length") == DType::i32,
          "Length must be int64 or int32");
  i.out_like("X@GRAD", "X");
}

// PaddlePaddle's programs have no Length here: the gradient's own sequences say it.
Longs lengths_of(const View& sequences) {
  const Offsets& o = offsets_of(sequences);
  Longs out;
  for (size_t s = 0; s + 1 < o.size(); ++s) out.push_back(length_of(o, s));
  return out;
}

Kernel bind_unpad_grad(const Bind& b) {
  const Arg length = b.in("Length"), dout = b.in("Out@GRAD"), dx = b.out("X@GRAD");
  if (!dx) return [](const Run&) {};
  const GivenNumbersArg given(b, {"Length", length ? "" : "Out@GRAD", ""});
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const Shape& shape = r[dx].shape;
      const int64_t width = shape.product(2, shape.rank());
      fill(r, r[dx].numel(), r[dx].as<T>(), T(0));
      int64_t from = 0, to = 0;
      for (const int64_t n : length ? given.get(r) : lengths_of(r[dout])) {
        require(n >= 0 && n <= shape[1] && to < shape[0] * shape[1] &&
                    (from + n) * width <= r[dout].numel(),
                Error::Kind::data, "a length of ", n, " does not fit X ", shape,
                " and the gradient ", r[dout].shape);
        copy_rows(r, n, width, sizeof(T), r[dx].data, to, r[dout].data, from);
        from += n;
        to += shape[1];
      }
    };
  });
}

// ---- sequence_mask: 1 for the first X[...] of maxlen places, else 0

template <class I, class T>
struct MaskRow {
  int64_t most;
  const I* lengths;
  T* out;
  PS_HD void operator()(int64_t row) const {
    for (int64_t k = 0; k < most; ++k)
      out[row * most + k] = static_cast<T>(k < static_cast<int64_t>(lengths[row]));
  }
};

const GivenNumbers most_number{"MaxLenTensor", "", "maxlen"};

void infer_mask(Infer& i) {
  i.check(i.dtype("X") == DType::i64 || i.dtype("X") == DType::i32, i.describe("X"),
          " must be int64 or int32, found ", name_of(i.dtype("X")));
  int64_t most = i.attr<int32_t>("maxlen");
  if (i.has("MaxLenTensor")) {
    const auto given = most_number.get(i);
    i.check(!given || given->size() == 1, i.describe("MaxLenTensor"), " must have one element");
    most = given ? given->front() : -1;
    i.check(!given || most > 0, "maxlen must be above 0, found ", most);
  } else if (most < 0) {  // the largest length
    const auto lengths = i.values("X");
    if (lengths) most = 0;
    for (const int64_t n : lengths.value_or(Longs{})) most = std::max(most, n);
  }
  Shape out = i.shape("X");
  i.check(out.rank() < Shape::max_rank, i.describe("X"), " has too many dimensions");
  out.append(most);
  i.out("Y", out, dtype_attr(i.op().attrs, "out_dtype"));
}

Kernel bind_mask(const Bind& b) {
  const Arg x = b.in("X"), out = b.out("Y");
  return with_int(b.dtype("X"), [&](auto i) {
    return with_dtype(b.out_dtype("Y"), [&](auto t) -> Kernel {
      using I = decltype(i);
      using T = decltype(t);
      return [=](const Run& r) {
        const int64_t most = r[out].shape[r[out].shape.rank() - 1];
        each(r, r[x].numel(), most, MaskRow<I, T>{most, r[x].as<const I>(), r[out].as<T>()});
      };
    });
  });
}

}  // namespace

std::vector<OpDef> sequence_rows_ops() {
  const SlotDef dx{"X@GRAD", SlotDef::optional};
  return {
      {.type = "sequence_reverse",
       .in = {{"X"}},
       .out = {{"Y"}},
       .infer = infer_reverse,
       .bind = bind_reverse,
       .make_grad = reverse_again},
      {.type = "sequence_concat",
       .in = {{"X", SlotDef::many}},
       .out = {{"Out"}},
       .infer = infer_concat_sequences,
       .bind = bind_concat_sequences,
       .grad = {"sequence_concat_grad", {"X", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "sequence_concat_grad",
       .in = {{"X", SlotDef::many}, {"Out@GRAD"}},
       .out = {{"X@GRAD", SlotDef::many | SlotDef::optional}},
       .infer = infer_grad_same,
       .bind = bind_concat_sequences_grad,
       .shape_only = {"X"}},
      {.type = "sequence_expand_as",
       .in = {{"X"}, {"Y"}},
       .out = {{"Out"}},
       .infer = infer_expand_rows,
       .bind = bind_expand_rows,
       .grad = {"sequence_expand_as_grad", {"X", "Y", "Out@GRAD"}, {"X@GRAD"}},
       .shape_only = {"Y"}},
      {.type = "sequence_expand_as_grad",
       .in = {{"X"}, {"Y"}, {"Out@GRAD"}},
       .out = {dx},
       .infer = infer_expand_rows_grad,
       .bind = bind_expand_rows_grad,
       .shape_only = {"X", "Y"}},
      {.type = "sequence_pad",
       .in = {{"X"}, {"PadValue"}},
       .out = {{"Out"}, {"Length"}},
       .attrs = {{"padded_length", -1}},
       .infer = infer_pad,
       .bind = bind_pad,
       .grad = {"sequence_pad_grad", {"X", "Out@GRAD"}, {"X@GRAD"}}},
      {.type = "sequence_pad_grad",
       .in = {{"X"}, {"Out@GRAD"}},
       .out = {dx},
       .attrs = {{"padded_length", -1}},
       .infer = infer_pad_grad,
       .bind = bind_pad_grad,
       .shape_only = {"X"}},
      {.type = "sequence_unpad",
       .in = {{"X"}, {"Length"}},
       .out = {{"Out"}},
       .infer = infer_unpad,
       .bind = bind_unpad,
       .grad = {"sequence_unpad_grad", {"X", "Length", "Out@GRAD"}, {"X@GRAD"}},
       .shape_values = {"Length"}},
      {.type = "sequence_unpad_grad",
       .in = {{"X"}, {"Length", SlotDef::optional}, {"Out@GRAD"}},
       .out = {dx},
       .infer = infer_unpad_grad,
       .bind = bind_unpad_grad,
       .shape_only = {"X"},
       .shape_values = {"Length"}},
      {.type = "sequence_mask",
       .in = {{"X"}, {"MaxLenTensor", SlotDef::optional}},
       .out = {{"Y"}},
       .attrs = {{"maxlen", -1}, {"out_dtype", static_cast<int32_t>(DType::i64)}},
       .infer = infer_mask,
       .bind = bind_mask,
       .shape_values = {"X", "MaxLenTensor"}},
  };
}

}  // namespace paddle
