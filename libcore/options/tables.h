// The option tables of the programs. An option enters with the code that uses it.
#pragma once

#include <string>

#include "base/log.h"
#include "options/options.h"

namespace paddle {

// help, version, print_config, workspace and the log: the same in every program.
OptionTable common_options();
// help, version and print_config alone, for commands without a log.
OptionTable answer_rows();

// paddle train, paddle trainer, paddle_trainer.
OptionTable trainer_options();
// Of these, the rows about the cluster.
OptionTable trainer_cluster_rows();

// paddle pserver, paddle_pserver.
OptionTable pserver_options();

// token_file, cert_file, key_file and ca_file: of every program that connects or listens.
OptionTable security_rows();
// Of the pserver: listening for others without these.
Option insecure_row();
// paddle token, paddle certs.
OptionTable token_options();
OptionTable certs_options();

// paddle status, paddle doctor, paddle admin, paddle ui, paddle logs.
OptionTable status_options();
OptionTable doctor_options();
OptionTable admin_options();
OptionTable ui_options();
OptionTable logs_options();

// What paddle run and paddle launch take besides the options of both daemons.
OptionTable run_rows();
OptionTable launch_rows();

// "paddle pserver", "paddle trainer", ... for the name of an option of theirs, else "".
// Processes of a job often share one environment, so a variable of another program is no mistake.
std::string program_with(const std::string& name);

// Where `program` logs by these options: under workspace/log unless --log_dir says otherwise.
LogOptions log_options(const Options& options, const std::string& program);

}  // namespace paddle
