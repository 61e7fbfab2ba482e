// A rule's functor over arrays: every element of a parameter, or the rows that a sparse gradient
// names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/map.h"

namespace paddle::optim {

// How many numbers a rule reads anew in each step (Rule::inputs).
inline constexpr int most_inputs = 4;
// Where they are, in the device's memory; null behind the last.
template <class T>
struct Inputs {
  const T* at[most_inputs] = {};
};

// Rows of a gradient, merged: `ids` rise and are distinct, row i of `values` belongs to table row
// ids[i].
template <class T>
struct Rows {
  int64_t count, width, height;
  const int64_t* ids;
  const T* values;
};

// Rows that lie apart: the values of row i at values[i], its states one after the other at
// states[i], each `width` long (or one number, where the rule has one per row), its gradient at
// grads[i]. Rows are distinct.
template <class T>
struct RowsAt {
  int64_t count, width;
  T* const* values;
  T* const* states;
  const T* const* grads;
};

#ifdef PS_GPU
// The number is read where it is (ReadsInputs): any stands for it.
template <class T>
T number_at(const Device&, const T*) {
  return T(0);
}
#else
template <class T>
T number_at(const Device&, const T* at) {
  return *at;
}
#endif

namespace detail {

// The functor where there is no gradient.
template <class F>
struct Fade {
  F f;
  template <class T, class... S>
  PS_HD void operator()(T& p, S&... state) const {
    f(p, T(0), state...);
  }
};

// The functor where the new value goes to another place than the old one.
template <class F>
struct Moved {
  F f;
  template <class T, class... S>
  PS_HD void operator()(T& to, const T& from, const T& g, S&... state) const {
    T p = from;
    f(p, g, state...);
    to = p;
  }
};

#ifndef PS_GPU

// Rows [begin, end) of `rows`, each on its own place in the table.
struct UpdateRowsLoop {
  template <class F, class T, class... S>
  PS_INLINE void operator()(int64_t begin, int64_t end, const Rows<T>& rows, const F& given, T* p,
                            S*... state) const {
    const F f = given;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = rows.ids[i] * rows.width;
      const T* g = rows.values + i * rows.width;
      PS_IVDEP
      for (int64_t j = 0; j < rows.width; ++j) f(p[at + j], g[j], state[at + j]...);
    }
  }
};

// Whole vectors first: rows are short, and a loop of known length has no beginning and end to look
// after.
struct UpdateRowsAtLoop {
  template <class F, class T, size_t... k>
  PS_INLINE void operator()(const RowsAt<T>& rows, const F& given,
                            std::index_sequence<k...>) const {
    constexpr int64_t step = 16;
    const F f = given;
    const int64_t width = rows.width, whole = width / step * step;
    for (int64_t i = 0; i < rows.count; ++i) {
      T* p = rows.values[i];
      [[maybe_unused]] T* s = rows.states[i];
      const T* g = rows.grads[i];
      for (int64_t j = 0; j < whole; j += step) {
        PS_IVDEP
        for (int64_t q = j; q < j + step; ++q)
          f(p[q], g[q], s[static_cast<int64_t>(k) * width + q]...);
      }
      PS_IVDEP
      for (int64_t j = whole; j < width; ++j)
        f(p[j], g[j], s[static_cast<int64_t>(k) * width + j]...);
    }
  }
};

#endif

}  // namespace detail

// All n elements.
template <class F, class T, class... S>
void update_dense(const Device& device, int64_t n, const F& f, T* p, const T* g, S*... state) {
  update(device, n, f, p, g, state...);
}

// The same from the values in `from`, which stay as they are.
template <class F, class T, class... S>
void update_dense_from(const Device& device, int64_t n, const F& f, const T* from, T* p, const T* g,
                       S*... state) {
  update(device, n, detail::Moved<F>{f}, p, from, g, state...);
}

#ifndef PS_GPU

// The rows that are there; the others stay as they are.
template <class F, class T, class... S>
void update_rows(const Device& device, const Rows<T>& rows, const F& f, T* p, S*... state) {
  const int64_t grain = std::max<int64_t>(1, map_grain / std::max<int64_t>(1, rows.width));
  device.pool().parallel_for(rows.count, grain, [&](int64_t begin, int64_t end) {
    run_loop<worth_clones<T>>(detail::UpdateRowsLoop{}, begin, end, rows, f, p, state...);
  });
}

// Rows that lie apart, in the calling thread.
template <class F, class T>
void update_rows_at(const RowsAt<T>& rows, const F& f) {
  run_loop<worth_clones<T>>(detail::UpdateRowsAtLoop{}, rows, f,
                            std::make_index_sequence<F::states>{});
}

// Every row of the table, those that are not there with a gradient of zero: the same as
// update_dense() on the dense gradient.
template <class F, class T, class... S>
void update_all_rows(const Device& device, const Rows<T>& rows, const F& f, T* p, S*... state) {
  const int64_t grain = std::max<int64_t>(1, map_grain / std::max<int64_t>(1, rows.width));
  device.pool().parallel_for(rows.height, grain, [&](int64_t begin, int64_t end) {
    const int64_t* last = rows.ids + rows.count;
    const int64_t* id = std::lower_bound(rows.ids, last, begin);
    for (int64_t row = begin; row < end;) {
      const int64_t present = id < last && *id < end ? *id : end;
      run_loop<worth_clones<T>>(paddle::detail::UpdateLoop{}, row * rows.width,
                                present * rows.width, detail::Fade<F>{f}, p, state...);
      if (present < end) {
        const int64_t i = id++ - rows.ids;
        run_loop<worth_clones<T>>(detail::UpdateRowsLoop{}, i, i + 1, rows, f, p, state...);
      }
      row = present + 1;
    }
  });
}

#endif

}  // namespace paddle::optim

#ifdef PS_GPU
#include "optim/cuda/rows.h"
#endif
