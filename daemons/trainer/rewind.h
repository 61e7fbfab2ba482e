#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wire/messages.h"

namespace paddle {

// Thrown out of a step: go on with `step`, whose data begins at `place` (none: at the beginning).
struct Rewind {
  uint64_t step = 0;
  std::optional<wire::Position> place;
  std::string why;
  // A pserver came back without what it knew of this trainer: gradients may count twice.
  bool place_lost = false;
  bool over = false;  // the job has its result: nothing is left to do for this trainer
};

}  // namespace paddle
