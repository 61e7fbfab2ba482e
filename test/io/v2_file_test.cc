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
