#include "table/row_sum.h"

#include <algorithm>
#include <bit>

#include "base/random.h"
#include "optim/merge.h"

namespace paddle {

size_t RowSum::bytes() const {
  return ids_.capacity() * sizeof(uint64_t) + sums_.capacity() * sizeof(float) +
         places_.capacity() * sizeof(uint32_t);
}

// At most half of them are in use.
void RowSum::make_places(size_t rows) {
  const size_t want = std::bit_ceil(std::max<size_t>(2 * rows, 64));
  if (places_.size() >= want) return;
  places_.assign(want, 0);
  for (size_t i = 0; i < ids_.size(); ++i)
    places_[place_of(ids_[i])] = static_cast<uint32_t>(i + 1);
}

// Where the id is, or the empty place where it would be.
size_t RowSum::place_of(uint64_t id) const {
  const size_t mask = places_.size() - 1;
  size_t at = static_cast<size_t>(mix64(id)) & mask;
  while (places_[at] != 0 && ids_[places_[at] - 1] != id) at = (at + 1) & mask;
  return at;
}

void RowSum::add(std::span<const uint64_t> ids, const float* grads) {
  make_places(ids_.size() + ids.size());
  const auto width = static_cast<size_t>(width_);
  for (const uint64_t id : ids) {
    uint32_t& place = places_[place_of(id)];
    if (place != 0) {
      optim::add(grads, width_, sums_.data() + (place - 1) * width);
    } else {
      ids_.push_back(id);
      sums_.insert(sums_.end(), grads, grads + width);
      place = static_cast<uint32_t>(ids_.size());
    }
    grads += width;
  }
}

void RowSum::take(float factor, std::vector<uint64_t>& ids, std::vector<float>& grads) {
  optim::scale(sums_.data(), static_cast<int64_t>(sums_.size()), factor, sums_.data());
  ids.swap(ids_);
  grads.swap(sums_);
  ids_.clear();
  sums_.clear();
  // Those of a much larger round do not stay.
  if (places_.size() > 64 && places_.size() > 16 * ids.size())
    places_ = {};
  else
    std::fill(places_.begin(), places_.end(), 0);
}

}  // namespace paddle
