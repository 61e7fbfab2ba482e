// A table and a plain model of it: a map of ids to values and states, updated by the rules of optim
// on dense arrays.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "base/thread_pool.h"
#include "optim/rule.h"
#include "table/table.h"

namespace paddle::test {

inline TableOptions small_table(const std::string& rule = "sgd", int64_t width = 5) {
  TableOptions o;
  o.name = "emb";
  o.seed = 11;
  o.width = width;
  o.init = RowInit::uniform(-0.1f, 0.1f);
  o.rule = rule;
  if (rule == "momentum") o.settings = {{"mu", 0.75f}};
  return o;
}

inline std::vector<uint64_t> distinct_ids(uint64_t seed, size_t count, uint64_t span) {
  std::map<uint64_t, int> ids;
  for (uint64_t i = 0; ids.size() < count; ++i)
    ids[mix64(RandomStream(seed, 1).below(i, span))] = 1;
  std::vector<uint64_t> out;
  for (const auto& [id, unused] : ids) out.push_back(id);
  // In an order that is none.
  for (size_t i = out.size(); i > 1; --i)
    std::swap(out[i - 1], out[RandomStream(seed, 2).below(i, i)]);
  return out;
}

// The gradient of an id at a step does not depend on who sends it.
inline std::vector<float> gradients(const std::vector<uint64_t>& ids, int64_t width,
                                    uint64_t step) {
  std::vector<float> out;
  for (const uint64_t id : ids)
    for (int64_t j = 0; j < width; ++j)
      out.push_back(RandomStream(step, id).uniform(static_cast<uint64_t>(j)) - 0.5f);
  return out;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace paddle::test
