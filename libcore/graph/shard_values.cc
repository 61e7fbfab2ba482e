#include "graph/shard_values.h"

#include <algorithm>

namespace paddle {
namespace {

bool left_out(const Scope& scope, const std::string& name, MissingValue missing) {
  if (missing == MissingValue::error) return false;
  const Variable* v = scope.find(name);
  return v == nullptr || v->tensor.empty();
}

}  // namespace

std::vector<ShardValue> slice_values(const Cut& cut, size_t shard, const Scope& scope,
                                     MissingValue missing) {
  std::vector<ShardValue> out;
  const auto rows = [&](const std::string& name, const std::string& source, const SliceSpec& s) {
    if (left_out(scope, source, missing)) return;
    const Tensor& whole = scope.tensor(source);
    const Var& there = cut.pservers[shard].global().var(name);
    out.push_back({name, whole.shape() == there.shape
                             ? whole
                             : whole.rows(s.first_row, s.first_row + s.shape[0])});
  };
  for (const SliceSpec& s : cut.slices) {
    if (s.shard != shard) continue;
    rows(s.name, s.param, s);
    for (const std::string& state : s.states) rows(state, state, s);
  }
  return out;
}

std::vector<ShardValue> shared_values(const Cut& cut, size_t shard, const Scope& scope,
                                      MissingValue missing) {
  std::vector<ShardValue> out;
  for (const std::string& name : cut.shared)
    if (cut.pservers[shard].global().find(name) && !left_out(scope, name, missing))
      out.push_back({name, scope.tensor(name)});
  return out;
}

std::vector<ShardValue> shard_values(const Cut& cut, size_t shard, const Scope& scope,
                                     MissingValue missing) {
  std::vector<ShardValue> out = slice_values(cut, shard, scope, missing);
  for (ShardValue& v : shared_values(cut, shard, scope, missing)) out.push_back(std::move(v));
  return out;
}

Names shard_sources(const Cut& cut, size_t shard) {
  Names out = cut.shared;
  for (const SliceSpec& s : cut.slices) {
    if (s.shard != shard) continue;
    out.push_back(s.param);
    out.insert(out.end(), s.states.begin(), s.states.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace paddle
