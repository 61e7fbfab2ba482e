// The option tables of the programs. An option enters with the code that uses it.
#pragma once

#include <string>

#include "base/log.h"
#include "options/options.h"

namespace paddle {

// help, version, print_config, workspace and the log: the same in every program.
OptionTable common_options();

// paddle train, paddle_trainer.
OptionTable trainer_options();

// Where `program` logs by these options: under workspace/log unless --log_dir says otherwise.
LogOptions log_options(const Options& options, const std::string& program);

}  // namespace paddle
