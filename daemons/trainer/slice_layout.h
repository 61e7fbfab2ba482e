// The slices of a cut as a trainer exchanges them. Small slices of one shard form groups, which
// travel in one message each way; a larger slice is a group of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/transpile.h"

namespace paddle {

struct GroupLimits {
  size_t slice = 16u << 10;   // bytes: larger slices travel alone, from the memory they lie in
  size_t group = 256u << 10;  // bytes
  size_t slices = 1;          // of a group, until shards take several parts in a message
};

class SliceLayout {
 public:
  struct Slice {
    uint32_t shard = 0;
    int32_t param = 0;
    size_t begin = 0;  // bytes, in the parameter
    size_t bytes = 0;
    uint32_t group = 0;
    size_t group_begin = 0;  // bytes, in the group
  };
  struct Group {
    uint32_t shard = 0;
    std::vector<uint32_t> slices;  // ids
    size_t bytes = 0;
  };

  explicit SliceLayout(const Cut& cut, const GroupLimits& limits = {});

  std::vector<Slice> slices;  // by id
  std::vector<Group> groups;
  std::vector<std::string> names;  // of the slices, for sentences
  size_t shards = 0;

  size_t params() const { return param_begin_.size() - 1; }
  // The ids of a parameter's slices are first, …, last - 1.
  uint32_t first_of(int32_t param) const { return param_begin_[static_cast<size_t>(param)]; }
  uint32_t last_of(int32_t param) const { return param_begin_[static_cast<size_t>(param) + 1]; }

 private:
  std::vector<uint32_t> param_begin_;
};

}  // namespace paddle
