#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

ReaderSpec mnist() {
  ReaderSpec spec;
  spec.format = "mnist";
  spec.batch_size = 100;
  return spec;
}

std::string words(std::initializer_list<uint32_t> values) {
  std::string out;
  for (const uint32_t v : values)
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(v >> shift & 0xff);
  return out;
}

std::string bytes(std::initializer_list<int> values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_CASE("mnist: the real files", "[data]") {
  if (!have_real_data()) return;
  ReaderSpec spec = mnist();
  spec.data_dir = real_data();
  const auto reader = open_reader(spec);
  CHECK(reader->records() == 60000);
  CHECK_THAT(reader->source(), Contains("mnist: 60000 records from ") &&
                                   Contains("/mnist/train-images-idx3-ubyte.gz"));
  CHECK(reader->fields()[1].bound == 10);
  Batch batch;
  REQUIRE(reader->next(batch));
  CHECK(batch.fields[0].shape() == Shape{100, 784});
  CHECK(batch.fields[1].shape() == Shape{100, 1});
  const auto labels = batch.fields[1].values<int64_t>();
  CHECK(std::vector<int64_t>(labels.begin(), labels.begin() + 5) ==
        std::vector<int64_t>{5, 0, 4, 1, 9});
  CHECK(batch.fields[0].data<float>()[0] == -1.0f);
  CHECK(batch.fields[0].data<float>()[152] == Approx(3.0 / 255 * 2 - 1));
  double sum = 0, n = 0;
  do {
    for (const float p : batch.fields[0].values<float>()) sum += p;
    n += static_cast<double>(batch.fields[0].numel());
  } while (reader->next(batch));
  CHECK(n == 60000.0 * 784);
  CHECK((sum / n + 1) / 2 == Approx(0.1306605).margin(1e-6));

  spec.test = true;
  set_key(spec, "image_shape", List{1, 28, 28});
  spec.field_names = {"pixel", "digit"};
  const auto test = open_reader(spec);
  CHECK(test->records() == 10000);
  CHECK(test->fields()[1].name == "digit");
  REQUIRE(test->next(batch));
  CHECK(batch.fields[0].shape() == Shape{100, 1, 28, 28});
  CHECK(batch.fields[1].data<int64_t>()[0] == 7);
}

TEST_CASE("mnist: small files", "[data]") {
  const TempDir dir;
  ReaderSpec spec = mnist();
  const std::string images = words({2051, 2, 1, 3}) + bytes({0, 51, 255, 255, 0, 0});
  const std::string labels = words({2049, 2}) + bytes({7, 9});
  const std::vector<std::string> expected{"[-1 -0.6 1] [7]", "[1 -1 -1] [9]"};
  spec.files = {dir.write("i", images), dir.write("l", labels)};
  CHECK(rest_of_pass(*open_reader(spec)) == expected);
  spec.files = {dir.write("i", gzipped(images)), dir.write("l", xzipped(labels))};
  CHECK(rest_of_pass(*open_reader(spec)) == expected);
  set_key(spec, "image_shape", List{28, 28});
  CHECK_THAT(error_of(spec), Contains("image_shape [28, 28] does not hold the 3 pixels"));
  spec.keys = {};
  spec.field_names = {"one"};
  CHECK_THAT(error_of(spec), Contains("mnist gives 2 fields, but 1 names are given"));
}

TEST_CASE("mnist: bad files", "[data]") {
  const TempDir dir;
  const std::string images = words({2051, 2, 1, 3}) + bytes({0, 51, 255, 255, 0, 0});
  const std::string labels = words({2049, 2}) + bytes({7, 9});
  const auto error = [&](const std::string& i, const std::string& l) {
    ReaderSpec spec = mnist();
    spec.files = {dir.write("i", i), dir.write("l", l)};
    return error_of(spec);
  };
  CHECK_THAT(error("", labels),
             Contains("/i: expected the magic number, found the end of the file"));
  CHECK_THAT(error(words({2051, 2}), labels),
             Contains("/i: expected the number of rows, found the end"));
  CHECK_THAT(error(labels, images),
             Contains("/i: expected the magic number 2051 of images, found 2049") &&
                 Contains("name the image file first"));
  CHECK_THAT(error(words({77, 2, 1, 3}), labels), Contains("found 77; this is no idx file"));
  CHECK_THAT(error(images.substr(0, images.size() - 1), labels),
             Contains("/i: expected 6 bytes after the header, found only 5"));
  CHECK_THAT(error(images + "x", labels),
             Contains("expected 6 bytes after the header, found more"));
  CHECK_THAT(error(gzipped(images).substr(0, 25), labels),
             Contains("/i: the gzip data ends early"));
  CHECK_THAT(error(images, words({2049, 2}) + bytes({7, 10})),
             Contains("/l: expected labels 0 to 9, found 10 at record 1"));
  CHECK_THAT(error(images, words({2049, 3}) + bytes({7, 9, 1})),
             Contains("/l: expected 2 labels, one for each image of ") && Contains("found 3"));
  CHECK_THAT(error(words({2051, 0, 28, 28}), words({2049, 0})),
             Contains("/i: expected at least one record"));
  SECTION("absurd counts are refused before memory is taken") {
    CHECK_THAT(error(words({2051, 0xffffffff, 1024, 1024}), labels),
               Contains("/i: the records need more than the 4294967296 bytes allowed"));
    CHECK_THAT(error(words({2051, 2, 0xffffffff, 0xffffffff}), labels),
               Contains("expected images of 1 to 2^20 pixels, found 4294967295 x 4294967295"));
    CHECK_THAT(error(words({2051, 4000000, 28, 28}), words({2049, 4000000})),
               Contains("found only 0"));
  }
  SECTION("both files are needed") {
    ReaderSpec spec = mnist();
    spec.files = {dir.write("i", images)};
    CHECK_THAT(error_of(spec), Contains("mnist reads two files, images and labels, found 1"));
  }
}
