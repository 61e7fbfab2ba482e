#include "io/tensor_file.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <sstream>

#include "base/file.h"
#include "io/bytes.h"
#include "support/temporary.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

Tensor counted(const Shape& shape) {
  Tensor t(DType::f32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = static_cast<float>(i) * 0.5f;
  return t;
}

std::string bytes_of(const FileParts& parts) {
  std::string out;
  for (const std::string_view part : parts.views()) out += part;
  return out;
}

std::string written(const Tensor& t) {
  FileParts parts;
  add_tensor(parts, t);
  return bytes_of(parts);
}

std::string written(const SelectedRows& r) {
  FileParts parts;
  add_selected_rows(parts, r);
  return bytes_of(parts);
}

Tensor load(const std::string& path) {
  BinaryReader in(path);
  Tensor t = read_tensor(in);
  in.expect_end("the tensor");
  return t;
}

Tensor parse(const std::string& file) {
  BinaryReader in(file, "w");
  Tensor t = read_tensor(in);
  in.expect_end("the tensor");
  return t;
}

SelectedRows parse_rows(const std::string& file) {
  BinaryReader in(file, "rows");
  SelectedRows r = read_selected_rows(in);
  in.expect_end("the rows");
  return r;
}

std::string golden_values() {
  std::string out;
  for (int i = 0; i < 13; ++i) out += raw(static_cast<float>(i) * 0.5f);
  return out;
}

// float32 [13, 1], as Fluid 1.5 writes it.
std::string golden_tensor() {
  return bytes({0,    0,    0,    0,    0,    0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0,  //
                0x08, 0x05, 0x10, 0x0d, 0x10, 0x01}) +
         golden_values();
}

// int64 [5, 1] in two sequences of 2 and 3.
std::string golden_lod() {
  std::string out = raw(uint32_t{0}) + raw(uint64_t{1}) + raw(uint64_t{24}) + raw(uint64_t{0}) +
                    raw(uint64_t{2}) + raw(uint64_t{5}) + raw(uint32_t{0}) + raw(int32_t{6}) +
                    bytes({0x08, 0x03, 0x10, 0x05, 0x10, 0x01});
  for (int64_t i = 0; i < 5; ++i) out += raw(i);
  return out;
}

// Rows 7 and 2 of a table of 10 rows, two floats each.
std::string golden_rows() {
  return raw(uint32_t{0}) + raw(uint64_t{2}) + raw(int64_t{7}) + raw(int64_t{2}) +
         raw(int64_t{10}) + raw(uint32_t{0}) + raw(int32_t{6}) +
         bytes({0x08, 0x05, 0x10, 0x02, 0x10, 0x02}) + raw(1.f) + raw(2.f) + raw(3.f) + raw(4.f);
}

}  // namespace

TEST_CASE("tensor files are Fluid's, byte for byte", "[io]") {
  SECTION("a parameter") {
    CHECK(golden_tensor().size() == 26 + 52);
    CHECK(written(counted({13, 1})) == golden_tensor());
    const Tensor t = parse(golden_tensor());
    CHECK(t.shape() == Shape{13, 1});
    CHECK(t.dtype() == DType::f32);
    CHECK(t.data<float>()[12] == 6.f);
  }
  SECTION("sequences") {
    const Tensor t = parse(golden_lod());
    CHECK(t.lod() == Lod{{0, 2, 5}});
    CHECK(t.data<int64_t>()[4] == 4);
    CHECK(written(t) == golden_lod());
  }
  SECTION("selected rows") {
    const SelectedRows r = parse_rows(golden_rows());
    CHECK(r.rows == std::vector<int64_t>{7, 2});
    CHECK(r.height == 10);
    CHECK(r.value.shape() == Shape{2, 2});
    CHECK(r.value.data<float>()[3] == 4.f);
    CHECK(written(r) == golden_rows());
  }
  SECTION("packed dimensions are read too") {
    std::string file = golden_tensor();
    file.replace(20, 6, bytes({0x08, 0x05, 0x12, 0x02, 0x0d, 0x01}));
    CHECK(parse(file).shape() == Shape{13, 1});
  }
  SECTION("every element type and an empty tensor come back") {
    for (const DType d : {DType::boolean, DType::i16, DType::i32, DType::i64, DType::f16,
                          DType::f32, DType::f64, DType::u8, DType::i8}) {
      Tensor t(d, {3, 2});
      std::memset(t.raw(), 1, t.bytes());
      const Tensor back = parse(written(t));
      CHECK(back.dtype() == d);
      CHECK(std::memcmp(back.raw(), t.raw(), t.bytes()) == 0);
    }
    CHECK(parse(written(Tensor(DType::f32, {0, 4}))).shape() == Shape{0, 4});
  }
  SECTION("a file and the same bytes in memory are read alike") {
    TemporaryDirectory dir;
    write_file_atomically(dir.path() + "/w", golden_tensor());
    CHECK(load(dir.path() + "/w").shape() == Shape{13, 1});
    CHECK_THROWS_WITH(load(dir.path() + "/v"), Contains("cannot open"));
    CHECK_THROWS_WITH(load(dir.path()), Contains("directory"));
  }
}

TEST_CASE("every prefix of a tensor file is an error", "[io]") {
  for (const std::string& file : {golden_tensor(), golden_lod()})
    for (size_t n = 0; n < file.size(); ++n) CHECK_THROWS_AS(parse(file.substr(0, n)), Error);
  const std::string rows = golden_rows();
  for (size_t n = 0; n < rows.size(); ++n) CHECK_THROWS_AS(parse_rows(rows.substr(0, n)), Error);
}

TEST_CASE("a flipped bit never does worse than an error", "[io]") {
  const auto flip = [](const std::string& file, const auto& reader, size_t head) {
    size_t refused = 0;
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::string bad = file;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      try {
        reader(bad);
      } catch (const Error&) {
        ++refused;
      }
    }
    CHECK(refused > head * 8 * 3 / 4);  // elements may be anything, headers may not
  };
  flip(golden_tensor(), parse, 26);
  flip(golden_lod(), parse, 58);
  flip(golden_rows(), parse_rows, 28);
}

TEST_CASE("a tensor file that says what cannot be is refused before memory is taken", "[io]") {
  const auto with_desc = [](const std::string& desc) {
    return raw(uint32_t{0}) + raw(uint64_t{0}) + raw(uint32_t{0}) +
           raw(static_cast<int32_t>(desc.size())) + desc;
  };
  const std::string huge = bytes({0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f});
  const std::string minus = bytes({0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1});

  CHECK_THROWS_WITH(parse(with_desc(bytes({8, 5}) + huge)),
                    Contains("more elements than any file"));
  CHECK_THROWS_WITH(parse(with_desc(bytes({8, 5}) + huge + huge)), Contains("more elements"));
  CHECK_THROWS_WITH(parse(with_desc(bytes({8, 0}) + huge)), Contains("found 0; the file is cut"));
  CHECK_THROWS_WITH(parse(with_desc(bytes({8, 5}) + minus)), Contains("[-1]"));
  CHECK_THROWS_WITH(parse(with_desc(bytes({8, 19, 0x10, 1}))), Contains("type number 19"));
  CHECK_THROWS_WITH(parse(with_desc(bytes({0x10, 1}))), Contains("tensor description"));
  std::string nine = bytes({8, 5});
  for (int i = 0; i < 9; ++i) nine += bytes({0x10, 1});
  CHECK_THROWS_WITH(parse(with_desc(nine)), Contains("at most 8 dimensions, found 9"));
  CHECK_THROWS_WITH(parse(with_desc(bytes({8, 0, 0x10, 1})) + bytes({2})), Contains("0 or 1"));

  const std::string levels = raw(uint32_t{0}) + raw(~uint64_t{0});
  CHECK_THROWS_WITH(parse(levels), Contains("offset 4") && Contains("LoD levels"));
  const std::string level = raw(uint32_t{0}) + raw(uint64_t{1}) + raw(uint64_t{1} << 60);
  CHECK_THROWS_WITH(parse(level), Contains("offset 12") && Contains("1152921504606846976"));
  const std::string many_rows = raw(uint32_t{0}) + raw(uint64_t{1} << 61) + raw(uint64_t{0});
  CHECK_THROWS_WITH(parse_rows(many_rows), Contains("offset 4"));

  std::string lod = golden_lod();
  lod[28] = 9;  // the middle offset
  CHECK_THROWS_WITH(parse(lod), Contains("falls from 9 to 5"));
  std::string rows = golden_rows();
  rows[12] = 10;
  CHECK_THROWS_WITH(parse_rows(rows), Contains("below the height 10, found 10"));
  CHECK_THROWS_WITH(parse(golden_tensor() + "x"),
                    Contains("offset 78") && Contains("1 more bytes"));
}

TEST_CASE("a file of another kind is named", "[io]") {
  const auto said = [](const std::string& what) { return Contains("it looks like " + what); };
  CHECK_THROWS_WITH(parse(bytes({0x1f, 0x8b, 8, 0}) + std::string(40, 'x')),
                    said("a gzip archive"));
  CHECK_THROWS_WITH(parse("\x89PNG\r\n" + std::string(40, 'x')), said("a PNG image"));
  CHECK_THROWS_WITH(parse("learning_rate = 0.1\nbatch = 3\n"), said("text"));
  CHECK_THROWS_WITH(parse(raw(0) + raw(4) + raw(uint64_t{2}) + raw(1.f) + raw(2.f)),
                    said("a parameter file of PaddlePaddle v2"));
  CHECK_THROWS_WITH(parse(raw(3) + std::string(40, 'x')),
                    Contains("'w', offset 0") && Contains("expected version 0") &&
                        Contains("found 3") && Contains("not a Fluid tensor file"));
}
