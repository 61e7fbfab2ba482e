#include <filesystem>

#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

ReaderSpec housing(const std::string& data_dir) {
  ReaderSpec spec;
  spec.format = "uci_housing";
  spec.data_dir = data_dir;
  spec.batch_size = 20;
  return spec;
}

}  // namespace

TEST_CASE("uci_housing: the real file", "[data]") {
  if (!have_real_data()) return;
  ReaderSpec spec = housing(real_data());
  const auto reader = open_reader(spec);
  CHECK(reader->records() == 404);
  CHECK_THAT(reader->source(),
             Contains("uci_housing: 404 records from ") && Contains("/uci_housing/housing.data"));
  REQUIRE(reader->fields().size() == 2);
  CHECK(reader->fields()[0].name == "x");
  CHECK(reader->fields()[0].shape == Shape{13});
  Batch batch;
  REQUIRE(reader->next(batch));
  CHECK(batch.fields[0].shape() == Shape{20, 13});
  CHECK(batch.fields[1].shape() == Shape{20, 1});
  CHECK(batch.fields[1].data<float>()[0] == 24.0f);
  // (0.00632 - 3.613523557) / (88.9762 - 0.00632) and so on, worked out in double.
  CHECK(batch.fields[0].data<float>()[0] == Approx(-0.0405441).margin(1e-6));
  CHECK(batch.fields[0].data<float>()[1] == Approx(0.0663636).margin(1e-6));
  CHECK(batch.fields[0].data<float>()[12] == Approx(-0.2117291).margin(1e-6));
  int batches = 1;
  int64_t last = 0;
  while (reader->next(batch)) {
    ++batches;
    last = batch.samples;
  }
  CHECK(batches == 21);
  CHECK(last == 4);
  spec.test = true;
  CHECK(open_reader(spec)->records() == 102);
}

TEST_CASE("uci_housing: nowhere to be found", "[data]") {
  const TempDir dir;
  ReaderSpec spec = housing(dir.path() + "/a");
  spec.home = dir.path();
  CHECK_THAT(error_of(spec), Contains("there is no directory " + spec.data_dir));
  std::filesystem::create_directory(spec.data_dir);
  const auto reader = open_reader(spec);
  CHECK(reader->records() == 404);
  CHECK(reader->source() == "uci_housing: no file housing.data in " + dir.path() + "/a, " +
                                dir.path() +
                                "/.cache/paddle/dataset: 404 records generated from seed 1");
  CHECK(rest_of_pass(*reader) == rest_of_pass(*open_reader(spec)));
  spec.seed = 2;
  const auto other = rest_of_pass(*open_reader(spec));
  reader->start_pass(0);
  CHECK(rest_of_pass(*reader) != other);
}

TEST_CASE("uci_housing: bad files", "[data]") {
  const TempDir dir;
  ReaderSpec spec = housing("");
  const std::string good = "1 2 3 4 5 6 7 8 9 10 11 12 13 14\n";
  const auto error = [&](const std::string& content) {
    spec.files = {dir.write("h", content)};
    return error_of(spec);
  };
  CHECK_THAT(error(""), Contains("/h: expected at least one record, found none"));
  CHECK_THAT(error(good + "1 2 3\n"), Contains("/h:2: expected 14 numbers, found only 3"));
  CHECK_THAT(error(good + good + "0 " + good), Contains("/h:3: expected 14 numbers, found more"));
  CHECK_THAT(error("1 2 x" + good),
             Contains("/h:1: expected a finite number in column 3, found 'x1'"));
  CHECK_THAT(error("1 nan " + good), Contains("column 2, found 'nan'"));
  spec.files = {dir.path() + "/nothing"};
  CHECK_THAT(error_of(spec), Contains("there is no data file " + dir.path() + "/nothing"));
}
