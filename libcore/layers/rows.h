// The rows of the registry, by topic.
#pragma once

#include <vector>

#include "layers/layers.h"
#include "layers/registry.h"

namespace paddle {

std::vector<LayerRow> core_rows();   // with parameters, on images and sequences
std::vector<LayerRow> loss_rows();   // losses and metrics
std::vector<LayerRow> math_rows();   // arithmetic and activations
std::vector<LayerRow> shape_rows();  // shapes, types, constants

// The variables that a list of names stands for.
inline Names resolved(const Resolve& at, const Refs& refs) {
  Names out;
  for (const std::string& name : refs.names) out.push_back(at(name));
  return out;
}

}  // namespace paddle
