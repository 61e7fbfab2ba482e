#include <catch2/catch.hpp>

#include "graph/op_def.h"

using namespace paddle;
using Catch::Matchers::Contains;

TEST_CASE("an unknown op gets a suggestion", "[graph]") {
  Op op{.type = "elementwise_ad"};
  CHECK_THROWS_WITH(conform(op), Contains("there is no op 'elementwise_ad'") &&
                                     Contains("did you mean 'elementwise_add'?"));
}

TEST_CASE("all problems of an op are reported at once", "[graph]") {
  Op op{.type = "elementwise_add",
        .in = {{"X", {"a", "b"}}, {"Z", {"c"}}},
        .attrs = {{"axis", std::string("last")}}};
  CHECK_THROWS_WITH(
      conform(op),
      Contains("op elementwise_add:") && Contains("the input 'X' takes one variable, found 2") &&
          Contains("there is no input 'Z'") && Contains("the inputs are X and Y") &&
          Contains("the input 'Y' is missing") && Contains("the output 'Out' is missing") &&
          Contains("the attribute 'axis' must be INT, found STRING \"last\""));
}

TEST_CASE("a slot that is nearly right gets a suggestion", "[graph]") {
  Op op{
      .type = "fill_constant_batch_size_like", .in = {{"Inputs", {"x"}}}, .out = {{"Out", {"y"}}}};
  CHECK_THROWS_WITH(conform(op), Contains("did you mean 'Input'?"));
}

TEST_CASE("defaults are filled in and numbers converted where nothing is lost", "[graph]") {
  Op op{.type = "fill_constant", .out = {{"Out", {"x"}}}, .attrs = {{"shape", Ints{2, 3}}}};
  op.attrs.set("value", 1);
  conform(op);
  CHECK(std::get<float>(*op.attrs.find("value")) == 1.0f);
  CHECK(std::get<Longs>(*op.attrs.find("shape")) == Longs{2, 3});
  CHECK(std::get<bool>(*op.attrs.find("force_cpu")) == false);

  op.attrs.set("dtype", int64_t{1} << 40);
  CHECK_THROWS_WITH(conform(op), Contains("'dtype' must be INT, found LONG"));
}

TEST_CASE("attributes are read by type", "[graph]") {
  const Attrs attrs{{"n", 3}, {"name", std::string("x")}};
  CHECK(attrs.get<float>("n") == 3.0f);
  CHECK(attrs.get<int64_t>("n") == 3);
  CHECK_THROWS_WITH(attrs.get<int32_t>("name"), Contains("must be INT, found STRING \"x\""));
  CHECK_THROWS_WITH(attrs.get<float>("lost"), Contains("the attribute 'lost' is missing"));
}
