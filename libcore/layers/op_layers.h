// Layers that are one op and have no parameters: each is a row that names the op, its inputs and
// its settings. Job files, their checks and their help follow from the row, as for every layer.
#pragma once

#include <string>
#include <vector>

#include "layers/builder.h"

namespace paddle {

struct OpLayer {
  struct Input {
    std::string argument, slot, meaning;
    enum Kind { one, optional, several } kind = one;
  };
  struct Setting {
    std::string argument;
    Attr fallback;
    std::string meaning;
    bool required = false;
    std::string attr = {};  // of the op; "" = like the argument
  };
  std::string name, op, meaning;
  std::vector<Input> inputs;
  std::vector<Setting> settings = {};
  Names results = {"Out"};  // output slots, in the order in which they are returned
  Names others = {};        // output slots that only the gradient, or a saved program, needs
  bool stop_gradient = false;
};

const std::vector<OpLayer>& op_layers();
// By name; throws Error(config) for one that is not there.
const OpLayer& op_layer(std::string_view name);

// Appends the op of a row; `in` by slot. Names of results are made of the layer's name, and of
// `name` where that is given.
Names build_op_layer(const Builder& b, const OpLayer& layer, Slots in, Attrs attrs = {},
                     const std::string& name = "");

}  // namespace paddle
