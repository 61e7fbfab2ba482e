#include "data/datasets.h"

#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

TEST_CASE("datasets: the first place that has the file wins", "[data]") {
  const TempDir dir;
  ReaderSpec spec;
  spec.data_dir = dir.path() + "/option";
  spec.data_home = dir.path() + "/variable";
  spec.home = dir.path() + "/user";
  CHECK_FALSE(find_dataset("set", "f", spec));
  const std::string cached = dir.write("user/.cache/paddle/dataset/set/f.xz", "");
  CHECK(find_dataset("set", "f", spec) == cached);
  const std::string variable = dir.write("variable/set/f", "");
  CHECK(find_dataset("set", "f", spec) == variable);
  const std::string inner = dir.write("option/set/f.gz", "");
  CHECK(find_dataset("set", "f", spec) == inner);
  const std::string outer = dir.write("option/f", "");
  CHECK(find_dataset("set", "f", spec) == outer);
  CHECK_FALSE(find_dataset("other", "g", spec));
  SECTION("a directory of that name is no file") {
    std::filesystem::create_directories(dir.path() + "/option/a9a");
    const std::string file = dir.write("option/a9a/a9a", "");
    CHECK(find_dataset("a9a", "a9a", spec) == file);
  }
  SECTION("files named by the user are searched for too") {
    CHECK(resolve_files({"f", cached}, "set", spec) == std::vector<std::string>{outer, cached});
    CHECK_THROWS_WITH(resolve_files({"g"}, "set", spec),
                      Contains("there is no data file g, nor is it in " + spec.data_dir) &&
                          Contains("--data_dir"));
  }
  SECTION("patterns stand for files, by name") {
    using Texts = std::vector<std::string>;
    const std::string b = dir.write("option/day_b", ""), a = dir.write("option/day_a.gz", "");
    const std::string odd = dir.write("elsewhere/day_[1]", "");
    std::filesystem::create_directories(dir.path() + "/option/day_c");
    CHECK(resolve_files({"day_*"}, "set", spec) == Texts{a, b});
    CHECK(resolve_files({dir.path() + "/option/day_[ab]*", outer}, "set", spec) ==
          Texts{a, b, outer});
    CHECK(resolve_files({odd}, "set", spec) == Texts{odd});  // a file of that very name
    CHECK_THROWS_WITH(resolve_files({"night_*"}, "set", spec),
                      Contains("there is no data file like night_*, nor is it in "));
  }
}

TEST_CASE("open_reader: specs that make no sense", "[data]") {
  ReaderSpec spec;
  spec.format = "minst";
  CHECK_THAT(error_of(spec), Contains("there is no data format 'minst' (did you mean 'mnist'?)"));
  spec.format = "mnist";
  spec.batch_size = 0;
  CHECK_THAT(error_of(spec), Contains("batch_size must be at least 1, found 0"));
  spec.batch_size = 1;
  spec.trainer_id = spec.trainer_count = 2;
  CHECK_THAT(error_of(spec), Contains("trainer_id 2 is not below trainer_count 2"));
}
