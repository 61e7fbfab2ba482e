#include "options/command_line.h"

#include "base/file.h"
#include "options/small_table.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Contains;

TEST_CASE("flag syntax", "[options]") {
  SECTION("a value stands after = or in the next word, after one dash or two") {
    const Words words = GENERATE(Words{"--num_passes=7"}, Words{"--num_passes", "7"},
                                 Words{"-num_passes=7"}, Words{"-num_passes", "7"},
                                 Words{"--passes=7"}, Words{"--num_passes=3", "--num_passes=7"});
    CHECK(parse(words).integer("num_passes") == 7);
  }
  SECTION("a value may start with a dash, hold = and be empty") {
    CHECK(parse({"--log_dir", "-x"}).text("log_dir") == "-x");
    CHECK(parse({"--log_dir=a=b"}).text("log_dir") == "a=b");
    CHECK(parse({"--log_dir="}).text("log_dir") == "");
    CHECK(parse({"--rate", "1e-3"}).real("rate") == 1e-3);
  }
  SECTION("true and false have many names") {
    for (const char* yes : {"true", "True", "TRUE", "1", "yes", "t", "y", "Y"})
      CHECK(parse({std::string("--use_gpu=") + yes}).flag("use_gpu"));
    for (const char* no : {"false", "False", "0", "no", "NO", "f", "n"})
      CHECK_FALSE(parse({"--use_gpu", std::string("--use_gpu=") + no}).flag("use_gpu"));
    CHECK(parse({"--use_gpu"}).flag("use_gpu"));
    CHECK(parse({"-use_gpu"}).flag("use_gpu"));
    CHECK_FALSE(parse({"--use_gpu", "--nouse_gpu"}).flag("use_gpu"));
    CHECK_FALSE(parse({"--use_gpu", "-nouse_gpu"}).flag("use_gpu"));
  }
  SECTION("--no is for flags only") {
    CHECK_THAT(complaint({"--nojob"}), Contains("unknown flag --nojob"));
    CHECK_THAT(complaint({"--nouse_gpu=true"}), Contains("unknown flag --nouse_gpu"));
  }
  SECTION("a word that is no flag is refused, also after --") {
    CHECK_THAT(complaint({"train.json"}), Contains("unknown command line argument 'train.json'"));
    CHECK_THAT(complaint({"--use_gpu", "true"}), Contains("argument 'true'"));
    CHECK_THAT(complaint({"--", "--use_gpu"}), Contains("argument '--use_gpu'"));
    CHECK_THAT(complaint({"-"}), Contains("argument '-'"));
    CHECK_THAT(complaint({""}), Contains("argument ''"));
  }
  SECTION("a job file without its flag") {
    OptionTable table = small_table();
    const std::vector<std::string> words{"a/train.json"};
    CHECK_THAT(read_command_line(words, table).problems.at(0), !Contains("--config"));
    table.push_back({.name = "config", .default_value = "", .help = "Job file", .group = "Job"});
    CHECK(read_command_line(words, table).problems ==
          std::vector<std::string>{"unknown command line argument 'a/train.json': give the job "
                                   "file as --config=a/train.json"});
  }
  SECTION("a forgotten value is seen at the end and before another flag") {
    CHECK_THAT(complaint({"--num_passes"}), Contains("flag --num_passes needs a value"));
    CHECK_THAT(complaint({"--log_dir", "--use_gpu"}), Contains("flag --log_dir needs a value"));
  }
}

TEST_CASE("flag file", "[options]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/flags", other = directory.path() + "/more";

  SECTION("its flags count where it stands") {
    write_file_atomically(path,
                          "# comment\n\n  --num_passes=5\r\n--log_dir a b\n--use_gpu\n-rate=2");
    const Options options = parse({"--num_passes=1", "--flagfile", path, "--rate=3"});
    CHECK(options.integer("num_passes") == 5);
    CHECK(options.text("log_dir") == "a b");
    CHECK(options.flag("use_gpu"));
    CHECK(options.real("rate") == 3);
    CHECK(options.source("num_passes") == "flag --num_passes in " + path + ":3");
  }
  SECTION("its problems name file and line") {
    write_file_atomically(path, "--use_gpu\n--num_pases=5\n");
    CHECK(complaint({"--flagfile=" + path}) ==
          "unknown flag --num_pases in " + path + ":2 (did you mean --num_passes?)");
  }
  SECTION("it may name another, but not itself") {
    write_file_atomically(other, "--num_passes=9\n");
    write_file_atomically(path, "--flagfile=" + other + "\n");
    CHECK(parse({"--flagfile=" + path}).integer("num_passes") == 9);
    write_file_atomically(path, "--flagfile=" + path + "\n");
    CHECK_THAT(complaint({"--flagfile=" + path}), Contains("circle"));
  }
  SECTION("it must be there") {
    CHECK_THAT(complaint({"--flagfile=" + path}),
               Contains("flag --flagfile: cannot open '" + path + "'"));
  }
}
