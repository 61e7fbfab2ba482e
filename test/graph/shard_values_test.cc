#include "graph/shard_values.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace shard_values_test {
namespace {

Tensor counted(const Shape& shape) {
  Tensor out(DType::f32, shape);
  std::iota(out.data<float>(), out.data<float>() + out.numel(), 0.f);
  return out;
}

// fc_w [200, 100] with momentum, in two slices; the learning rate is shared.
struct Sliced : NetCase {
  Cut cut;
  Scope scope;

  Sliced() {
    data(b, "x", {200});
    data(b, "y", {1});
    ParamAttr weight;
    weight.name = "fc_w";
    const std::string out = fc(b, "x", 100, {.param_attr = weight, .bias_attr = ParamAttr::none()});
    const std::string loss = mean(b, square_error_cost(b, out, "y"));
    minimize(b, loss, Optimizer("momentum", 0.1));
    cut = transpile(net.main, net.startup, {.endpoints = {"a:1", "b:2"}});
    scope.var("fc_w").tensor = counted({200, 100});
    scope.var("fc_w_velocity_0").tensor = counted({200, 100});
    for (const std::string& name : cut.shared) scope.var(name).tensor = counted({1});
  }
};

Names names_of(const std::vector<ShardValue>& values) {
  Names out;
  for (const ShardValue& v : values) out.push_back(v.name);
  return out;
}

}  // namespace

TEST_CASE("what a shard keeps of a whole scope", "[graph]") {
  Sliced net;
  REQUIRE(net.cut.slices.size() == 2);
  const SliceSpec& second = net.cut.slices[1];
  const std::vector<ShardValue> values = slice_values(net.cut, second.shard, net.scope);
  SECTION("rows of the parameter and of its state, in the scope's own memory") {
    CHECK(names_of(values) == Names{second.name, "fc_w_velocity_0"});
    for (const ShardValue& v : values) {
      CHECK(v.tensor.shape() == second.shape);
      CHECK(v.tensor.data<float>()[0] == static_cast<float>(second.first_element()));
    }
    CHECK(values[0].tensor.data<float>() ==
          net.scope.tensor("fc_w").data<float>() + second.first_element());
  }
  SECTION("and what all shards share") {
    Names all = names_of(values);
    all.insert(all.end(), net.cut.shared.begin(), net.cut.shared.end());
    CHECK(names_of(shard_values(net.cut, second.shard, net.scope)) == all);
    const Names sources = shard_sources(net.cut, second.shard);
    CHECK(std::count(sources.begin(), sources.end(), "fc_w") == 1);
    CHECK(sources.size() == 2 + net.cut.shared.size());
  }
  SECTION("a value that is not there is an error, or is left out") {
    net.scope.erase("fc_w_velocity_0");
    CHECK_THROWS_WITH(slice_values(net.cut, 0, net.scope), Contains("fc_w_velocity_0"));
    CHECK(slice_values(net.cut, 0, net.scope, MissingValue::skip).size() == 1);
  }
}

}  // namespace shard_values_test
