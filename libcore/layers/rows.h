// The rows of the registry, by topic.
#pragma once

#include <vector>

#include "layers/layers.h"
#include "layers/registry.h"

namespace paddle {

std::vector<LayerRow> core_rows();      // with parameters, on images and sequences
std::vector<LayerRow> loss_rows();      // losses and metrics
std::vector<LayerRow> math_rows();      // arithmetic and activations
std::vector<LayerRow> shape_rows();     // shapes, types
std::vector<LayerRow> fill_rows();      // values from nothing
std::vector<LayerRow> logic_rows();     // comparisons and what is made of them
std::vector<LayerRow> sampling_rows();  // outputs of many classes, filters over sequences
std::vector<LayerRow> op_rows();        // one op each; see op_layers.h

// The variables that a list of names stands for.
inline Names resolved(const Resolve& at, const Refs& refs) {
  Names out;
  for (const std::string& name : refs.names) out.push_back(at(name));
  return out;
}

// The same for one that may be absent: "" stands for none.
inline std::string resolved(const Resolve& at, const Ref& ref) {
  return ref.name.empty() ? "" : at(ref.name);
}

// What many layers take.
inline void declare_name(Arguments& a, std::string& name) {
  a.optional("name", name, "stands in front of the name of the result");
}
inline void declare_out(Arguments& a, Ref& out) {
  a.optional("out", out, "a variable that is written instead of a new one");
}

}  // namespace paddle
