#include "options/tables.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"

using namespace paddle;

namespace {

Options trainer(const std::vector<std::string>& words, const Environment& environment = {}) {
  return Options::parse(words, environment, trainer_options());
}

}  // namespace

TEST_CASE("trainer table", "[options]") {
  SECTION("names, aliases and variables are used once, and every row explains itself") {
    const OptionTable table = GENERATE(trainer_options(), pserver_options(), status_options());
    std::set<std::string> names, variables;
    for (const Option& option : table) {
      CAPTURE(option.name);
      CHECK(names.insert(option.name).second);
      for (const std::string& alias : option.aliases) CHECK(names.insert(alias).second);
      for (const std::string& name : option.environment) CHECK(variables.insert(name).second);
      CHECK_FALSE(option.help.empty());
      CHECK(option.help.back() != '.');
      CHECK_FALSE(option.group.empty());
    }
  }
  SECTION("has the defaults that users know") {
    const Options options = trainer({});
    CHECK(options.integer("num_passes") == 100);
    CHECK(options.integer("saving_period") == 1);
    CHECK(options.integer("log_period") == 100);
    CHECK(options.integer("dot_period") == 1);
    CHECK(options.integer("seed") == 1);
    CHECK(options.integer("trainer_count") == 1);
    CHECK(options.real("checkgrad_eps") == 1e-5);
    CHECK(options.text("load_missing_parameter_strategy") == "fail");
    CHECK_FALSE(options.flag("use_gpu"));
  }
  SECTION("takes a GPU, which is looked for when the job starts") {
    CHECK(trainer({"--use_gpu=true"}).flag("use_gpu"));
    CHECK_FALSE(trainer({"--use_gpu=False"}).flag("use_gpu"));
  }
  SECTION("hears the variables of logging libraries and data sets") {
    const Options options = trainer({}, {{"GLOG_logtostderr", "0"},
                                         {"GLOG_log_dir", "./log2"},
                                         {"GLOG_v", "3"},
                                         {"GLOG_minloglevel", "1"},
                                         {"PADDLE_DATA_HOME", "/data"},
                                         {"FLAGS_check_nan_inf", "1"}});
    const LogOptions log = log_options(options, "paddle_trainer");
    CHECK(log.program == "paddle_trainer");
    CHECK(log.log_dir == "./log2");
    CHECK_FALSE(log.to_stderr);
    CHECK(log.verbosity == 3);
    CHECK(log.min_level == 1);
    CHECK(options.text("data_home") == "/data");
    CHECK(options.flag("check_nan_inf"));
  }
  SECTION("logs under the workspace") {
    CHECK(log_options(trainer({"--workspace=w"}), "x").log_dir == "w/log");
  }
}

TEST_CASE("environment", "[options]") {
  CHECK(speaks_utf8({{"LANG", "en_US.UTF-8"}}));
  CHECK(speaks_utf8({{"LC_ALL", ""}, {"LANG", "C.utf8"}}));
  CHECK_FALSE(speaks_utf8({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}));
  CHECK_FALSE(speaks_utf8({}));
  CHECK(current_environment().count("PATH") == 1);
}
