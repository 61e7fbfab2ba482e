#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

ReaderSpec libsvm() {
  ReaderSpec spec;
  spec.format = "libsvm";
  spec.batch_size = 64;
  return spec;
}

int64_t positives(Reader& reader) {
  int64_t n = 0;
  for (Batch batch; reader.next(batch);)
    for (const int64_t label : batch.fields[2].values<int64_t>()) n += label;
  return n;
}

}  // namespace

TEST_CASE("libsvm: a9a", "[data]") {
  if (!have_real_data()) return;
  ReaderSpec spec = libsvm();
  spec.data_dir = real_data();
  const auto train = open_reader(spec);
  CHECK(train->records() == 32561);
  CHECK_THAT(train->source(), Contains("libsvm: 32561 records from ") && Contains("/a9a/a9a.xz"));
  CHECK(train->fields()[0].bound == 123);
  Batch batch;
  REQUIRE(train->next(batch));
  CHECK(record_text(batch, 0) ==
        "[2 10 13 18 38 41 54 63 66 72 74 75 79 82] [1 1 1 1 1 1 1 1 1 1 1 1 1 1] [0]");
  CHECK(batch.fields[0].lod() == batch.fields[1].lod());
  CHECK(batch.fields[0].shape()[0] == static_cast<int64_t>(batch.fields[0].lod()[0].back()));
  train->start_pass(0);
  CHECK(positives(*train) == 7841);
  spec.test = true;
  const auto test = open_reader(spec);
  CHECK(test->records() == 16281);
  CHECK(positives(*test) == 3846);
}

TEST_CASE("libsvm: generated rows look like a9a", "[data]") {
  ReaderSpec spec = libsvm();
  const auto reader = open_reader(spec);
  CHECK(reader->records() == 32561);
  CHECK_THAT(reader->source(), Contains("a9a: no file a9a") && Contains("generated from seed 1"));
  Batch batch;
  REQUIRE(reader->next(batch));
  CHECK(batch.fields[0].shape() == Shape{64 * 14, 1});
  for (const int64_t id : batch.fields[0].values<int64_t>()) CHECK((id >= 0 && id < 123));
  reader->start_pass(0);
  const int64_t positive = positives(*reader);
  CHECK(positive > 32561 / 8);
  CHECK(positive < 32561 / 2);
}

TEST_CASE("libsvm: a small file", "[data]") {
  const TempDir dir;
  ReaderSpec spec = libsvm();
  const std::string content = "+1 1:0.5 7:-2 # why\n\n-1\n0 3:1e2\n";
  const std::vector<std::string> expected{"[0 6] [0.5 -2] [1]", "[] [] [0]", "[2] [100] [0]"};
  for (const std::string& form : {content, gzipped(content), xzipped(content)}) {
    spec.files = {dir.write("f", form)};
    CHECK(rest_of_pass(*open_reader(spec)) == expected);
  }
  SECTION("labels as numbers and as classes, ids from 0") {
    spec.files = {dir.write("f", "2 0:1\n0 4:1\n")};
    set_key(spec, "index_base", 0);
    set_key(spec, "labels", "numbers");
    CHECK(rest_of_pass(*open_reader(spec)) ==
          std::vector<std::string>{"[0] [1] [2]", "[4] [1] [0]"});
    set_key(spec, "labels", "classes");
    set_key(spec, "classes", 3);
    CHECK(open_reader(spec)->fields()[2].dtype == DType::i64);
    CHECK(open_reader(spec)->fields()[2].bound == 3);
  }
}

TEST_CASE("libsvm: bad rows", "[data]") {
  const TempDir dir;
  ReaderSpec spec = libsvm();
  set_key(spec, "dimension", 10);
  const auto error = [&](const std::string& content) {
    spec.files = {dir.write("f", content)};
    return error_of(spec);
  };
  CHECK_THAT(error(""), Contains("/f: expected at least one record"));
  CHECK_THAT(error("1 1:1\nx 1:1\n"),
             Contains("/f:2: expected a label that is a number, found 'x'"));
  CHECK_THAT(error("3 1:1\n"), Contains("/f:1: expected a label of -1, 0 or +1, found '3'"));
  CHECK_THAT(error("1 11:1\n"),
             Contains("/f:1: expected an index from 1 to 10, found '11:1'; set dimension"));
  CHECK_THAT(error("1 0:1\n"), Contains("expected an index from 1 to 10, found '0:1'"));
  CHECK_THAT(error("1 1099511627776:1\n"), Contains("found '1099511627776:1'"));
  CHECK_THAT(error("1 3:1 3:2\n"), Contains("expected an index above 3, found '3:2'"));
  for (const char* pair : {"3", "3:", ":1", "a:1", "3:nan", "3:1:1", "99999999999999999999:1"})
    CHECK_THAT(error("1 1:1 " + std::string(pair) + "\n"),
               Contains("expected index:value with a finite number, found '" + std::string(pair)));
  set_key(spec, "labels", "classes");
  CHECK_THAT(error("1 1:1\n"), Contains("classes must say how many"));
  set_key(spec, "classes", 2);
  CHECK_THAT(error("2 1:1\n"), Contains("expected a class from 0 to 1, found '2'; correct"));
  CHECK_THAT(error("0.5 1:1\n"), Contains("expected a class from 0 to 1, found '0.5'"));
}

TEST_CASE("libsvm: the memory limit holds", "[data]") {
  const TempDir dir;
  ReaderSpec spec = libsvm();
  std::string content;
  for (int i = 0; i < 1000; ++i) content += "1 1:1 2:1 3:1\n";
  spec.files = {dir.write("f", content)};
  spec.memory_limit = 10000;
  CHECK_THAT(error_of(spec), Contains("/f: the records need more than the 10000 bytes") &&
                                 Contains("raise memory_limit"));
}
