#include "io/program_buffer.h"

#include <program_generated.h>

#include <catch2/catch.hpp>

#include "io/sample.h"

using namespace paddle;
using Catch::Matchers::Contains;

TEST_CASE("a program comes back from its buffer exactly", "[io]") {
  const Program p = sample_program();
  const std::string buffer = to_flatbuffer(p);
  const Program back = from_flatbuffer(buffer);
  CHECK(same_program(p, back));
  CHECK(to_flatbuffer(back) == buffer);
  CHECK(std::signbit(back.global().ops()[1]->attrs.get<float>("dropout_prob")));

  SECTION("also from an odd address") {
    const std::string shifted = "x" + buffer;
    CHECK(same_program(p, from_flatbuffer(std::string_view(shifted).substr(1))));
  }
  SECTION("and a difference is seen") {
    Program other = p;
    other.global().ops()[0]->attrs.set("x_num_col_dims", 2);
    CHECK_FALSE(same_program(p, other));
    CHECK(to_flatbuffer(other) != buffer);
  }
}

TEST_CASE("damaged program buffers are refused, or are another program", "[io]") {
  const std::string buffer = to_flatbuffer(sample_program());
  for (size_t n = 0; n < buffer.size(); ++n) {
    try {  // padding at the end may be missed by nobody
      from_flatbuffer(std::string_view(buffer).substr(0, n));
      CHECK(n + 8 > buffer.size());
    } catch (const Error&) {
    }
  }
  size_t refused = 0;
  for (size_t bit = 0; bit < buffer.size() * 8; ++bit) {
    std::string bad = buffer;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    try {
      to_flatbuffer(from_flatbuffer(bad));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > buffer.size());
  CHECK_THROWS_WITH(from_flatbuffer(std::string(40, 'x')), Contains("no program of ours"));
  CHECK_THROWS_AS(from_flatbuffer(std::string_view()), Error);
}

namespace {

// A buffer of one op, whose attribute is given.
template <class MakeAttr>
std::string one_attr(const MakeAttr& make) {
  flatbuffers::FlatBufferBuilder b;
  const auto words = b.CreateVectorOfStrings({"op", "a"});
  const auto attrs = b.CreateVector(std::vector{make(b)});
  const auto ops = b.CreateVector(std::vector{fbs::CreateOp(b, 0, 0, 0, attrs)});
  const auto blocks = b.CreateVector(std::vector{fbs::CreateBlock(b, -1, -1, 0, ops)});
  b.Finish(fbs::CreateProgram(b, words, blocks), fbs::ProgramIdentifier());
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

}  // namespace

TEST_CASE("well-formed buffers without sense are refused", "[io]") {
  using B = flatbuffers::FlatBufferBuilder;
  CHECK(from_flatbuffer(one_attr([](B& b) { return fbs::CreateAttr(b, 1, 0, 5); }))
            .global()
            .ops()[0]
            ->attrs.get<int32_t>("a") == 5);
  const auto refused = [](const auto& make, const char* why) {
    CHECK_THROWS_WITH(from_flatbuffer(one_attr(make)), Contains(why));
  };
  refused([](B& b) { return fbs::CreateAttr(b, 9, 0, 5); }, "names text 9 of 2");
  refused([](B& b) { return fbs::CreateAttr(b, 1, 12); }, "type number 12");
  refused([](B& b) { return fbs::CreateAttr(b, 1, 0, int64_t{1} << 40); }, "no 32-bit number");
  refused([](B& b) { return fbs::CreateAttr(b, 1, 1); }, "expected one");
  refused([](B& b) { return fbs::CreateAttr(b, 1, 2, -1); }, "names text -1");
  refused([](B& b) { return fbs::CreateAttr(b, 1, 8, 3); }, "names block 3");
}

TEST_CASE("a small buffer cannot become a large program by sharing", "[io]") {
  flatbuffers::FlatBufferBuilder b;
  const auto words = b.CreateVectorOfStrings({"op", std::string(1000, 'a')});
  const auto numbers = b.CreateVector(std::vector<int32_t>(1000));
  std::vector<flatbuffers::Offset<fbs::Op>> ops;
  for (int i = 0; i < 1000; ++i) {
    const auto attrs = b.CreateVector(std::vector{fbs::CreateAttr(b, 1, 3, 0, numbers)});
    ops.push_back(fbs::CreateOp(b, 0, 0, 0, attrs));
  }
  const auto all = b.CreateVector(ops);
  const auto blocks = b.CreateVector(std::vector{fbs::CreateBlock(b, -1, -1, 0, all)});
  b.Finish(fbs::CreateProgram(b, words, blocks), fbs::ProgramIdentifier());
  const std::string_view buffer(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  CHECK_THROWS_WITH(from_flatbuffer(buffer), Contains("shared beyond reason"));
}

TEST_CASE("the digest of a program", "[io]") {
  const Program p = sample_program();
  Program q = p;
  CHECK(program_digest(p).size() == 16);
  q.global().ops()[0]->attrs.set("op_callstack", Strings{"elsewhere"});
  q.foreign = "other";
  CHECK(program_digest(q) == program_digest(p));
  q.global().ops()[0]->attrs.set("x_num_col_dims", 2);
  CHECK(program_digest(q) != program_digest(p));
}
