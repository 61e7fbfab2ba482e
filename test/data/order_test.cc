// Shuffling, seeking, sharding and batching, on a file of numbered records.
#include <algorithm>
#include <map>

#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace order_test {

using Texts = std::vector<std::string>;

ReaderSpec numbered(const TempDir& dir, int records) {
  std::string content;
  for (int i = 0; i < records; ++i) content += std::to_string(i) + ",0\n";
  ReaderSpec spec;
  spec.format = "csv";
  spec.files = {dir.write("numbers", content)};
  spec.batch_size = 8;
  spec.shuffle = true;
  return spec;
}

Texts sorted(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST_CASE("order: depends on the seed and the pass only", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir, 101);
  const auto a = open_reader(spec), b = open_reader(spec);
  const Texts pass0 = rest_of_pass(*a);
  a->start_pass(1);
  const Texts pass1 = rest_of_pass(*a);
  CHECK(pass0 != pass1);
  CHECK(sorted(pass0) == sorted(pass1));
  CHECK(pass0.size() == 101);

  b->start_pass(7);
  Batch batch;
  b->next(batch);
  b->start_pass(1);
  CHECK(rest_of_pass(*b) == pass1);
  b->start_pass(0);
  CHECK(rest_of_pass(*b) == pass0);

  spec.seed = 2;
  CHECK(rest_of_pass(*open_reader(spec)) != pass0);
  spec.shuffle = false;
  CHECK(rest_of_pass(*open_reader(spec)).front() == "[0] [0]");
}

TEST_CASE("order: every record comes first about equally often", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir, 10);
  spec.batch_size = 1;
  const auto reader = open_reader(spec);
  std::map<float, int> first;
  Batch batch;
  for (uint64_t pass = 0; pass < 2000; ++pass) {
    reader->start_pass(pass);
    REQUIRE(reader->next(batch));
    ++first[batch.fields[0].data<float>()[0]];
  }
  REQUIRE(first.size() == 10);
  for (const auto& [record, times] : first) CHECK(std::abs(times - 200) < 70);  // five deviations
}

TEST_CASE("order: going to a saved position equals never having stopped", "[data]") {
  const TempDir dir;
  const ReaderSpec spec = numbered(dir, 101);
  const auto a = open_reader(spec);
  a->start_pass(3);
  Batch batch;
  for (int i = 0; i < 5; ++i) REQUIRE(a->next(batch));
  const Position saved = a->position();
  CHECK(saved == Position{3, 40});
  const Texts rest = rest_of_pass(*a);
  CHECK(a->position() == Position{3, 101});
  const auto b = open_reader(spec);
  b->seek(saved);
  CHECK(b->position() == saved);
  CHECK(rest_of_pass(*b) == rest);
  CHECK(rest.size() == 61);
  b->seek({3, 101});
  CHECK_FALSE(b->next(batch));
  CHECK_THROWS_WITH(b->seek({3, 102}),
                    Contains("cannot go to record 102 of pass 3") && Contains("only 101 records"));
  CHECK(b->position() == Position{3, 101});
}

TEST_CASE("order: every record belongs to exactly one shard", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir, 101);
  const Texts all = sorted(rest_of_pass(*open_reader(spec)));
  const uint32_t count = GENERATE(1, 2, 3, 7, 150);
  spec.trainer_count = count;
  Texts together;
  int64_t records = 0;
  for (spec.trainer_id = 0; spec.trainer_id < count; ++spec.trainer_id) {
    const auto reader = open_reader(spec);
    records += reader->records();
    for (const std::string& r : rest_of_pass(*reader)) together.push_back(r);
  }
  CHECK(records == 101);
  CHECK(sorted(together) == all);
}

TEST_CASE("order: the short last batch is kept, unless it is not wanted", "[data]") {
  const TempDir dir;
  ReaderSpec spec = numbered(dir, 21);
  CHECK(rest_of_pass(*open_reader(spec)).size() == 21);
  spec.drop_last = true;
  const auto reader = open_reader(spec);
  CHECK(rest_of_pass(*reader).size() == 16);
  Batch batch;
  CHECK_FALSE(reader->next(batch));
  CHECK(reader->position() == Position{0, 16});
}

TEST_CASE("order: batches use their memory again, but never under somebody's hands", "[data]") {
  const TempDir dir;
  const auto reader = open_reader(numbered(dir, 101));
  Batch batch;
  REQUIRE(reader->next(batch));
  const void* memory = batch.fields[0].raw();
  for (uint64_t pass = 0; pass < 3; ++pass) {
    reader->start_pass(pass);
    while (reader->next(batch)) CHECK(batch.fields[0].raw() == memory);
  }
  reader->start_pass(0);
  REQUIRE(reader->next(batch));
  const Tensor held = batch.fields[0], copy = held.clone();
  REQUIRE(reader->next(batch));
  CHECK(batch.fields[0].raw() != held.raw());
  CHECK(std::equal(held.values<float>().begin(), held.values<float>().end(), copy.data<float>()));
}

}  // namespace order_test
