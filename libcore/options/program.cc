#include "options/program.h"

#include "base/error.h"
#include "base/log.h"
#include "base/output_copy.h"
#include "base/version.h"
#include "options/record.h"
#include "options/tables.h"

namespace paddle {

bool answer_help(const Options& options, const std::string& usage, std::ostream& out) {
  if (options.flag("help"))
    out << options.help(usage) << std::flush;
  else if (options.flag("version"))
    out << version_block() << std::flush;
  else
    return false;
  return true;
}

bool answer_usage(std::span<const std::string> words, const std::string& usage, std::ostream& out) {
  for (const std::string& word : words)
    if (word == "--help" || word == "-help" || word == "-h") {
      out << usage << std::flush;
      return true;
    }
  return false;
}

bool answer_print_config(const Options& options, std::ostream& out) {
  if (!options.flag("print_config")) return false;
  out << options.print() << std::flush;
  return true;
}

bool wants_log_lines(const Options& options) {
  return options.flag("verbose") || (options.given("logtostderr") && options.flag("logtostderr"));
}

void begin_log(const Options& options, const std::string& program,
               std::span<const std::string> arguments, const Environment& environment,
               Screen screen) {
  LogOptions log = log_options(options, program);
  log.screen = wants_log_lines(options) ? Screen::lines : screen;
  log.draws = variable(environment, "TERM") != "dumb";
  std::string without_file;
  try {
    start_log(log);
  } catch (const Error& e) {
    if (options.given("log_dir") || options.given("workspace")) throw;
    without_file = e.what();
    log.log_dir.clear();
    log.to_stderr = true;
    log.screen = Screen::lines;
    start_log(log);
  }
  if (keeps_own_workspace(options))
    copy_output(log.log_dir + (program == "paddle_trainer" ? "/train.log" : "/server.log"),
                log.max_file_bytes);
  std::string line = "commandline: " + program + " ";
  for (const std::string& word : arguments) line += word + " ";
  log_info(line);
  if (!without_file.empty()) log_warn("there is no log file: " + without_file);
}

}  // namespace paddle
