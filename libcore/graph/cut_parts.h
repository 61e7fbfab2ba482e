// The pieces of a program that trains, found by the roles of its ops: what computes gradients, what
// updates each parameter, what computes the learning rate.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/backward.h"
#include "graph/program.h"

namespace paddle {

// All that happens to one parameter between its gradient and its next value.
struct ParamUpdate {
  ParamGrad names;             // the gradient is the one that the backward ops leave
  std::vector<const Op*> ops;  // of the program, in its order: clip, regularise, update
  std::string whole_because;   // not "": why it cannot work on slices of the parameter
};

struct CutParts {
  std::vector<ParamUpdate> updates;  // in order of their first ops
  std::vector<const Op*> lr_ops;     // the schedule of the learning rate
  std::set<std::string> lr_made;     // what they write
  std::set<std::string> updated;     // what the updates write

  // Whether the op leaves the trainer.
  static bool is_update(const Op& op) { return op.role() == role::optimize; }
  static bool is_schedule(const Op& op) {
    return op.role() == role::lr_sched || op.role() == (role::lr_sched | role::optimize);
  }
  static bool leaves(const Op& op) { return is_update(op) || is_schedule(op); }
};

// Turns sparse gradients into dense ones, and returns the names of the tables that had them. Throws
// Error(config) where an update is defined on sparse gradients only.
Names make_gradients_dense(Program& main);

// The parts of the global block. They point into `main`. Throws Error(config) where the program
// does not train, or where its parts depend on each other in a way that a cut would break.
CutParts find_parts(const Program& main, const Program& startup);

// Init ops whose values can be made for some rows of a variable.
bool is_sliceable_init(const Op& op);

}  // namespace paddle
