// Files read through a window of records.
#include <algorithm>

#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace stream_test {

using Texts = std::vector<std::string>;

std::string numbers(int begin, int end) {
  std::string out;
  for (int i = begin; i < end; ++i) out += std::to_string(i) + ",0\n";
  return out;
}

// 101 records in two files.
ReaderSpec numbered(const TempDir& dir) {
  ReaderSpec spec;
  spec.format = "csv";
  spec.files = {dir.write("part-0", numbers(0, 60)),
                dir.write("part-1", gzipped(numbers(60, 101)))};
  spec.batch_size = 4;
  spec.window = 20;
  return spec;
}

Texts sorted(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST_CASE("stream: unshuffled it gives what memory gives", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir);
  const auto stream = open_reader(spec);
  CHECK_THAT(stream->source(), Contains("csv: records streamed from ") &&
                                   Contains("/part-0 and 1 more, 20 at a time"));
  spec.window = 0;
  const auto memory = open_reader(spec);
  CHECK(stream->records() == -1);
  const Texts all = rest_of_pass(*memory);
  CHECK(all.size() == 101);
  CHECK(rest_of_pass(*stream) == all);
  CHECK(stream->records() == 101);
  CHECK(stream->position() == Position{0, 101});
  stream->start_pass(1);
  CHECK(rest_of_pass(*stream) == all);
}

TEST_CASE("stream: shuffled within the window, by seed and pass", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir);
  spec.shuffle = true;
  const auto a = open_reader(spec), b = open_reader(spec);
  const Texts pass0 = rest_of_pass(*a);
  a->start_pass(1);
  const Texts pass1 = rest_of_pass(*a);
  CHECK(pass0 != pass1);
  CHECK(sorted(pass0) == sorted(pass1));
  CHECK(std::adjacent_find(pass0.begin(), pass0.end()) == pass0.end());
  b->start_pass(9);
  b->start_pass(1);
  CHECK(rest_of_pass(*b) == pass1);
  b->start_pass(0);
  CHECK(rest_of_pass(*b) == pass0);
}

TEST_CASE("stream: going to a saved position equals never having stopped", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir);
  spec.shuffle = true;
  const bool ahead = GENERATE(false, true);
  const int taken = GENERATE(0, 1, 5, 7, 25, 26);
  const auto open = [&] { return ahead ? prefetch(open_reader(spec), 3) : open_reader(spec); };
  const auto a = open();
  a->start_pass(3);
  Batch batch;
  for (int i = 0; i < taken; ++i) REQUIRE(a->next(batch));
  const Position saved = a->position();
  const Texts rest = rest_of_pass(*a);
  CHECK(rest.size() == 101 - saved.record);
  const auto b = open();
  b->seek(saved);
  CHECK(b->position() == saved);
  CHECK(rest_of_pass(*b) == rest);
  b->seek({0, 40});
  CHECK_THROWS_WITH(b->seek({0, 102}), Contains("cannot go to record 102 of pass 0"));
  CHECK_THROWS_WITH(b->seek({0, 5000}), Contains("the files end before it"));
  CHECK(b->position() == Position{0, 40});
  CHECK(rest_of_pass(*b).size() == 61);
}

TEST_CASE("stream: every record belongs to exactly one shard", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir);
  spec.shuffle = true;
  const Texts all = sorted(rest_of_pass(*open_reader(spec)));
  spec.trainer_count = GENERATE(2, 3, 150);
  Texts together;
  for (spec.trainer_id = 0; spec.trainer_id < spec.trainer_count; ++spec.trainer_id)
    for (const std::string& r : rest_of_pass(*open_reader(spec))) together.push_back(r);
  CHECK(sorted(together) == all);
}

TEST_CASE("stream: a bad line is met where it stands, and until a seek", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir);
  spec.files[1] = dir.write("part-1", numbers(60, 90) + "x,0\n" + numbers(91, 101));
  const auto reader = open_reader(spec);
  Batch batch;
  for (int i = 0; i < 20; ++i) REQUIRE(reader->next(batch));
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_WITH(reader->next(batch), Contains("/part-1:31: expected a finite number"));
  CHECK(reader->position() == Position{0, 80});
  reader->seek({0, 96});
  CHECK(reader->position() == Position{0, 96});
  CHECK_THROWS_WITH(reader->next(batch), Contains("/part-1:31:"));
  reader->seek({0, 76});
  REQUIRE(reader->next(batch));
  CHECK(record_text(batch, 0) == "[76] [0]");
}

TEST_CASE("stream: limits", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir);
  spec.window = 21;
  CHECK_THAT(error_of(spec), Contains("window must be 0 or a multiple of batch_size 4, found 21"));
  spec.window = 20;
  spec.memory_limit = 20 * 8;  // 20 records of two floats; all 101 would not fit
  CHECK(rest_of_pass(*open_reader(spec)).size() == 101);
  spec.memory_limit -= 1;
  Batch batch;
  CHECK_THROWS_WITH(open_reader(spec)->next(batch), Contains("need more than the 159 bytes"));
  spec.drop_last = true;
  spec.memory_limit = 1000;
  CHECK(rest_of_pass(*open_reader(spec)).size() == 100);
}

TEST_CASE("stream: the other line formats", "[data]") {
  const TempDir dir;
  ReaderSpec spec;
  spec.window = 2;
  spec.batch_size = 2;
  spec.format = "libsvm";
  spec.files = {dir.write("s", "# head\n1 1:1\n\n-1 2:1 3:1\n1 4:2\n")};
  CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[0] [1] [1]", "[1 2] [1 1] [0]", "[3] [2] [1]"});
  spec.format = "multislot";
  set_key(spec, "slots", Dict{{"name", "ids"}, {"lod_level", 1}});
  spec.files = {dir.write("m", xzipped("1 5\n2 6 7\n1 8\n"))};
  CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[5]", "[6 7]", "[8]"});
  spec.format = "csv";
  spec.keys = {{"header", true}};
  spec.files = {dir.write("a", "u,v\n1,2\n"), dir.write("b", "\nu,v\n3,4\n5,6\n")};
  CHECK(rest_of_pass(*open_reader(spec)) == Texts{"[1] [2]", "[3] [4]", "[5] [6]"});
}

}  // namespace stream_test
