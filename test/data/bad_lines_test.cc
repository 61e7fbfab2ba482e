// Lines that cannot be read: stop, or leave them out, count them and keep them.
#include <fstream>

#include "base/log.h"
#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace bad_lines_test {

using Texts = std::vector<std::string>;

// 60 records in two files; lines 5, 6 and 31 of the first and line 2 of the second are bad.
ReaderSpec spoilt(const TempDir& dir) {
  std::string a, b;
  for (int i = 1; i <= 40; ++i)
    a += i == 5 || i == 6 || i == 31 ? "x" + std::to_string(i) + ",\t0\n"
                                     : std::to_string(i) + ",0\n";
  for (int i = 1; i <= 20; ++i) b += i == 2 ? "1,2,3\n" : std::to_string(100 + i) + ",0\n";
  ReaderSpec spec;
  spec.format = "csv";
  spec.files = {dir.write("a", a), dir.write("b", b)};
  spec.batch_size = 4;
  spec.skip_bad_lines = -1;
  return spec;
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Warnings {
  Warnings() {
    set_log_observer([this](LogLevel, const std::string& message) { all += message + "\n"; });
  }
  ~Warnings() { set_log_observer(nullptr); }
  std::string all;
};

TEST_CASE("bad lines: by default the first one ends the reading", "[data]") {
  const TempDir dir;
  ReaderSpec spec = spoilt(dir);
  spec.skip_bad_lines = 0;
  CHECK_THAT(error_of(spec), Contains("/a:5: expected"));
}

TEST_CASE("bad lines: they are left out, counted and kept", "[data]") {
  const TempDir dir;
  ReaderSpec spec = spoilt(dir);
  spec.reject_file = dir.path() + "/rejects";
  spec.window = GENERATE(0, 8);
  Warnings warnings;
  const auto reader = open_reader(spec);
  const Texts all = rest_of_pass(*reader);
  CHECK(all.size() == 56);
  for (const std::string& record : all) CHECK_THAT(record, !Contains("x"));
  CHECK(reader->records() == 56);
  CHECK_THAT(warnings.all,
             Contains("left out a bad line: " + spec.files[0] + ":5: expected") &&
                 Contains(":31: ") && Contains("further ones are counted") && !Contains("b:2:") &&
                 Contains("left out 4 bad lines beside 56 records; see " + spec.reject_file));
  const std::string rejects = content(spec.reject_file);
  CHECK(std::count(rejects.begin(), rejects.end(), '\n') == 4);
  CHECK_THAT(rejects, Contains(spec.files[0] + ":5\texpected") && Contains("\tx5,\t0\n") &&
                          Contains(spec.files[1] + ":2\t") && Contains("\t1,2,3\n"));
  SECTION("once, however often they are met") {
    warnings.all.clear();
    reader->start_pass(1);
    CHECK(rest_of_pass(*reader) == all);
    CHECK(content(spec.reject_file) == rejects);
    CHECK(warnings.all.empty());
  }
  SECTION("and positions stay exact") {
    for (const uint64_t record : {0, 3, 8, 27, 28, 44, 56}) {
      reader->seek({1, record});
      CHECK(rest_of_pass(*reader) == Texts(all.begin() + static_cast<long>(record), all.end()));
    }
    CHECK(content(spec.reject_file) == rejects);
  }
  SECTION("each by the trainer that it belongs to") {
    spec.trainer_count = 2;
    size_t records = 0;
    std::string both;
    for (const uint32_t id : {0u, 1u}) {
      spec.trainer_id = id;
      records += rest_of_pass(*open_reader(spec)).size();
      both += content(spec.reject_file + "." + std::to_string(id));
    }
    CHECK(records == 56);
    CHECK(std::count(both.begin(), both.end(), '\n') == 4);
  }
}

TEST_CASE("bad lines: no more than allowed", "[data]") {
  const TempDir dir;
  ReaderSpec spec = spoilt(dir);
  spec.skip_bad_lines = 4;
  CHECK(error_of(spec) == "no error");
  spec.skip_bad_lines = 3;
  CHECK_THAT(error_of(spec),
             Contains("/b:2: ") && Contains("this is bad line 4, and skip_bad_lines allows 3"));
  spec.skip_bad_lines = -1;
  spec.files = {dir.write("c", "a,b\nc,d\n")};
  CHECK_THAT(error_of(spec), Contains("all lines are bad (2); the first: ") && Contains("/c:1:"));
}

TEST_CASE("bad lines: a reject file that cannot be written is an error", "[data]") {
  const TempDir dir;
  ReaderSpec spec = spoilt(dir);
  spec.reject_file = dir.path() + "/none/rejects";
  CHECK_THAT(error_of(spec), Contains("cannot write the reject file " + spec.reject_file));
}

TEST_CASE("bad lines: a damaged file is no bad line", "[data]") {
  const TempDir dir;
  ReaderSpec spec = spoilt(dir);
  const std::string whole = gzipped(std::string(100000, 'a') + "1,2\n");
  spec.files = {dir.write("gz", whole.substr(0, whole.size() - 4))};
  CHECK_THAT(error_of(spec), Contains("ends early"));
}

}  // namespace bad_lines_test
