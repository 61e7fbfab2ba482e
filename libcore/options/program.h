// The first steps of every program, in this order: parse the options, answer --help and --version,
// read the job file into the options, answer --print_config, begin the log.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "base/log.h"
#include "options/options.h"

namespace paddle {

// Prints to `out` what --help (with `usage` as its first line) or --version asks for; true where
// one did, and the program ends with 0.
bool answer_help(const Options& options, const std::string& usage, std::ostream& out);

// For commands without options: prints `usage` where --help or -h is among the words.
bool answer_usage(std::span<const std::string> words, const std::string& usage, std::ostream& out);

// As answer_help(), for --print_config.
bool answer_print_config(const Options& options, std::ostream& out);

// Starts the log of `program` ("paddle_trainer") by these options, with the command line as its
// first message. A log directory that was asked for must be usable; without the default one the log
// goes to stderr alone, and says so.
// TERM in `environment` decides whether the terminal can draw; `screen` is what people read on it,
// unless the options ask for the log there.
void begin_log(const Options& options, const std::string& program,
               std::span<const std::string> arguments, const Environment& environment = {},
               Screen screen = Screen::lines);

// Whether the log itself shall stand on the terminal: --verbose, or --logtostderr where it is
// given.
bool wants_log_lines(const Options& options);

}  // namespace paddle
