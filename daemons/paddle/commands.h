// The commands of the front program that start processes or look at them.
#pragma once

#include <span>
#include <string>

#include "options/option.h"

namespace paddle {

// paddle launch --server_num=2 --worker_num=2 --config=JOB.json [flags]: a whole job on this
// machine. Returns the exit code of the process that failed first, or 0.
int launch_main(std::span<const std::string> arguments);

// paddle status [--pservers=...] [--watch] [--json]: what the shards of a job are doing.
int status_main(std::span<const std::string> arguments);

// The exit code of a command that was asked for a judgement and found something: a problem
// (doctor), a difference (compare).
inline constexpr int found_something = 8;

// paddle doctor [JOB.json] [--pservers=...]: what stands in the way of a job.
int doctor_main(std::span<const std::string> arguments);

// paddle admin snapshot|stop --pservers=...: for admins of a job.
int admin_main(std::span<const std::string> arguments);

// paddle ui --pservers=...: serves a page that shows a job, until Ctrl-C.
int ui_main(std::span<const std::string> arguments);

// paddle logs [--follow]: what the processes of paddle launch have printed, in the order of time.
int logs_main(std::span<const std::string> arguments);

// paddle token --new FILE: a token for the processes of a job.
int token_main(std::span<const std::string> arguments);

// paddle certs --hosts=...: a CA and certificates.
int certs_main(std::span<const std::string> arguments);

// paddle make_clicks --output_dir=DIR: writes generated click logs in Criteo's format.
int make_clicks_main(std::span<const std::string> arguments);

// paddle infer --model=DIR --data FILE …: predictions of a saved model for the records of files.
int infer_main(std::span<const std::string> arguments);
OptionTable infer_options();

// paddle export MODEL --output=DIR: a model for predictions, of a saved one.
int export_main(std::span<const std::string> arguments);
OptionTable export_options();

// paddle compare A B: two models or two runs; found_something where they differ.
int compare_main(std::span<const std::string> arguments);
OptionTable compare_options();

// paddle table inspect|export|import FILE.table: the file of a saved table as text.
int table_main(std::span<const std::string> arguments);
OptionTable table_command_options();

}  // namespace paddle
