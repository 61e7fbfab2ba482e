#include <cmath>
#include <set>

#include "data/criteo_line.h"
#include "data/generate_clicks.h"
#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace criteo_test {

using namespace std::string_literals;
using Texts = std::vector<std::string>;

ReaderSpec criteo() {
  ReaderSpec spec;
  spec.format = "criteo";
  spec.batch_size = 64;
  return spec;
}

// A line of given numbers; the categories are c0 … c25.
std::string line_of(const std::string& label, const std::vector<std::string>& numbers) {
  std::string out = label;
  for (const std::string& n : numbers) out += "\t" + n;
  for (int k = 0; k < 26; ++k)
    out += "\tcatego" + std::string(k < 10 ? "_" : "") + std::to_string(k);
  return out + "\n";
}

std::vector<std::string> ones() { return std::vector<std::string>(13, "1"); }

float number(const Batch& batch, size_t column) { return batch.fields[0].data<float>()[column]; }

}  // namespace criteo_test

using namespace criteo_test;

TEST_CASE("criteo: the hash of a category is what its description says", "[data]") {
  const auto mix = [](uint64_t x) {
    uint64_t z = x + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  };
  const uint64_t key = mix(mix(7) ^ 3);  // of seed 7, third column
  uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i) bytes = bytes << 8 | static_cast<unsigned char>("62770d79"[i]);
  CHECK(criteo_hash("62770d79", 2, 7) == mix(key ^ bytes));
  CHECK(criteo_hash("", 2, 7) == mix(key + 1));
  CHECK(criteo_hash("ab", 2, 7) == mix(mix(key + 3) ^ 0x6261));
  CHECK(criteo_hash("62770d79x", 2, 7) == mix(mix(mix(key + 10) ^ bytes) ^ 'x'));
  // python/tests/ctr_example_test.py has the same numbers.
  CHECK(criteo_hash("62770d79", 0, 0) == 93936758555270373ull);
  CHECK(criteo_hash("", 25, 0) == 16778140892879525616ull);
  CHECK(criteo_hash("a longer category", 3, 0) == 14910153121616586662ull);
  std::set<uint64_t> all;
  for (size_t column = 0; column < 26; ++column)
    for (const char* word : {"", "a", "a\0", "62770d79", "62770d7a", "62770d790"})
      for (const uint64_t seed : {0, 1}) all.insert(criteo_hash(word, column, seed));
  CHECK(all.size() == 26 * 5 * 2);  // "a\0" is "a" as a text without length
}

TEST_CASE("criteo: numbers are scaled, missing ones are 0", "[data]") {
  const TempDir dir;
  ReaderSpec spec = criteo();
  const std::string content = line_of(
      "1", {"", "-3", "0", "50", "64000", "999999", "7", "-1", "", "10", "5", "1", "20000"});
  Batch batch;
  const auto read = [&](const char* scale) {
    set_key(spec, "scale", scale);
    for (const std::string& form :
         {content, gzipped(content), xzipped(content), zstandard(content)}) {
      spec.files = {dir.write("f", form)};
      REQUIRE(open_reader(spec)->next(batch));
    }
  };
  SECTION("log") {
    read("log");
    CHECK(batch.fields[0].shape() == Shape{1, 13});
    const std::vector<double> x{0, 0, 0, 50, 64000, 999999, 7, 0, 0, 10, 5, 1, 20000};
    for (size_t i = 0; i < 13; ++i)
      CHECK(number(batch, i) == Approx(std::log1p(x[i])).epsilon(1e-6));
  }
  SECTION("min_max") {
    read("min_max");
    const std::vector<double> x{0, 0, 0, 1, 1, 1.999998e3, 0.07, -0.02, 0, 1, 0.5, 0.1, 400};
    for (size_t i = 0; i < 13; ++i) CHECK(number(batch, i) == Approx(x[i]).epsilon(1e-6));
  }
  SECTION("none") {
    read("none");
    const std::vector<float> x{0, -3, 0, 50, 64000, 999999, 7, -1, 0, 10, 5, 1, 20000};
    for (size_t i = 0; i < 13; ++i) CHECK(number(batch, i) == x[i]);
  }
  CHECK(batch.fields[27].data<int64_t>()[0] == 1);
}

TEST_CASE("criteo: ids by modulo, in 64 bits, and as sequences", "[data]") {
  const TempDir dir;
  ReaderSpec spec = criteo();
  spec.files = {dir.write("f", line_of("0", ones()))};
  set_key(spec, "hash_seed", 5);
  Batch batch;
  const auto reader = open_reader(spec);
  REQUIRE(reader->next(batch));
  CHECK(reader->fields().size() == 28);
  CHECK(reader->fields()[26].bound == 1000001);
  const auto hash = [](size_t k) {
    return criteo_hash("catego" + (k < 10 ? "_"s : ""s) + std::to_string(k), k, 5);
  };
  for (size_t k = 0; k < 26; ++k)
    CHECK(batch.fields[1 + k].data<int64_t>()[0] == static_cast<int64_t>(hash(k) % 1000001));
  for (const int64_t size : {1ll, 2ll, 3ll, 1000003ll, 1ll << 40, 9223372036854775807ll}) {
    set_key(spec, "hash_size", size);
    REQUIRE(open_reader(spec)->next(batch));
    for (size_t k = 0; k < 26; ++k)
      CHECK(batch.fields[1 + k].data<int64_t>()[0] ==
            static_cast<int64_t>(hash(k) % static_cast<uint64_t>(size)));
  }
  set_key(spec, "hash_size", 0);
  set_key(spec, "sequences", true);
  REQUIRE(open_reader(spec)->next(batch));
  for (size_t k = 0; k < 26; ++k) {
    CHECK(batch.fields[1 + k].data<int64_t>()[0] == static_cast<int64_t>(hash(k)));
    CHECK(batch.fields[1 + k].lod() == Lod{{0, 1}});
  }
}

TEST_CASE("criteo: bad lines are refused with their place", "[data]") {
  const TempDir dir;
  ReaderSpec spec = criteo();
  const auto error = [&](const std::string& bad) {
    spec.files = {dir.write("f", line_of("0", ones()) + bad)};
    return error_of(spec);
  };
  const auto with = [&](size_t column, const std::string& word) {
    auto numbers = ones();
    numbers[column] = word;
    return line_of("1", numbers);
  };
  CHECK(error(with(0, "-7")) == "no error");
  for (const char* word : {"x", "1.5", "-", "+1", "1e3", " 1", "1234567890123456"})
    CHECK_THAT(error(with(4, word)), Contains("/f:2: expected a whole number") &&
                                         Contains("in column 6, found '" + std::string(word)));
  CHECK_THAT(error(line_of("2", ones())), Contains("/f:2: expected a label of 0 or 1 in column 1"));
  CHECK_THAT(error(line_of("", ones())), Contains("expected a label of 0 or 1"));
  CHECK_THAT(error("1\t2\n"),
             Contains("/f:2: expected 40 columns") && Contains("found 2 in '1?2'"));
  const std::string good = line_of("1", ones());
  CHECK_THAT(error(good.substr(0, good.size() - 1) + "\t\n"), Contains("found 41 in"));
  CHECK_THAT(error(good.substr(0, good.rfind('\t')) + "\n"), Contains("found 39 in"));
  CHECK(error(good.substr(0, good.rfind('\t')) + "\t\r\n\n") == "no error");  // nothing: missing
  set_key(spec, "scale", "logs");
  CHECK_THAT(error(""), Contains("did you mean 'log'"));
}

TEST_CASE("criteo: the real logs", "[data]") {
  const std::string path = real_data() + "/criteo_1tb_sample/day_0.part.txt.xz";
  if (!std::filesystem::exists(path)) {
    WARN("no file " << path);
    return;
  }
  ReaderSpec spec = criteo();
  spec.data_dir = real_data();
  spec.files = {"criteo_1tb_sample/day_0.*.xz"};  // a pattern, in data_dir
  const auto reader = open_reader(spec);
  CHECK(reader->records() == 10000);
  Batch batch;
  REQUIRE(reader->next(batch));
  CHECK(number(batch, 0) == Approx(std::log(6.0)));
  CHECK(number(batch, 2) == 0);
  CHECK(batch.fields[1].data<int64_t>()[0] ==
        static_cast<int64_t>(criteo_hash("62770d79", 0, 0) % 1000001));
  reader->start_pass(0);
  int64_t clicks = 0;
  while (reader->next(batch))
    for (const int64_t label : batch.fields[27].values<int64_t>()) clicks += label;
  CHECK(clicks == 265);
}

TEST_CASE("criteo: without files records are generated", "[data]") {
  ReaderSpec spec = criteo();
  set_key(spec, "records", 3000);
  set_key(spec, "test_records", 500);
  const auto train = open_reader(spec);
  CHECK(train->records() == 3000);
  CHECK(train->generated());
  CHECK_THAT(train->source(), Contains("3000 records generated from seed 1; the best AUC"));
  const Texts all = rest_of_pass(*train);
  SECTION("the same through a window, in parts, and from a file") {
    spec.window = 640;
    CHECK(rest_of_pass(*open_reader(spec)) == all);
    spec.window = 0;
    spec.trainer_count = 2;
    spec.trainer_id = 1;
    const Texts odd = rest_of_pass(*open_reader(spec));
    CHECK(odd.size() == 1500);
    CHECK(odd[7] == all[15]);
    const TempDir dir;
    std::string content;
    const ClickModel model(1);
    for (uint64_t i = 0; i < 3000; ++i) model.append_line(model.record(i), content);
    ReaderSpec file = criteo();
    file.files = {dir.write("f", content)};
    CHECK(rest_of_pass(*open_reader(file)) == all);
  }
  SECTION("the test part goes on where training ends, and the seed matters") {
    spec.test = true;
    const Texts test = rest_of_pass(*open_reader(spec));
    CHECK(test.size() == 500);
    spec.test = false;
    set_key(spec, "records", 3500);
    Texts longer = rest_of_pass(*open_reader(spec));
    CHECK(Texts(longer.begin() + 3000, longer.end()) == test);
    spec.seed = 2;
    CHECK(rest_of_pass(*open_reader(spec))[0] != all[0]);
  }
}

TEST_CASE("criteo: any text is read or refused, never more", "[data]") {
  const TempDir dir;
  const ClickModel model(3);
  std::string whole;
  for (uint64_t i = 0; i < 20; ++i) model.append_line(model.record(i), whole);
  const RandomStream random(11, 0);
  ReaderSpec spec = criteo();
  spec.skip_bad_lines = -1;
  uint64_t drawn = 0;
  for (int turn = 0; turn < 200; ++turn) {
    std::string spoilt = whole;
    for (int i = 0; i < 10; ++i) {
      const uint64_t bits = random.bits(drawn++);
      spoilt[bits % spoilt.size()] = "\t\n\r-0x\0\xff"[(bits >> 40) % 8];
    }
    spec.files = {dir.write("f", spoilt)};
    CHECK(open_reader(spec)->records() <= 31);
  }
}
