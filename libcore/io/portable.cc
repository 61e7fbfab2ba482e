#include "io/portable.h"

#include <algorithm>

#include "io/foreign_attrs.h"

namespace paddle {
namespace {

// The op that an op computes, or whose gradient it computes.
std::string_view forward_type(std::string_view type) {
  constexpr std::string_view suffix = "_grad";
  return type.ends_with(suffix) ? type.substr(0, type.size() - suffix.size()) : type;
}

// Ours has `scale` ops behind the updates; each multiplies one power by its beta.
bool advances(const Op& op, const std::string& power) {
  return op.type == "scale" && op.in["X"] == Names{power} && op.out["Out"] == Names{power};
}

void advance_powers(Block& block) {
  for (size_t i = 0; i < block.ops().size(); ++i) {
    Op& op = *block.ops()[i];
    if (op.type != "adam") continue;
    for (const std::string slot : {"Beta1Pow", "Beta2Pow"}) {
      const Names power = op.in[slot];
      if (power.size() != 1 || op.out.has(slot + "Out")) continue;
      for (size_t k = block.ops().size(); k-- > i + 1;) {
        if (!advances(*block.ops()[k], power[0])) continue;
        op.out.set(slot + "Out", power);
        block.remove_op(k);
        break;
      }
    }
  }
}

// A saved program has no seed of its own: ops that draw first values carry it.
void keep_seed(Op& op, uint32_t seed) {
  const bool draws = op.type.find("_random") != std::string::npos;
  if (draws && seed != 0 && op.attrs.get<int32_t>("seed", 0) == 0)
    op.attrs.set("seed", static_cast<int32_t>(seed));
}

}  // namespace

Program portable(const Program& program) {
  Program out = program.clone(false);
  for (size_t b = 0; b < out.num_blocks(); ++b) {
    Block& block = out.block(static_cast<int32_t>(b));
    advance_powers(block);
    for (const auto& op : block.ops()) {
      keep_seed(*op, program.random_seed);
      for (const auto& [name, value] : foreign_attrs(forward_type(op->type)))
        if (!op->attrs.has(name)) op->attrs.set(name, value);
    }
  }
  return out;
}

}  // namespace paddle
