#include "table/row_sum.h"

#include <algorithm>
#include <type_traits>

#include "optim/merge.h"

namespace paddle {
namespace {

template <class Row>
auto* sum_in(Row* row) {
  using Float = std::conditional_t<std::is_const_v<Row>, const float, float>;
  return reinterpret_cast<Float*>(row + sizeof(RowHead));
}

}  // namespace

RowSum::RowSum(int64_t width)
    : width_(width), sums_(sizeof(RowHead) + static_cast<size_t>(width) * 4, memory_) {}

void RowSum::add(std::span<const uint64_t> ids, const float* grads) {
  absent_.clear();
  sums_.find_each(ids, sums_.row_bytes(), [&](size_t i, std::byte* row) {
    if (row)
      optim::add(grads + static_cast<int64_t>(i) * width_, width_, sum_in(row));
    else
      absent_.push_back(i);
  });
  for (const size_t i : absent_)
    std::copy_n(grads + static_cast<int64_t>(i) * width_, width_, sum_in(sums_.insert(ids[i])));
}

void RowSum::take(float factor, std::vector<uint64_t>& ids, std::vector<float>& grads) {
  ids.clear();
  ids.reserve(sums_.size());
  grads.resize(sums_.size() * static_cast<size_t>(width_));
  uint64_t from = 0;
  do {
  } while (sums_.visit(from, [&](const std::byte* row) {
    optim::scale(sum_in(row), width_, factor,
                 grads.data() + static_cast<int64_t>(ids.size()) * width_);
    ids.push_back(uint64_t{head_of(row)->id});
  }));
  sums_.clear();
}

}  // namespace paddle
