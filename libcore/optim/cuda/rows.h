// The updates of optim/apply.h on a GPU.
#pragma once

#include "kernels/cuda/launch.h"

namespace paddle::optim {

// A functor whose numbers of this step are in the GPU's memory: the host does not wait for them,
// and a recorded update takes those of its step.
template <class F, class T>
struct ReadsInputs {
  F f;
  Inputs<T> inputs;
  template <class... S>
  PS_HD void operator()(T& p, const T& g, S&... state) const {
    T numbers[most_inputs] = {};
    for (int k = 0; k < most_inputs; ++k)
      if (inputs.at[k] != nullptr) numbers[k] = *inputs.at[k];
    F own = f;
    own.read(numbers);
    own(p, g, state...);
  }
};

namespace detail {

// Element i of the merged rows.
struct UpdateRowsAt {
  template <class F, class T, class... S>
  PS_HD void operator()(int64_t i, const F& f, int64_t width, const int64_t* ids, const T* values,
                        T* p, S*... state) const {
    const int64_t at = ids[i / width] * width + i % width;
    f(p[at], values[i], state[at]...);
  }
};

// Element i of the table, whose row may be among the merged ones, which rise.
struct UpdateAllRowsAt {
  template <class F, class T, class... S>
  PS_HD void operator()(int64_t i, const F& f, int64_t count, int64_t width, const int64_t* ids,
                        const T* values, T* p, S*... state) const {
    int64_t first = 0;
    for (int64_t end = count; first < end;) {
      const int64_t middle = (first + end) / 2;
      if (ids[middle] < i / width)
        first = middle + 1;
      else
        end = middle;
    }
    const bool there = first < count && ids[first] == i / width;
    f(p[i], there ? values[first * width + i % width] : T(0), state[i]...);
  }
};

}  // namespace detail

template <class F, class T, class... S>
void update_rows(const Device& device, const Rows<T>& rows, const F& f, T* p, S*... state) {
  cuda::launch(device, rows.count * rows.width, detail::UpdateRowsAt{}, f, rows.width, rows.ids,
               rows.values, p, state...);
}
template <class F, class T, class... S>
void update_all_rows(const Device& device, const Rows<T>& rows, const F& f, T* p, S*... state) {
  cuda::launch(device, rows.height * rows.width, detail::UpdateAllRowsAt{}, f, rows.count,
               rows.width, rows.ids, rows.values, p, state...);
}

}  // namespace paddle::optim
