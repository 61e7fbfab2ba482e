#include "trainer/local_state.h"

#include <cstring>
#include <set>

namespace paddle {

void LocalState::keep(const Program& program, const std::vector<ParamGrad>& params,
                      const Scope& scope) {
  if (revision_ != program.revision()) {
    revision_ = program.revision();
    kept_.clear();
    std::set<std::string> seen;
    for (const ParamGrad& p : params) seen.insert(p.param);
    for (const auto& op : program.global().ops())
      for (const std::string& name : op->out.all()) {
        const Var* v = program.global().find(name);
        if (v && v->persistable && seen.insert(name).second && scope.find(name))
          kept_.emplace_back(name, Tensor());
      }
  }
  for (auto& [name, copy] : kept_) {
    const Tensor& now = scope.tensor(name);
    if (copy.empty() || copy.shape() != now.shape() || copy.dtype() != now.dtype())
      copy = now.clone();
    else
      std::memcpy(copy.raw(), now.raw(), copy.bytes());
  }
}

void LocalState::restore(Scope& scope) const {
  for (const auto& [name, copy] : kept_)
    if (!copy.empty()) std::memcpy(scope.tensor(name).raw(), copy.raw(), copy.bytes());
}

}  // namespace paddle
