#include "options/record.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "options/tables.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;
using Words = std::vector<std::string>;

TEST_CASE("the record of a run", "[options]") {
  OptionTable table = trainer_options();
  for (const char* name : {"token_file", "key_file"}) table.push_back({.name = name, .group = "x"});
  const Words words{"--workspace=/w", "--seed=7", "--token_file=/run/top-secret", "--key_file",
                    "/run/private"};
  const Options options =
      Options::parse(words, {{"PADDLE_INIT_NUM_PASSES", "3"}, {"PADDLE_TRAINERS", "2"}}, table);
  const Notes notes = run_notes("paddle train", words);
  const std::string all = record_text(options, notes, Recorded::all);

  SECTION("has every value with its source, and can be read again") {
    CHECK_THAT(all,
               Contains("# flag --seed\n--seed=7\n") &&
                   Contains("# environment variable PADDLE_INIT_NUM_PASSES\n--num_passes=3\n") &&
                   Contains("# default\n--log_period=100\n"));
    const TemporaryDirectory directory;
    write_file_atomically(directory.path() + "/f", all);
    const Options again = Options::parse(Words{"--flagfile=" + directory.path() + "/f"}, {}, table);
    const auto before = options.settings(), after = again.settings();
    REQUIRE(before.size() == after.size());
    for (size_t i = 0; i < before.size(); ++i)
      if (!is_secret(before[i].name) && before[i].name != "workspace")
        CHECK(before[i].value == after[i].value);
  }
  SECTION("says what ran and where") {
    for (const char* word :
         {"# version: PaddlePaddle ", "# command: paddle train --workspace=/w --seed=7",
          "# directory: /", "# host: ", "# processor: ", "# started: 20"})
      CHECK_THAT(all, Contains(word));
  }
  SECTION("has no secret, and not the place of one") {
    CHECK_THAT(all, !Contains("top-secret") && !Contains("/run/private"));
    CHECK_THAT(all, Contains("# token_file was given; give your own\n"));
  }
  SECTION("leaves the files of the run to the next one") {
    CHECK_THAT(all, !Contains("--workspace=/w\n") && !Contains("--log_dir"));
  }
  SECTION("of what was given has nothing else") {
    CHECK_THAT(record_text(options, {}, Recorded::given),
               Contains("--seed=7\n") && !Contains("default"));
  }
  SECTION("is written where a workspace is given, with the job file beside it") {
    const TemporaryDirectory directory;
    CHECK(record_path(Options::parse(Words{}, {}, table), "train").empty());
    const Options here =
        Options::parse(Words{"--workspace=" + directory.path(), "--config=other.json"}, {}, table);
    write_record(here, "train", {}, "{}");
    CHECK(read_file(directory.path() + "/job/job.json", 99) == "{}");
    CHECK_THAT(
        read_file(directory.path() + "/job/train.flags", 99999),
        Contains("# a copy of other.json\n--config=" + directory.path() + "/job/job.json\n"));
  }
}

TEST_CASE("PADDLE_TRAINERS is a number or a list of hosts", "[options]") {
  const auto trainers = [](const std::string& value) {
    return Options::parse(Words{}, {{"PADDLE_TRAINERS", value}}, trainer_options())
        .integer("num_gradient_servers");
  };
  CHECK(trainers("3") == 3);
  CHECK(trainers("10.0.0.1,10.0.0.2") == 2);
  CHECK(trainers("10.0.0.1, 10.0.0.2,") == 2);
  CHECK(trainers("ctr-trainer-0") == 1);
  CHECK(trainers("[fd00::1]:7164,[fd00::2]:7164,[fd00::3]:7164") == 3);
  CHECK_THROWS_WITH(trainers("two"), Contains("PADDLE_TRAINERS"));
  const Options both = Options::parse(
      Words{}, {{"PADDLE_TRAINERS", "a.b,c.d"}, {"PADDLE_TRAINERS_NUM", "5"}}, trainer_options());
  CHECK(both.integer("num_gradient_servers") == 5);
}
