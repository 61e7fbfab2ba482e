// What PaddlePaddle 1.8.5 wants of a program, added to a copy.
#include "io/portable.h"

#include <catch2/catch.hpp>

#include "layers/layers.h"
#include "layers/optimizers.h"

using namespace paddle;

namespace portable_test {

std::vector<const Op*> ops_of(const Program& p, const std::string& type) {
  std::vector<const Op*> out;
  for (const auto& op : p.global().ops())
    if (op->type == type) out.push_back(op.get());
  return out;
}

// One layer with adam.
void train(Net& net) {
  const Builder b(net);
  data(b, "x", {3});
  const std::string loss = mean(b, fc(b, "x", 1));
  minimize(b, loss, Optimizer("adam", 0.1));
}

}  // namespace portable_test

using namespace portable_test;

TEST_CASE("a portable program", "[io]") {
  Net net;
  train(net);
  const Program before = net.main.clone(false);
  const Program p = portable(net.main);
  CHECK(net.main.global().ops().size() == before.global().ops().size());  // a copy was changed

  SECTION("has the attributes that PaddlePaddle reads, also in gradient ops") {
    for (const char* type : {"mul", "mul_grad", "elementwise_add_grad"}) {
      REQUIRE(ops_of(p, type).size() == 1);
      CHECK_FALSE(ops_of(net.main, type)[0]->attrs.has("use_mkldnn"));
      CHECK(ops_of(p, type)[0]->attrs.get<bool>("use_mkldnn") == false);
    }
  }
  SECTION("has adam advance its powers, and nothing else advance them") {
    CHECK(ops_of(net.main, "scale").size() == 4);  // two powers of two parameters
    CHECK(ops_of(p, "scale").empty());
    const auto adams = ops_of(p, "adam");
    REQUIRE(adams.size() == 2);
    for (const Op* op : adams) {
      CHECK(op->out["Beta1PowOut"] == op->in["Beta1Pow"]);
      CHECK(op->out["Beta2PowOut"] == op->in["Beta2Pow"]);
    }
  }
  SECTION("changes nothing the second time") {
    CHECK(portable(p).global().ops().size() == p.global().ops().size());
    for (size_t i = 0; i < p.global().ops().size(); ++i)
      CHECK(*portable(p).global().ops()[i] == *p.global().ops()[i]);
  }
  SECTION("carries the program's seed in its ops") {
    net.startup.random_seed = 7;
    const Program startup = portable(net.startup);
    for (const Op* op : ops_of(startup, "uniform_random"))
      CHECK(op->attrs.get<int32_t>("seed") == 7);
    CHECK(ops_of(startup, "uniform_random").size() == 1);
  }
}
