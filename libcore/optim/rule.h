// The table of update rules: the description of each (description.h) and how to run it, without its
// C++ type. The optimizer ops are made from it, and a parameter-server shard runs its slices by it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/apply.h"
#include "optim/description.h"

namespace paddle::optim {

// Numbers by name: those that are read each time (learning rate, powers) and the settings.
template <class T>
class Numbers {
 public:
  Numbers(std::span<const std::string> names, std::span<const T> values)
      : names_(names), values_(values) {}
  // The name is one of the rule's own.
  T operator()(std::string_view name) const {
    size_t i = 0;
    while (names_[i] != name) ++i;
    return values_[i];
  }

 private:
  std::span<const std::string> names_;
  std::span<const T> values_;
};

// One update of one parameter. `numbers` are in the order of Rule::numbers, `states` in that of
// Rule::states; an optional state that is absent is null.
template <class T>
struct Call {
  Device device;
  std::span<const T> numbers;
  T* param;
  std::span<T* const> states;
  // Where the parameter's values are now, if not in `param`: a dense update leaves them as they
  // are.
  const T* from = nullptr;
  // With `from`: the new values are not read soon and go past the cache. The caller that shows them
  // to another thread calls end_streams() (stream.h) in the thread that updated.
  bool streams = false;
  // Where the first of the numbers are; on a GPU they are read there, and not from `numbers`.
  Inputs<T> inputs = {};
};

struct Rule;
template <class T>
struct Updates {
  void (*dense)(const Rule&, const Call<T>&, const T* grad, int64_t n) = nullptr;
  // Rows as apply.h says; merged unless the rule takes repeated rows.
  void (*rows)(const Rule&, const Call<T>&, const Rows<T>&) = nullptr;
  // Rows that lie apart, as a sparse table keeps them; those that are not there stay as they are,
  // whatever the rule. Numbers in the order of Rule::numbers.
  void (*rows_at)(const Rule&, std::span<const T> numbers, const RowsAt<T>&) = nullptr;
  // How many states these numbers need; optional ones come last.
  int (*states)(const Rule&, std::span<const T> numbers) = nullptr;
  // Whether `rows` changes rows without a gradient too.
  bool (*all_rows)(const Rule&, std::span<const T> numbers) = nullptr;
};

struct Rule : Description {
  Updates<float> f32;
  Updates<double> f64;
  bool takes_repeated_rows = false;  // duplicates need no merge
  bool state_per_row = false;        // a state is one number per row; there is no other update
  std::vector<std::string> numbers;  // inputs, then settings by name
};

const std::vector<Rule>& rules();
// The rule of an op type, or null.
const Rule* find_rule(std::string_view type);

// The rule of a sparse table, or null: those of rules() and those that exist for rows only.
const Rule* find_row_rule(std::string_view type);

// p and states from a dense gradient of n elements.
void apply_dense(const Rule& rule, const Call<float>& call, const float* grad, int64_t n);
void apply_dense(const Rule& rule, const Call<double>& call, const double* grad, int64_t n);

// Bytes of scratch that apply_rows() needs for a gradient of `count` rows.
template <class T>
size_t rows_scratch_bytes(const Rule& rule, int64_t count, int64_t width);

// From rows in any order, which may repeat. Rules in which time alone changes a parameter
// (momentum, adam, …) touch every row, so that the result is that of the dense gradient; the
// others, and lazy adam, touch the rows that are there. Throws Error(data) if an id lies outside
// [0, height).
void apply_rows(const Rule& rule, const Call<float>& call, const Rows<float>& rows, void* scratch);
void apply_rows(const Rule& rule, const Call<double>& call, const Rows<double>& rows,
                void* scratch);

}  // namespace paddle::optim
