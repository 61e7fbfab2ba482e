// What a run was, so that another person can repeat it: a flag file with every option, its value
// and its source, and notes about the program and the machine.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "options/options.h"

namespace paddle {

using Notes = std::vector<std::pair<std::string, std::string>>;  // "version" and what it was

// Whether an option names a secret. Records hold neither such options nor their values.
bool is_secret(const std::string& option);

// Version, command line, directory, host, processor and time of this run.
Notes run_notes(const std::string& program, std::span<const std::string> arguments);

// A text for --flagfile: notes as comments, then for each option its source and its value. Options
// about where a run leaves its files (workspace, log_dir, …) are left out.
enum class Recorded { all, given };
std::string record_text(const Options& options, const Notes& notes, Recorded which);

// record_file, or job/<name>.flags in the workspace where that is given, else "": no record.
std::string record_path(const Options& options, const std::string& name);

// Writes the record, and the job file `job` beside it as job.json where it is not empty; the record
// then names that copy. Does nothing where record_path() is "". Throws Error(io).
void write_record(Options options, const std::string& name, const Notes& notes,
                  const std::string& job, Recorded which = Recorded::all);

// Whether no launcher keeps what this process prints, and the node's number, in its workspace: such
// a one gives it a log_dir.
bool keeps_own_workspace(const Options& options);
// nodefile in the workspace, where the process keeps its own.
void write_nodefile(const Options& options, size_t number);

// A path below the workspace, unless it is absolute or empty.
std::string in_workspace(const Options& options, const std::string& path);

}  // namespace paddle
