// paddle compare A B: two saved models, or two runs.
#include <iostream>

#include "base/file.h"
#include "options/program.h"
#include "options/tables.h"
#include "paddle/commands.h"
#include "paddle/compare_runs.h"

namespace paddle {
namespace {

const char* const compare_usage =
    "usage: paddle compare A B [--tolerance=0.001]\n"
    "A and B are two directories of saved models, or two runs: workspaces or event\n"
    "files. Exit code 0 where they are equal, 8 where they are not.";

enum class Compared { model, run };

Compared kind_of(const std::string& path) {
  require(is_file(path) || is_directory(path), Error::Kind::io, "there is no '", path,
          "': check the path");
  if (!event_file_of(path).empty()) return Compared::run;
  require(is_model(path), Error::Kind::config, "'", path,
          "' is neither a saved model (output/pass-00000), nor a workspace with job/events.jsonl, "
          "nor an event file");
  return Compared::model;
}

}  // namespace

OptionTable compare_options() {
  OptionTable out{{"tolerance", OptionType::real, "0",
                   "Numbers that differ by no more than this are equal; 0 asks for the same bits",
                   "Comparison", at_least(0)}};
  for (Option& row : answer_rows()) out.push_back(std::move(row));
  return out;
}

int compare_main(std::span<const std::string> arguments) {
  size_t names = 0;
  while (names < arguments.size() && !arguments[names].starts_with("-")) ++names;
  const Options options =
      Options::parse(arguments.subspan(names), current_environment(), compare_options());
  if (answer_help(options, compare_usage, std::cout) || answer_print_config(options, std::cout))
    return 0;
  require(names == 2, Error::Kind::config, "two models or runs are compared, and ", names,
          " are named\n", compare_usage);
  const std::string &a = arguments[0], &b = arguments[1];
  const Compared kind = kind_of(a);
  require(kind == kind_of(b), Error::Kind::config, "one of '", a, "' and '", b,
          "' is a model, the other a run: name two models or two runs");
  const double tolerance = options.real("tolerance");
  const ModelComparison found = kind == Compared::model
                                    ? compare_models(a, b, tolerance)
                                    : compare_runs(a, read_run(a), b, read_run(b), tolerance);
  std::cout << found.text << (found.equal ? "equal\n" : "different\n") << std::flush;
  require(static_cast<bool>(std::cout), Error::Kind::io, "cannot write to stdout");
  return found.equal ? 0 : found_something;
}

}  // namespace paddle
