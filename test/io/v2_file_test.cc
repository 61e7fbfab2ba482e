#include "io/v2_file.h"

#include <catch2/catch.hpp>

#include "io/bytes.h"

using namespace paddle;
using Catch::Matchers::Contains;

TEST_CASE("v2 parameter files", "[io]") {
  const std::string golden =
      bytes({0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}) + raw(1.5f) + raw(-2.f);
  const auto parse = [](std::string_view file, const Shape& shape) {
    BinaryReader in(file, "___fc_layer_0__.w0");
    return read_v2_parameter(in, shape);
  };
  const Tensor t = parse(golden, {1, 2});
  CHECK(t.data<float>()[1] == -2.f);
  FileParts out;
  add_v2_parameter(out, t);
  CHECK(out.joined() == golden);

  for (size_t n = 0; n < golden.size(); ++n)
    CHECK_THROWS_AS(parse(std::string_view(golden).substr(0, n), {2}), Error);
  CHECK_THROWS_WITH(parse(golden + "x", {2}), Contains("1 more bytes"));
  CHECK_THROWS_WITH(parse(golden, {3}), Contains("expected 3 elements") && Contains("found 2"));
  CHECK_THROWS_WITH(parse(bytes({1}) + golden.substr(1), {2}), Contains("found version 1"));
  const std::string doubles = raw(0) + raw(8u) + raw(uint64_t{1}) + raw(0.25);
  CHECK(parse(doubles, {1}).data<double>()[0] == 0.25);
  FileParts none;
  CHECK_THROWS_WITH(add_v2_parameter(none, Tensor::of<int64_t>({1}, {1})), Contains("int64"));
}

TEST_CASE("descriptions of v2 parameters", "[io]") {
  const std::string weight = "\x0a\x01w\x10\x0a\x48\x05\x48\x02";
  CHECK(v2_description({"w", {5, 2}}) == weight);
  const V2Description w = parse_v2_description(weight, "w.protobuf");
  CHECK((w.name == "w" && w.shape == Shape{5, 2}));

  const std::string bias = "\x0a\x07y.wbias\x10\x03\x48\x01\x48\x03";
  CHECK(v2_description({"y.wbias", {3}}) == bias);
  CHECK(parse_v2_description(bias, "b").shape == Shape{3});
  // Fields that we do not know are skipped: a learning rate (3) and a device (22).
  const std::string more = std::string("\x19\0\0\0\0\0\0\xf0\x3f", 9) + "\xb0\x01\x01";
  CHECK(parse_v2_description(weight + more, "w").shape == Shape{5, 2});

  CHECK_THROWS_WITH(parse_v2_description("\xff", "w.protobuf"),
                    Contains("'w.protobuf' is no description"));
  CHECK_THROWS_WITH(parse_v2_description("\x0a\x01w", "w"),
                    Contains("lacks the name or the shape"));
  const std::string huge = std::string("\x48") + std::string(9, '\xff') + "\x01";
  CHECK_THROWS_WITH(parse_v2_description(weight + huge, "w"), Contains("describes a dimension"));
  for (size_t n = 0; n < weight.size(); ++n)
    if (n != 7) CHECK_THROWS_AS(parse_v2_description(weight.substr(0, n), "w"), Error);
}
