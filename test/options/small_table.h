// A table with one row of each kind.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "options/options.h"

namespace paddle {

inline OptionTable small_table() {
  using enum OptionType;
  return {
      {.name = "num_passes",
       .type = integer,
       .default_value = "100",
       .help = "Passes over the data",
       .group = "Training",
       .check = at_least(1),
       .aliases = {"passes"}},
      {.name = "rate",
       .type = real,
       .default_value = "0.5",
       .help = "Learning rate",
       .group = "Training",
       .check = above(0)},
      {.name = "use_gpu",
       .type = flag,
       .default_value = "false",
       .help = "Compute on a GPU",
       .group = "Training"},
      {.name = "job",
       .default_value = "train",
       .help = "What to do",
       .group = "Training",
       .check = one_of({"train", "test", "time"})},
      {.name = "log_dir",
       .default_value = "",
       .help = "Directory of the log files, which is made where it is not there yet and may be "
               "shared by many processes",
       .group = "Log",
       .environment = {"GLOG_log_dir", "LOG_DIR"}},
      {.name = "help",
       .type = flag,
       .default_value = "false",
       .help = "Print this",
       .group = "Log",
       .in_job_file = false},
  };
}

using Words = std::vector<std::string>;

inline Options parse(const Words& words, const Environment& environment = {}) {
  return Options::parse(words, environment, small_table());
}

// What parse() says, "" where it says nothing.
inline std::string complaint(const Words& words, const Environment& environment = {}) {
  try {
    parse(words, environment);
    return "";
  } catch (const Error& e) {
    CHECK(e.kind() == Error::Kind::config);
    return e.what();
  }
}

}  // namespace paddle
