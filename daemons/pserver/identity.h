// What the trainers of a job must agree on, and the sentence for one that does not.
#pragma once

#include <string>

#include "pserver/context.h"

namespace paddle {

// Throws Error(protocol) for a greeting that no trainer sends.
void check_hello(const wire::Hello& hello);

Identity identity_of(const wire::Hello& hello);

// "" where the trainer fits what the pserver was started with.
std::string options_mismatch(const ShardOptions& options, const wire::Hello& hello);
// "" where the trainer fits the job. `hint` is appended to the sentence.
std::string identity_mismatch(const Identity& job, const wire::Hello& hello,
                              const std::string& hint);

}  // namespace paddle
