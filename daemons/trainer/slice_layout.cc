#include "trainer/slice_layout.h"

#include <cassert>

namespace paddle {

SliceLayout::SliceLayout(const Cut& cut, const GroupLimits& limits) : shards(cut.pservers.size()) {
  constexpr size_t none = ~size_t{0};
  std::vector<size_t> open(shards, none);  // the group of each shard that is being filled
  param_begin_.assign(cut.params.size() + 1, static_cast<uint32_t>(cut.slices.size()));
  for (size_t i = cut.slices.size(); i-- > 0;)
    param_begin_[static_cast<size_t>(cut.slices[i].param_index)] = static_cast<uint32_t>(i);
  for (const SliceSpec& s : cut.slices) {
    const auto bytes = static_cast<size_t>(s.bytes());
    const bool small = bytes <= limits.slice && limits.slices > 1;
    size_t at = small ? open[s.shard] : none;
    if (at != none &&
        (groups[at].slices.size() == limits.slices || groups[at].bytes + bytes > limits.group))
      at = none;
    if (at == none) {
      at = groups.size();
      groups.push_back({.shard = static_cast<uint32_t>(s.shard)});
      if (small) open[s.shard] = at;
    }
    Group& group = groups[at];
    names.push_back(s.name);
    group.slices.push_back(static_cast<uint32_t>(slices.size()));
    slices.push_back({.shard = static_cast<uint32_t>(s.shard),
                      .param = s.param_index,
                      .begin = static_cast<size_t>(s.first_element()) * size_of(s.dtype),
                      .bytes = bytes,
                      .group = static_cast<uint32_t>(at),
                      .group_begin = group.bytes});
    group.bytes += bytes;
  }
}

}  // namespace paddle
