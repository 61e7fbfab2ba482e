// A net under test: two programs, their builder, and a place to run them.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "exec/executor.h"
#include "layers/layers.h"
#include "layers/optimizers.h"
#include "support/op_check.h"

namespace paddle::test {

struct NetCase {
  Net net;
  Builder b{net};
  Scope scope;
  Executor exe;

  void start() { exe.run(net.startup, scope); }
  std::vector<Tensor> run(const Feeds& feeds, const Names& fetches) {
    return exe.run(net.main, scope, feeds, fetches);
  }
  std::vector<double> values(const std::string& name) const {
    return values_of(scope.tensor(name));
  }
  void set(const std::string& name, const Shape& shape, std::vector<float> to) {
    scope.var(name).tensor = Tensor::of<float>(shape, std::span<const float>(to));
  }
};

inline Names op_types(const Program& p, size_t from = 0) {
  Names out;
  for (size_t i = from; i < p.global().ops().size(); ++i) out.push_back(p.global().ops()[i]->type);
  return out;
}

inline Names ops_with_role(const Program& p, int32_t wanted) {
  Names out;
  for (const auto& op : p.global().ops())
    if (op->role() == wanted) out.push_back(op->type);
  return out;
}

inline Names parameter_names(const Program& p) {
  Names out;
  for (const Var* v : p.parameters()) out.push_back(v->name);
  return out;
}

}  // namespace paddle::test
