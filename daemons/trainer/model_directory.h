// Saved models: save_dir/pass-00000, one file per variable in Fluid's format, with what is needed
// to go on exactly where training stood. A directory counts only when its file `done` is there,
// which is written last.
#pragma once

#include <string>

#include "io/checkpoint.h"
#include "trainer/session.h"

namespace paddle {

// Saves parameters, optimizer state, the state of training, the job file and, where the job names
// outputs, the inference program. The old directory of that name stays until the new one is
// complete. `step` is the number of updates in the values: more than this trainer's own, where
// others had more data. Returns its path.
std::string save_model(Session& session, const std::string& name, uint64_t step);

// Loads a saved directory into the scope and sets session.at; throws Error(data or io) with a
// remedy.
void load_model(Session& session, const std::string& directory);

// Warns where save_dir holds models of the passes that this run is about to make: those of the same
// name are replaced, and the others stay beside the new ones.
void warn_of_older_models(const Session& session);

// The inputs that the outputs of a model are computed from.
Names needed_inputs(const Model& model);

// The job file that a saved directory holds, or ""; and the --config_args that it was trained with.
std::string job_of_model(const std::string& directory);
std::string config_args_of_model(const std::string& directory);

// Removes a directory that save_model() made.
void remove_model(const std::string& directory);

// Loads what init_model_path or start_pass ask for; nothing where they ask for nothing.
void load_initial_model(Session& session);

}  // namespace paddle
