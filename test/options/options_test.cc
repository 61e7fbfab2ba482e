#include "options/options.h"

#include <stdexcept>

#include "options/small_table.h"

using namespace paddle;
using Catch::Contains;

TEST_CASE("option values", "[options]") {
  SECTION("defaults stand where nothing is given") {
    const Options options = parse({});
    CHECK(options.integer("num_passes") == 100);
    CHECK(options.real("rate") == 0.5);
    CHECK(options.text("job") == "train");
    CHECK_FALSE(options.given("job"));
    CHECK(options.source("job") == "default");
  }
  SECTION("flag over environment over job file over default") {
    const Environment environment{{"PADDLE_INIT_NUM_PASSES", "2"}, {"HOME", "/x"}};
    Options options = parse({}, environment);
    CHECK(options.set_from_file("num_passes", "1", "job.json:3").empty());
    CHECK(options.integer("num_passes") == 2);
    CHECK(options.source("num_passes") == "environment variable PADDLE_INIT_NUM_PASSES");
    options = parse({"--num_passes=3"}, environment);
    CHECK(options.set_from_file("num_passes", "1", "job.json:3").empty());
    CHECK(options.integer("num_passes") == 3);
    CHECK(options.source("num_passes") == "flag --num_passes");
    options = parse({});
    CHECK(options.set_from_file("num_passes", "1", "job.json:3").empty());
    CHECK(options.integer("num_passes") == 1);
    CHECK(options.source("num_passes") == "job.json:3");
    CHECK(options.given("num_passes"));
  }
  SECTION("other variables of an option come after its own, in their order") {
    CHECK(parse({}, {{"LOG_DIR", "b"}}).text("log_dir") == "b");
    CHECK(parse({}, {{"LOG_DIR", "b"}, {"GLOG_log_dir", "a"}}).text("log_dir") == "a");
    const Options options =
        parse({}, {{"GLOG_log_dir", "a"}, {"PADDLE_INIT_LOG_DIR", "own"}, {"LOG_DIR", "b"}});
    CHECK(options.text("log_dir") == "own");
  }
  SECTION("a variable's name may be in small letters") {
    CHECK(parse({}, {{"PADDLE_INIT_use_gpu", "True"}}).flag("use_gpu"));
  }
  SECTION("asking for a name or type that is not in the table is a fault of the program") {
    CHECK_THROWS_AS(parse({}).integer("passez"), std::logic_error);
    CHECK_THROWS_AS(parse({}).integer("job"), std::logic_error);
    OptionTable bad = small_table();
    bad[0].default_value = "many";
    CHECK_THROWS_AS(Options::parse({}, {}, bad), std::logic_error);
  }
}

TEST_CASE("option problems", "[options]") {
  SECTION("one is one sentence with its place") {
    CHECK(complaint({"--num_pases=3"}) == "unknown flag --num_pases (did you mean --num_passes?)");
    CHECK(complaint({"--num_passes=x"}) ==
          "num_passes must be a whole number of at most 64 bits, not 'x' (flag --num_passes)");
    CHECK(one_of({"a", "b", ""})("zzzzzz") == "must be a or b");  // "" is the default of some
    CHECK(one_of({"a", "b", ""})("").empty());
    CHECK(complaint({"--job=tran"}) ==
          "job must be train, test or time (did you mean 'train'?), "
          "not 'tran' (flag --job)");
    CHECK(complaint({"--zzzzzzzz"}) == "unknown flag --zzzzzzzz; --help lists those there are");
  }
  SECTION("wrong types and ranges are found in every source") {
    for (const char* bad : {"1.5", "", " 1", "1 ", "0x10", "99999999999999999999", "0", "-1"})
      CHECK_THAT(complaint({std::string("--num_passes=") + bad}), Contains("num_passes must be"));
    for (const char* bad : {"nan", "inf", "1e999", "fast", "0", ""})
      CHECK_THAT(complaint({std::string("--rate=") + bad}), Contains("rate must be"));
    CHECK(complaint({"--use_gpu=maybe"}) ==
          "use_gpu must be true or false, not 'maybe' (flag --use_gpu)");
  }
  SECTION("all are listed at once, also those that another value overrides") {
    const std::string all =
        complaint({"--num_pases=3", "--rate=0", "word", "--num_passes=4"},
                  {{"PADDLE_INIT_NUM_PASSES", "x"}, {"PADDLE_INIT_USE_GUP", "1"}});
    CHECK(all ==
          "5 problems:\n"
          "  unknown flag --num_pases (did you mean --num_passes?)\n"
          "  unknown command line argument 'word': flags start with --, and a flag that is true or "
          "false takes its value after =\n"
          "  rate must be greater than 0, not '0' (flag --rate)\n"
          "  num_passes must be a whole number of at most 64 bits, not 'x' (environment variable "
          "PADDLE_INIT_NUM_PASSES)\n"
          "  unknown environment variable PADDLE_INIT_USE_GUP (did you mean "
          "'PADDLE_INIT_USE_GPU'?); unset it or correct its name");
  }
  SECTION("help is given in spite of them") {
    CHECK(parse({"--num_pases=3", "--help"}).flag("help"));
  }
  SECTION("job file keys are checked alike") {
    Options options = parse({});
    CHECK(options.has("passes"));
    CHECK_FALSE(options.has("pases"));
    CHECK(options.set_from_file("num_pases", "1", "a.json:4") ==
          "unknown option 'num_pases' (did you mean 'num_passes'?)");
    CHECK(options.set_from_file("num_passes", "0", "a.json:5") ==
          "num_passes must be at least 1, not '0'");
    CHECK_THAT(options.set_from_file("help", "1", "a.json:6"),
               Contains("a job file cannot set 'help'"));
    CHECK(options.set_from_file("log_dir", std::string("a\0b", 3), "a.json:7") ==
          "log_dir must not contain a zero byte, not 'a?b'");
    CHECK(options.integer("num_passes") == 100);
  }
}

TEST_CASE("option printing", "[options]") {
  SECTION("help shows groups, defaults, other names and variables") {
    CHECK(parse({}).help("usage: paddle train [flags]") ==
          R"(usage: paddle train [flags]

Training:
  --num_passes=100       Passes over the data. Also --passes.
                         [PADDLE_INIT_NUM_PASSES]
  --rate=0.5             Learning rate. [PADDLE_INIT_RATE]
  --use_gpu=false        Compute on a GPU. [PADDLE_INIT_USE_GPU]
  --job=train            What to do. [PADDLE_INIT_JOB]

Log:
  --log_dir=""           Directory of the log files, which is made where it is
                         not there yet and may be shared by many processes.
                         [PADDLE_INIT_LOG_DIR, GLOG_log_dir, LOG_DIR]
  --help=false           Print this. [PADDLE_INIT_HELP]

Flags win over environment variables [in brackets], those over the job file,
that over the default shown after =. A flag that is true or false is also
written --name or --noname; --flagfile=FILE reads flags from a file, one per
line.
)");
  }
  SECTION("print_config shows values and sources") {
    CHECK(parse({"--job=test"}, {{"LOG_DIR", "x"}}).print() ==
          "num_passes=100                          # default\n"
          "rate=0.5                                # default\n"
          "use_gpu=false                           # default\n"
          "job=test                                # flag --job\n"
          "log_dir=x                               # environment variable LOG_DIR\n"
          "help=false                              # default\n");
  }
}
