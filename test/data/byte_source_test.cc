#include "data/byte_source.h"

#include "data/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  LineReader lines(path);
  std::vector<std::string> out;
  for (std::string_view line; lines.next(line);) out.emplace_back(line);
  return out;
}

std::string numbers(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += std::to_string(i) + " some more text\n";
  return out;
}

}  // namespace

TEST_CASE("bytes: plain, gzip, xz and zstd read alike", "[data]") {
  const TempDir dir;
  const std::string content = numbers(100000);  // several buffers
  const auto plain = lines_of(dir.write("plain", content));
  CHECK(plain.size() == 100000);
  CHECK(plain.back() == "99999 some more text");
  CHECK(lines_of(dir.write("gz", gzipped(content))) == plain);
  CHECK(lines_of(dir.write("xz", xzipped(content))) == plain);
  CHECK(lines_of(dir.write("zst", zstandard(content))) == plain);
  SECTION("and so do files put together from several") {
    const std::string head = numbers(10), tail = content.substr(head.size());
    CHECK(lines_of(dir.write("gz2", gzipped(head) + gzipped(tail))) == plain);
    CHECK(lines_of(dir.write("xz2", xzipped(head) + xzipped(tail))) == plain);
    CHECK(lines_of(dir.write("zst2", zstandard(head) + zstandard(tail))) == plain);
  }
}

TEST_CASE("bytes: damaged files are refused", "[data]") {
  const TempDir dir;
  const std::string content = numbers(50000);
  for (const std::string& whole : {gzipped(content), xzipped(content), zstandard(content)}) {
    for (const size_t kept : {whole.size() - 1, whole.size() / 2, size_t{12}}) {
      const std::string path = dir.write("cut", whole.substr(0, kept));
      CHECK_THROWS_WITH(lines_of(path),
                        Contains(path) && Contains("ends early") && Contains("fetch it again"));
    }
    std::string spoilt = whole;
    for (size_t i = spoilt.size() / 2; i < spoilt.size() / 2 + 64; ++i) spoilt[i] ^= 0x55;
    CHECK_THROWS_AS(lines_of(dir.write("spoilt", spoilt)), Error);
    CHECK_THROWS_WITH(lines_of(dir.write("more", whole + "a good deal of rubbish")),
                      Contains("cannot be decoded"));
  }
  CHECK_THROWS_WITH(lines_of(dir.path() + "/none"),
                    Contains("cannot read " + dir.path() + "/none"));
  CHECK_THROWS_WITH(lines_of(dir.path()), Contains("it is a directory"));
}

TEST_CASE("lines: ends, blanks and marks", "[data]") {
  const TempDir dir;
  using Lines = std::vector<std::string>;
  CHECK(lines_of(dir.write("a", "")) == Lines{});
  CHECK(lines_of(dir.write("a", "x")) == Lines{"x"});
  CHECK(lines_of(dir.write("a", "x\r\ny\n\nz")) == Lines{"x", "y", "", "z"});
  CHECK(lines_of(dir.write("a", "\xEF\xBB\xBFx\n")) == Lines{"x"});
  SECTION("a line longer than the buffer") {
    const std::string longer(3 << 20, 'q');
    CHECK(lines_of(dir.write("a", "1\n" + longer + "\n2\n")) == Lines{"1", longer, "2"});
  }
  SECTION("a line that never ends is refused") {
    const std::string path = dir.write("a", gzipped(std::string((64 << 20) + 1, 'q')));
    CHECK_THROWS_WITH(lines_of(path), Contains(path + ":1: the line has more than"));
  }
}

TEST_CASE("numbers in text", "[data]") {
  double d = 0;
  float f = 0;
  int64_t i = 0;
  CHECK((parse_float("+1.5e3", d) && d == 1500));
  CHECK((parse_float("1e-60", f) && f == 0));
  for (const char* bad : {"", "nan", "inf", "-inf", "1e400", "1x", "+-1", "0x10", " 1", "--1"}) {
    INFO(bad);
    CHECK_FALSE(parse_float(bad, d));
  }
  CHECK_FALSE(parse_float("1e39", f));
  CHECK((parse_int("-7", i) && i == -7));
  for (const char* bad : {"", "1.0", "9223372036854775808", "1 "}) {
    INFO(bad);
    CHECK_FALSE(parse_int(bad, i));
  }
}
