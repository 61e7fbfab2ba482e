#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

ReaderSpec multislot(const std::string& path) {
  ReaderSpec spec;
  spec.format = "multislot";
  spec.files = {path};
  spec.batch_size = 2;
  set_key(spec, "slots",
          List{Dict{{"name", "dense"}, {"shape", 3}}, Dict{{"name", "ids"}, {"lod_level", 1}},
               Dict{{"name", "label"}, {"dtype", "int64"}, {"bound", 2}}});
  return spec;
}

}  // namespace

TEST_CASE("multislot: slots in order", "[data]") {
  const TempDir dir;
  const std::string content =
      "3 0.5 1 -2e1 2 42 7 1 0\n"
      "3 1 2 3 1 18446744073709551615 1 1 \t\n"
      "3 4 5 6 3 1 2 3 1 1\r\n";
  for (const std::string& form : {content, gzipped(content), xzipped(content)}) {
    const auto reader = open_reader(multislot(dir.write("part-0", form)));
    CHECK(reader->records() == 3);
    Batch batch;
    REQUIRE(reader->next(batch));
    CHECK(batch.fields[0].shape() == Shape{2, 3});
    CHECK(batch.fields[1].shape() == Shape{3, 1});
    CHECK(batch.fields[1].lod() == Lod{{0, 2, 3}});
    CHECK(batch.fields[2].shape() == Shape{2, 1});
    CHECK(batch.fields[2].lod().empty());
    CHECK(record_text(batch, 0) == "[0.5 1 -20] [42 7] [0]");
    CHECK(record_text(batch, 1) == "[1 2 3] [-1] [1]");
    REQUIRE(reader->next(batch));
    CHECK(record_text(batch, 0) == "[4 5 6] [1 2 3] [1]");
    CHECK(batch.fields[1].lod() == Lod{{0, 3}});
    CHECK_FALSE(reader->next(batch));
  }
  SECTION("several files follow each other") {
    ReaderSpec spec = multislot(dir.write("part-0", content));
    spec.files.push_back(dir.write("part-1", content));
    const auto reader = open_reader(spec);
    CHECK(reader->records() == 6);
    CHECK_THAT(reader->source(), Contains("6 records from ") && Contains("/part-0 and 1 more"));
  }
}

TEST_CASE("multislot: bad rows", "[data]") {
  const TempDir dir;
  const auto error = [&](const std::string& line) {
    return error_of(multislot(dir.write("f", "3 1 2 3 1 5 1 0\n" + line)));
  };
  CHECK_THAT(error_of(multislot(dir.write("f", "\n \n"))),
             Contains("expected at least one record"));
  CHECK_THAT(error("3 1 2 3 1 5\n"),
             Contains("/f:2: expected a count for slot label, found the end of the line"));
  CHECK_THAT(error("3 1 2 3 1 5 1 0 1 0\n"),
             Contains("expected the end of the line after 3 slots, found '1'"));
  CHECK_THAT(error("2 1 2 1 5 1 0\n"),
             Contains("expected 3 values for the dense slot dense, found the count 2"));
  CHECK_THAT(error("3 1 2 3 0 1 0\n"),
             Contains("expected at least one value for slot ids, found the count 0; pad"));
  CHECK_THAT(error("3 1 2 3 -4 1 0\n"), Contains("found the count -4"));
  CHECK_THAT(error("3 1 2 3 1099511627776 1 2\n"),
             Contains("found the count 1099511627776; check the count"));
  CHECK_THAT(error("3 1 2 3 2 111\n"),
             Contains("expected 2 values for slot ids, found the end of the line after 1"));
  CHECK_THAT(error("x 1 2 3\n"), Contains("expected a count for slot dense, found 'x'"));
  CHECK_THAT(error("3 1 y 3 1 5 1 0\n"), Contains("finite number in slot dense, found 'y'"));
  CHECK_THAT(error("3 1 2 3 1 5.5 1 0\n"), Contains("a whole number in slot ids, found '5.5'"));
  CHECK_THAT(error("3 1 2 3 1 5 1 2\n"),
             Contains("expected an id from 0 to 1 in slot label, found '2'"));
}

TEST_CASE("multislot: bad declarations", "[data]") {
  const TempDir dir;
  ReaderSpec spec = multislot(dir.write("f", "3 1 2 3 1 5 1 0\n"));
  SECTION("none") {
    spec.keys.clear();
    CHECK_THAT(error_of(spec), Contains("no slots are declared"));
  }
  SECTION("type") {
    set_key(spec, "slots", Dict{{"name", "dense"}, {"dtype", "float64"}});
    CHECK_THAT(error_of(spec), Contains("slot dense is float64, expected float32 or int64"));
  }
  SECTION("shape") {
    set_key(spec, "slots", Dict{{"name", "dense"}, {"shape", List{-1, 3}}});
    CHECK_THAT(error_of(spec), Contains("needs a known shape"));
  }
  SECTION("no files") {
    spec.files.clear();
    CHECK_THAT(error_of(spec), Contains("no files are named"));
  }
}
