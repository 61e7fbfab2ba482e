#include "io/inference_model.h"

#include <catch2/catch.hpp>

#include "io/model_file.h"
#include "io/sample.h"
#include "support/temporary.h"
#include "tensor/scope.h"

using namespace paddle;
using Catch::Matchers::Contains;

namespace {

Names types(const Block& block) {
  Names out;
  for (const auto& op : block.ops()) out.push_back(op->type);
  return out;
}

Scope sample_values() {
  Scope scope;
  scope.var("fc_0.w_0").tensor = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  return scope;
}

}  // namespace

TEST_CASE("an inference model is pruned, fed and fetched as Fluid has it", "[io]") {
  const Program main = sample_program();
  const std::string before = write_program(main);
  const InferenceModel m = make_inference_model(main, {"x"}, {"out/scaled", "fc_0.tmp_0"});
  CHECK(types(m.program.global()) ==
        Names{"feed", "mul", "dropout", "scale", "scale", "fetch", "fetch"});
  CHECK(m.fetches == Names{"save_infer_model/scale_0.tmp_0", "save_infer_model/scale_1.tmp_0"});
  CHECK(m.program.global().ops()[2]->attrs.get<bool>("is_test"));
  CHECK(m.program.global().find("moment") == nullptr);
  CHECK(m.program.global().var("feed").kind == VarKind::feed_minibatch);
  CHECK(write_program(main) == before);

  SECTION("the last feed comes first") {
    Program p;
    for (const char* name : {"a", "b", "c"}) p.global().create({.name = name, .shape = {1}});
    p.global().adopt({"sum", {{"X", {"a", "b"}}}, {{"Out", {"c"}}}});
    const InferenceModel two = make_inference_model(p, {"a", "b"}, {"c"});
    CHECK(two.program.global().ops()[0]->out["Out"] == Names{"b"});
    CHECK(two.program.global().ops()[0]->attrs.get<int32_t>("col") == 1);
    CHECK(two.program.global().ops()[1]->out["Out"] == Names{"a"});
  }
  SECTION("what does not fit is said") {
    CHECK_THROWS_WITH(make_inference_model(main, {"x", "label"}, {"fc_0.tmp_0"}),
                      Contains("'label' is not needed"));
    CHECK_THROWS_WITH(make_inference_model(main, {}, {"fc_0.tmp_0"}),
                      Contains("the targets need x"));
    CHECK_THROWS_WITH(make_inference_model(main, {"x"}, {"fc_0.tmp_1"}),
                      Contains("did you mean 'fc_0.tmp_0'"));
  }
}

TEST_CASE("inference models go to disk and come back", "[io]") {
  const Program main = sample_program();
  const Scope scope = sample_values();
  TemporaryDirectory dir;
  const InferenceFiles files = GENERATE(InferenceFiles{}, InferenceFiles{"model", "params"});
  save_inference_model(dir.path(), {"x"}, {"out/scaled"}, main, values_of(scope), files);
  CHECK(is_file(dir.path() + "/" + files.model));
  CHECK(is_file(dir.path() + "/" + (files.params.empty() ? "fc_0.w_0" : "params")));

  Scope back;
  const InferenceModel m = load_inference_model(dir.path(), into(back), files);
  CHECK(m.feeds == Names{"x"});
  CHECK(m.fetches == Names{"save_infer_model/scale_0.tmp_0"});
  CHECK(back.tensor("fc_0.w_0").data<float>()[5] == 6.f);
  CHECK(types(m.program.global()) == Names{"feed", "mul", "dropout", "scale", "fetch"});

  SECTION("a loaded model can be saved again") {
    CHECK(save_inference_model(dir.path() + "/again", m.feeds, m.fetches, m.program,
                               values_of(back)) == Names{"save_infer_model/scale_0.tmp_1"});
  }
}

TEST_CASE("broken inference models are refused", "[io]") {
  TemporaryDirectory dir;
  Scope scope;
  CHECK_THROWS_WITH(load_inference_model(dir.path() + "/none", into(scope)),
                    Contains("no such directory"));
  CHECK_THROWS_WITH(load_inference_model(dir.path(), into(scope)), Contains("__model__"));
  Program p;
  p.global().create({.name = "x", .shape = {1}});
  Op feed{"feed", {}, {{"Out", {"x"}}}};
  feed.attrs.set("col", 3);
  p.global().adopt(feed);
  save_program(dir.path() + "/__model__", p);
  CHECK_THROWS_WITH(load_inference_model(dir.path(), into(scope)), Contains("says column 3"));
}
