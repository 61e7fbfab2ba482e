#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

using Texts = std::vector<std::string>;

ReaderSpec ngram() {
  ReaderSpec spec;
  spec.format = "ngram";
  spec.batch_size = 100;
  return spec;
}

int64_t sum_of_ids(Reader& reader) {
  int64_t sum = 0;
  for (Batch batch; reader.next(batch);)
    for (const Tensor& field : batch.fields)
      for (const int64_t id : field.values<int64_t>()) sum += id;
  return sum;
}

}  // namespace

TEST_CASE("ngram: Shakespeare", "[data]") {
  if (!have_real_data()) return;
  ReaderSpec spec = ngram();
  spec.data_dir = real_data();
  const auto train = open_reader(spec);
  CHECK(train->records() == 130132);
  CHECK_THAT(train->source(), Contains("ngram: 130132 records from ") &&
                                  Contains("/text/tinyshakespeare.txt.xz (all but the last tenth"));
  REQUIRE(train->fields().size() == 5);
  CHECK(train->fields()[4].bound == 479);
  Batch batch;
  REQUIRE(train->next(batch));
  CHECK(batch.fields[0].shape() == Shape{100, 1});
  CHECK(record_text(batch, 0) == "[1] [478] [39] [478] [143]");
  CHECK(record_text(batch, 1) == "[478] [39] [478] [143] [478]");
  train->start_pass(0);
  CHECK(sum_of_ids(*train) == 138645549);
  spec.test = true;
  const auto test = open_reader(spec);
  CHECK(test->records() == 12435);
  CHECK(test->fields()[0].bound == 479);
  CHECK(rest_of_pass(*test).back() == "[478] [25] [149] [478] [0]");
}

TEST_CASE("ngram: War and Peace, with a dictionary of 1000", "[data]") {
  if (!have_real_data()) return;
  ReaderSpec spec = ngram();
  spec.data_dir = real_data();
  spec.files = {"warandpeace.txt"};
  set_key(spec, "dict_size", 1000);
  const auto reader = open_reader(spec);
  CHECK(reader->records() == 463246);
  CHECK(reader->fields()[0].bound == 1000);
  Batch batch;
  REQUIRE(reader->next(batch));
  CHECK(record_text(batch, 0) == "[1] [25] [722] [999] [999]");
}

TEST_CASE("ngram: generated text", "[data]") {
  ReaderSpec spec = ngram();
  const auto train = open_reader(spec);
  spec.test = true;
  const auto test = open_reader(spec);
  CHECK_THAT(train->source(), Contains("generated from seed 1 (all but the last tenth of it)"));
  CHECK(train->records() > 50000);
  CHECK(test->records() > 5000);
  CHECK(train->fields()[0].bound == test->fields()[0].bound);
  CHECK(train->fields()[0].bound > 200);
}

TEST_CASE("ngram: the rules", "[data]") {
  const TempDir dir;
  ReaderSpec spec = ngram();
  // counts: <s> 4, <e> 4, b 3, a 2, c 2, d 1; so <e> 0, <s> 1, b 2, a 3, c 4, <unk> 5
  spec.files = {dir.write("t", "b a b\n\nc <unk> a c d\n  b\t\n")};
  set_key(spec, "ngram", 3);
  set_key(spec, "min_word_freq", 1);
  spec.field_names = {"first", "second", "next"};
  const Texts expected{"[1] [2] [3]", "[2] [3] [2]", "[3] [2] [0]", "[1] [4] [5]", "[4] [5] [3]",
                       "[5] [3] [4]", "[3] [4] [5]", "[4] [5] [0]", "[1] [2] [0]"};
  const auto reader = open_reader(spec);
  CHECK(rest_of_pass(*reader) == expected);
  CHECK(reader->fields()[2].name == "next");
  CHECK(reader->fields()[2].bound == 6);
  SECTION("the cut-off is strict") {
    set_key(spec, "min_word_freq", 3);  // leaves <e> 0, <s> 1, <unk> 2
    CHECK(open_reader(spec)->fields()[0].bound == 3);
  }
  SECTION("the dictionary's size counts <unk>") {
    set_key(spec, "min_word_freq", -1);
    set_key(spec, "dict_size", 4);
    const auto small = open_reader(spec);
    CHECK(small->fields()[0].bound == 4);
    CHECK(rest_of_pass(*small)[0] == "[1] [2] [3]");
    CHECK(rest_of_pass(*open_reader(spec))[3] == "[1] [3] [3]");
  }
  SECTION("a test file is read with the dictionary of the training file") {
    spec.test = true;
    CHECK_THAT(error_of(spec), Contains("test_files names no file"));
    spec.test_files = {dir.write("v", gzipped("c d e\n"))};
    CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[1] [4] [5]", "[4] [5] [5]", "[5] [5] [0]"});
  }
  SECTION("the files of the Penn treebank are known") {
    dir.write("imikolov/ptb.train.txt", "a a b\n");
    dir.write("imikolov/ptb.valid.txt", "b b\n");
    spec.files.clear();
    spec.data_home = dir.path();
    set_key(spec, "min_word_freq", 0);  // b 0 (3), <e> 1, <s> 2, a 3 (2 each), <unk> 4
    CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[2] [3] [3]", "[3] [3] [0]", "[3] [0] [1]"});
    spec.test = true;
    CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[2] [0] [0]", "[0] [0] [1]"});
  }
}

TEST_CASE("ngram: bad input", "[data]") {
  const TempDir dir;
  ReaderSpec spec = ngram();
  spec.files = {dir.write("t", "")};
  CHECK_THAT(error_of(spec), Contains("/t: expected at least one record, found none"));
  spec.files = {dir.write("t", "a b\nc\n")};
  CHECK_THAT(error_of(spec), Contains("/t: expected at least one line of 3 words, found none"));
  set_key(spec, "ngram", 0);
  CHECK_THAT(error_of(spec), Contains("the number of words must be 1 to 64, found 0"));
  set_key(spec, "ngram", 3);
  spec.field_names = {"a"};
  CHECK_THAT(error_of(spec), Contains("ngram gives 3 fields, but 1 names are given: a"));
  spec.field_names = {};
  spec.memory_limit = 100;
  CHECK_THAT(error_of(spec), Contains("need more than the 100 bytes allowed"));
}
