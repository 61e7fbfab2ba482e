#include "trainer/batches.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace paddle;

namespace batches_test {

// Passes of three batches, which hold their number; `ready` says whether the next one is there.
class Numbers : public Reader {
 public:
  bool is_ready = true;
  const std::vector<FieldSpec>& fields() const override { return fields_; }
  bool next(Batch& batch) override {
    if (at_.record == 3) return false;
    batch.fields = {Tensor::of<int64_t>({1, 1}, {static_cast<int64_t>(at_.record++)})};
    batch.samples = 1;
    return true;
  }
  bool ready() const override { return is_ready && at_.record < 3; }
  Position position() const override { return at_; }
  void seek(Position to) override { at_ = to; }
  int64_t records() const override { return 3; }
  std::string source() const override { return "numbers"; }

 private:
  std::vector<FieldSpec> fields_{{"n", DType::i64}};
  Position at_;
};

int64_t number_of(const Batch& batch) { return batch.fields[0].data<int64_t>()[0]; }

TEST_CASE("batches come in order, with a look at the one that follows", "[trainer]") {
  Numbers numbers;
  Batches all(numbers, true);
  all.seek({2, 0});
  for (int64_t i = 0; i < 3; ++i) {
    REQUIRE(all.next());
    CHECK(number_of(all.batch()) == i);
    const Batch* following = all.following();
    CHECK((following == nullptr) == (i == 2));
    if (following != nullptr) CHECK(number_of(*following) == i + 1);
    CHECK(all.following() == following);
    CHECK(number_of(all.batch()) == i);
    CHECK(all.position() == Position{2, static_cast<uint64_t>(i) + 1});  // of the batch at hand
  }
  CHECK_FALSE(all.next());
}

TEST_CASE("a batch that was looked at is forgotten where the place changes", "[trainer]") {
  Numbers numbers;
  Batches all(numbers, true);
  REQUIRE(all.next());
  REQUIRE(all.following() != nullptr);
  all.seek({5, 0});
  CHECK(all.position() == Position{5, 0});
  REQUIRE(all.next());
  CHECK(number_of(all.batch()) == 0);
  CHECK(all.position() == Position{5, 1});
}

TEST_CASE("nothing is read ahead where it is of no use, or where it would take time", "[trainer]") {
  Numbers numbers;
  Batches all(numbers, false);
  REQUIRE(all.next());
  CHECK(all.following() == nullptr);
  CHECK(numbers.position().record == 1);
  Batches looks(numbers, true);
  REQUIRE(looks.next());
  numbers.is_ready = false;
  CHECK(looks.following() == nullptr);
  CHECK(numbers.position().record == 2);
  numbers.is_ready = true;
  CHECK(number_of(*looks.following()) == 2);
}

}  // namespace batches_test
