#include "data/generate_behaviours.h"
#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace behaviours_test {

ReaderSpec behaviours() {
  ReaderSpec spec;
  spec.format = "behaviours";
  spec.batch_size = 16;
  return spec;
}

}  // namespace behaviours_test

using namespace behaviours_test;

TEST_CASE("behaviours: files are MultiSlot text", "[data]") {
  const TempDir dir;
  ReaderSpec spec = behaviours();
  spec.files = {dir.write("f", "3 1 2 3 1 4 1 1\n1 9 1 8 1 0\n")};
  CHECK(rest_of_pass(*open_reader(spec)) ==
        std::vector<std::string>{"[1 2 3] [4] [1]", "[9] [8] [0]"});
  set_key(spec, "items", 9);
  CHECK_THAT(error_of(spec), Contains("/f:2: ") && Contains("9"));
  spec.files = {dir.write("f", "1 1 1 1 1 2\n")};
  CHECK_THAT(error_of(spec), Contains("/f:1: "));
  spec.files = {dir.write("f", "1 1 1 1\n")};
  CHECK_THAT(error_of(spec), Contains("/f:1: "));
}

TEST_CASE("behaviours: generated records follow their truth", "[data]") {
  ReaderSpec spec = behaviours();
  set_key(spec, "records", 2000);
  const auto reader = open_reader(spec);
  CHECK(reader->generated());
  CHECK_THAT(reader->source(), Contains("2000 records generated from seed 1; the best AUC"));
  const auto all = rest_of_pass(*reader);
  std::string line;
  append_behaviour(generate_behaviour(1, 7), line);
  const TempDir dir;
  ReaderSpec file = behaviours();
  file.files = {dir.write("f", line)};
  CHECK(rest_of_pass(*open_reader(file))[0] == all[7]);
  double clicks = 0, expected = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const Behaviour b = generate_behaviour(1, i);
    clicks += b.label;
    expected += b.probability;
    CHECK((b.history.size() >= 3 && b.history.size() <= 20));
    CHECK((b.item >= 0 && b.item < behaviour_items));
  }
  CHECK(clicks / expected == Approx(1).margin(0.03));
  set_key(spec, "items", 100);
  CHECK_THAT(error_of(spec), Contains("which items 100 does not hold"));
}
