#include <chrono>
#include <set>
#include <thread>

#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace prefetch_test {

using Texts = std::vector<std::string>;

ReaderSpec numbered(const TempDir& dir) {
  std::string content;
  for (int i = 0; i < 203; ++i) content += std::to_string(i) + ",0\n";
  ReaderSpec spec;
  spec.format = "csv";
  spec.files = {dir.write("numbers", content)};
  spec.batch_size = 4;
  spec.shuffle = true;
  return spec;
}

// Gives `good` batches of one number and then fails, as a damaged disk would.
class FailingReader : public Reader {
 public:
  explicit FailingReader(uint64_t good) : good_(good) {}
  const std::vector<FieldSpec>& fields() const override { return fields_; }
  bool next(Batch& batch) override {
    require(at_.record < good_, Error::Kind::io, "the disk is gone after ", good_, " records");
    batch.fields.resize(1);
    batch.fields[0].resize(DType::i64, {1, 1});
    batch.fields[0].data<int64_t>()[0] = static_cast<int64_t>(at_.record++);
    batch.samples = 1;
    return true;
  }
  Position position() const override { return at_; }
  void seek(Position to) override {
    require(to.record <= good_, Error::Kind::config, "no such position");
    at_ = to;
  }
  int64_t records() const override { return -1; }
  std::string source() const override { return "a failing reader"; }

 private:
  std::vector<FieldSpec> fields_{{"n", DType::i64}};
  uint64_t good_;
  Position at_;
};

TEST_CASE("prefetch: the same records in the same order", "[data]") {
  const TempDir dir;
  const ReaderSpec spec = numbered(dir);
  const int depth = GENERATE(1, 2, 3, 8, 1000);
  const auto plain = open_reader(spec);
  const auto ahead = prefetch(open_reader(spec), depth);
  CHECK(ahead->records() == 203);
  CHECK(ahead->source() == plain->source());
  CHECK(ahead->fields().size() == 2);
  for (const uint64_t pass : {0, 1, 5, 1}) {
    plain->start_pass(pass);
    ahead->start_pass(pass);
    CHECK(ahead->position() == Position{pass, 0});
    CHECK(rest_of_pass(*ahead) == rest_of_pass(*plain));
    CHECK(ahead->position() == Position{pass, 203});
    Batch batch;
    CHECK_FALSE(ahead->next(batch));
  }
}

TEST_CASE("prefetch: a position saved in flight resumes with every record exactly once", "[data]") {
  const TempDir dir;
  const ReaderSpec spec = numbered(dir);
  const int depth = GENERATE(1, 2, 8, 100);
  const int taken = GENERATE(0, 1, 7, 50, 51);
  std::multiset<std::string> seen;
  Position saved;
  {
    const auto first = prefetch(open_reader(spec), depth);
    first->start_pass(2);
    Batch batch;
    for (int i = 0; i < taken && first->next(batch); ++i)
      for (int64_t s = 0; s < batch.samples; ++s) seen.insert(record_text(batch, s));
    saved = first->position();
    CHECK(saved.record == seen.size());
  }  // stops here, with batches in flight
  const auto second = prefetch(open_reader(spec), depth);
  second->seek(saved);
  for (const std::string& r : rest_of_pass(*second)) seen.insert(r);
  CHECK(seen.size() == 203);
  CHECK(std::set<std::string>(seen.begin(), seen.end()).size() == 203);
}

TEST_CASE("prefetch: errors come where the batch would have come", "[data]") {
  const int depth = GENERATE(1, 2, 8);
  const auto ahead = prefetch(std::make_unique<FailingReader>(5), depth);
  Batch batch;
  for (int64_t i = 0; i < 5; ++i) {
    REQUIRE(ahead->next(batch));
    CHECK(batch.fields[0].data<int64_t>()[0] == i);
  }
  CHECK_THROWS_WITH(ahead->next(batch), Contains("the disk is gone after 5 records"));
  CHECK_THROWS_WITH(ahead->next(batch), Contains("the disk is gone"));
  CHECK(ahead->position() == Position{0, 5});
  SECTION("and are over after a seek") {
    ahead->seek({0, 3});
    REQUIRE(ahead->next(batch));
    CHECK(batch.fields[0].data<int64_t>()[0] == 3);
  }
  SECTION("a refused seek changes nothing") {
    ahead->seek({0, 1});
    REQUIRE(ahead->next(batch));
    CHECK_THROWS_WITH(ahead->seek({0, 6}), Contains("no such position"));
    CHECK(ahead->position() == Position{0, 2});
    for (int64_t i = 2; i < 5; ++i) {
      REQUIRE(ahead->next(batch));
      CHECK(batch.fields[0].data<int64_t>()[0] == i);
    }
  }
}

TEST_CASE("prefetch: ready() is true where a batch is there, and not for an end or an error",
          "[data]") {
  const auto becomes_ready = [](const Reader& reader) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!reader.ready() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    return reader.ready();
  };
  Batch batch;
  const auto fails = prefetch(std::make_unique<FailingReader>(3), 2);
  for (int i = 0; i < 3; ++i) {
    CHECK(becomes_ready(*fails));
    REQUIRE(fails->next(batch));
  }
  CHECK_THROWS_AS(fails->next(batch), Error);
  CHECK_FALSE(fails->ready());
  fails->seek({0, 2});
  CHECK(becomes_ready(*fails));

  const TempDir dir;
  const auto ends = prefetch(open_reader(numbered(dir)), 2);
  while (ends->next(batch)) {
  }
  CHECK_FALSE(ends->ready());
  CHECK_FALSE(open_reader(numbered(dir))->ready());  // it would have to read
}

TEST_CASE("prefetch: stops at any moment", "[data]") {
  const TempDir dir;
  const ReaderSpec spec = numbered(dir);
  for (int i = 0; i < 50; ++i) {
    const auto ahead = prefetch(open_reader(spec), 1 + i % 4);
    Batch batch;
    for (int taken = 0; taken < i % 7; ++taken) REQUIRE(ahead->next(batch));
  }
  CHECK_THROWS_WITH(prefetch(open_reader(spec), 0), Contains("prefetch depth must be at least 1"));
}

TEST_CASE("prefetch: batches go round", "[data]") {
  const TempDir dir;
  const auto ahead = prefetch(open_reader(numbered(dir)), 2);
  std::set<const void*> memory;
  Batch batch;
  for (uint64_t pass = 0; pass < 5; ++pass) {
    ahead->start_pass(pass);
    while (ahead->next(batch)) memory.insert(batch.fields[0].raw());
  }
  CHECK(memory.size() <= 4);  // two ready, one being filled, one in use
}

}  // namespace prefetch_test
