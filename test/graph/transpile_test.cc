// The cut as a whole: op lists, names and refusals.
#include "graph/transpile.h"

#include <catch2/catch.hpp>

#include "graph/text.h"
#include "layers/schedules.h"
#include "layers/support.h"

using namespace paddle;
using namespace paddle::test;
using Catch::Matchers::Contains;

namespace {

const Names two = {"a:1", "b:2"};

// The basic net of Fluid's own transpiler tests: x [1000] -> fc 1000 with bias, square error, mean.
struct Basic : NetCase {
  std::string loss;

  explicit Basic(const ParamAttr& w = {}, const ParamAttr& bias = {}) {
    ParamAttr weight = w, b_attr = bias;
    weight.name = "fc_w";
    b_attr.name = "fc_b";
    data(b, "x", {1000});
    data(b, "y", {1});
    const std::string predict = fc(b, "x", 1000, {.param_attr = weight, .bias_attr = b_attr});
    loss = mean(b, square_error_cost(b, predict, "y"));
  }
  Cut cut(const TranspileOptions& o) const { return transpile(net.main, net.startup, o); }
};

// Ops of one block as "type: roles".
Names block_types(const Program& p, int32_t block) {
  Names out;
  for (const auto& op : p.block(block).ops()) out.push_back(op->type);
  return out;
}

const Op& only_op(const Program& p, const std::string& type, size_t nth = 0) {
  for (const auto& op : p.global().ops())
    if (op->type == type && nth-- == 0) return *op;
  FAIL("no op " << type);
  return *p.global().ops()[0];
}

const SliceSpec& slice_of(const Cut& cut, const std::string& name) {
  for (const SliceSpec& s : cut.slices)
    if (s.name == name) return s;
  FAIL("no slice " << name);
  return cut.slices[0];
}

const Op& op_of_block(const Program& p, int32_t block, const std::string& type) {
  for (const auto& op : p.block(block).ops())
    if (op->type == type) return *op;
  FAIL("no op " << type << " in block " << block);
  return *p.block(block).ops()[0];
}

}  // namespace

TEST_CASE("the trainer's half has Fluid's op list", "[graph]") {
  Basic n;
  minimize(n.b, n.loss, Optimizer("sgd", 0.1));
  const Names backward = {"mul",
                          "elementwise_add",
                          "elementwise_sub",
                          "square",
                          "mean",
                          "fill_constant",
                          "mean_grad",
                          "square_grad",
                          "elementwise_sub_grad",
                          "elementwise_add_grad"};
  const auto with = [&](const Names& rest) {
    Names all = backward;
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };

  SECTION("sliced") {
    const Cut cut = n.cut({.trainer_id = 1, .trainers = 2, .endpoints = two});
    CHECK(block_types(cut.trainer, 0) ==
          with({"send", "mul_grad", "split_byref", "send", "send_barrier", "recv", "recv",
                "fetch_barrier", "concat"}));
    const Op& split = only_op(cut.trainer, "split_byref");
    CHECK(split.in["X"] == Names{"fc_w@GRAD"});
    CHECK(split.out["Out"] == Names{"fc_w@GRAD.block0.trainer_1", "fc_w@GRAD.block1.trainer_1"});
    CHECK(split.attrs.get<Ints>("sections") == Ints{500, 500});
    CHECK(split.role() == role::dist);
    const Op &bias = only_op(cut.trainer, "send", 0), &weight = only_op(cut.trainer, "send", 1);
    CHECK(bias.in["X"] == Names{"fc_b@GRAD.trainer_1"});
    CHECK(bias.attrs.get<Strings>(role::var_attr) == Strings{"fc_b", "fc_b@GRAD.trainer_1"});
    CHECK(cut.trainer.global().find("fc_b@GRAD") == nullptr);
    CHECK(weight.in["X"] == split.out["Out"]);
    CHECK(weight.attrs.get<Strings>("epmap").size() == 2);
    CHECK(weight.attrs.get<Longs>("sections") == Longs{500, 500});
    CHECK(weight.attrs.get<int32_t>("param") == 1);
    CHECK(weight.role() == role::rpc);
    const Op& barrier = only_op(cut.trainer, "send_barrier");
    CHECK(barrier.in["X"] == Names{bias.out["Out"][0], weight.out["Out"][0]});
    CHECK(barrier.attrs.get<Strings>("endpoints") == two);
    CHECK(barrier.attrs.get<int32_t>("trainer_id") == 1);
    const Op& receive = only_op(cut.trainer, "recv", 1);
    CHECK(receive.in["X"] == barrier.out["Out"]);
    CHECK(receive.out["Out"] == Names{"fc_w.block0", "fc_w.block1"});
    CHECK(receive.attrs.get<Strings>("epmap") == weight.attrs.get<Strings>("epmap"));
    CHECK(only_op(cut.trainer, "fetch_barrier").out["Out"] ==
          Names{"fc_b", "fc_w.block0", "fc_w.block1"});
    CHECK(only_op(cut.trainer, "concat").out["Out"] == Names{"fc_w"});
  }
  SECTION("the startup program ends with receives that the plan leaves out") {
    const Cut cut = n.cut({.trainers = 2, .endpoints = two});
    const Names types = block_types(cut.trainer_startup, 0);
    const Names before = block_types(n.net.startup, 0);
    REQUIRE(types.size() == before.size() + 4);
    CHECK(Names(types.begin(), types.begin() + static_cast<ptrdiff_t>(before.size())) == before);
    CHECK(Names(types.end() - 4, types.end()) == Names{"recv", "recv", "fetch_barrier", "concat"});
    CHECK(only_op(cut.trainer_startup, "recv").in["X"].empty());
    Scope scope;
    n.exe.run(cut.trainer_startup, scope);
    CHECK(scope.tensor("fc_w").shape() == Shape{1000, 1000});
  }
  SECTION("in one piece") {
    const Cut cut = n.cut({.trainers = 2, .endpoints = two, .slice_var_up = false});
    CHECK(block_types(cut.trainer, 0) ==
          with({"send", "mul_grad", "send", "send_barrier", "recv", "recv", "fetch_barrier"}));
    CHECK(only_op(cut.trainer, "mul_grad").out["Y@GRAD"] == Names{"fc_w@GRAD.trainer_0"});
  }
  SECTION("async: no barriers, no suffix") {
    const Cut cut = n.cut({.trainer_id = 1, .trainers = 2, .endpoints = two, .sync = false});
    CHECK(block_types(cut.trainer, 0) ==
          with({"send", "mul_grad", "split_byref", "send", "recv", "recv", "concat"}));
    CHECK(only_op(cut.trainer, "send").in["X"] == Names{"fc_b@GRAD"});
    CHECK(only_op(cut.trainer, "recv", 1).in["X"] == only_op(cut.trainer, "send", 1).out["Out"]);
  }
  SECTION("one trainer: no suffix; the optimizer's variables are gone") {
    const Cut cut = n.cut({.endpoints = two});
    CHECK(only_op(cut.trainer, "split_byref").out["Out"] ==
          Names{"fc_w@GRAD.block0", "fc_w@GRAD.block1"});
    CHECK(cut.trainer.global().find("learning_rate_0") == nullptr);
    CHECK(cut.trainer.global().find("fc_w") != nullptr);
    CHECK(n.net.main.global().find("learning_rate_0") != nullptr);  // what was cut is unchanged
  }
}

TEST_CASE("the pserver's half updates slices", "[graph]") {
  SECTION("plain sgd") {
    Basic n;
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    const Cut cut = n.cut({.trainers = 2, .endpoints = two});
    CHECK(cut.params.size() == 2);
    CHECK(cut.params[0].param == "fc_b");
    CHECK(cut.shared == Names{"learning_rate_0"});
    CHECK(cut.notes.empty());
    const SliceSpec& s = slice_of(cut, "fc_w.block1");
    CHECK(s.param == "fc_w");
    CHECK(s.grad == "fc_w@GRAD");
    CHECK(s.merged_grad == "fc_w@GRAD.block1");
    CHECK(s.states.empty());
    CHECK(s.index == 1);
    CHECK(s.first_row == 500);
    CHECK(s.first_element() == 500000);
    CHECK(s.shape == Shape{500, 1000});
    const Program& p = cut.pservers[s.shard];
    CHECK(block_types(p, 0) == Names{"listen_and_serv"});
    CHECK(block_types(p, s.block) == Names{"sum", "scale", "sgd"});
    const Op &sum = op_of_block(p, s.block, "sum"), &scale = op_of_block(p, s.block, "scale"),
             &sgd = op_of_block(p, s.block, "sgd");
    CHECK(sum.in["X"] == Names{"fc_w@GRAD.block1.trainer_0", "fc_w@GRAD.block1.trainer_1"});
    CHECK(sum.role() == role::dist);
    CHECK(scale.attrs.get<float>("scale") == 0.5f);
    CHECK(scale.out["Out"] == Names{s.merged_grad});
    CHECK(scale.role() == role::dist);
    CHECK(sgd.in["Param"] == Names{"fc_w.block1"});
    CHECK(sgd.in["Grad"] == Names{s.merged_grad});
    CHECK(sgd.in["LearningRate"] == Names{"learning_rate_0"});
    CHECK(sgd.attrs.get<Strings>(role::var_attr) == Strings{"fc_w.block1", "fc_w@GRAD.block1"});
    CHECK(p.global().var("fc_w.block1").shape == Shape{500, 1000});
    CHECK(p.global().var(s.merged_grad).persistable);
    CHECK_FALSE(p.global().var("fc_w@GRAD.block1.trainer_0").persistable);
    const Op& listen = *p.global().ops()[0];
    CHECK(listen.attrs.get<std::string>("endpoint") == two[s.shard]);
    CHECK(listen.attrs.get<int32_t>("Fanin") == 2);
    CHECK(listen.attrs.get<int32_t>("lr_decay_block_id") == -1);
    CHECK_THAT(listen.attrs.get<Strings>("grad_to_block_id"),
               Catch::Matchers::VectorContains(text("fc_w@GRAD.block1:", s.block)));
    for (const int32_t i : listen.attrs.get<BlockRefs>("optimize_blocks").indices)
      CHECK(p.block(i).parent_idx() == 0);
  }
  SECTION("one trainer or async: no average") {
    Basic n;
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    for (const TranspileOptions& o :
         {TranspileOptions{.endpoints = two},
          TranspileOptions{.trainers = 3, .endpoints = two, .sync = false}}) {
      const Cut cut = n.cut(o);
      const SliceSpec& s = slice_of(cut, "fc_w.block0");
      CHECK(block_types(cut.pservers[s.shard], s.block) == Names{"sgd"});
    }
  }
  SECTION("clip, decay of weights, adam and a schedule, in the order of the local program") {
    Basic n({.learning_rate = 0.5f,
             .regularizer = l2_decay(0.1f),
             .gradient_clip = clip_by_value(0.01f)});
    minimize(n.b, n.loss, Optimizer("adam", exponential_decay(n.b, 0.1f, 10, 0.9f)));
    const Cut cut = n.cut({.trainers = 2, .endpoints = two});
    CHECK(cut.notes.empty());
    CHECK(cut.shared == Names{"@LR_DECAY_COUNTER@"});
    const SliceSpec& s = slice_of(cut, "fc_w.block1");
    const Program& p = cut.pservers[s.shard];
    CHECK(block_types(p, s.block) ==
          Names{"sum", "scale", "clip", "scale", "sum", "adam", "scale", "scale"});
    CHECK(s.states.size() == 4);
    CHECK(p.global().var("fc_w_moment1_0").shape == Shape{500, 1000});
    CHECK(p.global().var("fc_w_beta1_pow_acc_0").shape == Shape{1});
    CHECK(op_of_block(p, s.block, "clip").in["X"] == Names{s.merged_grad});

    const int32_t lr = p.global().ops()[0]->attrs.get<int32_t>("lr_decay_block_id");
    CHECK(lr == 1);
    CHECK(p.block(s.block).parent_idx() == lr);
    CHECK(p.block(lr).ops()[0]->type == "increment");
    // The rate of this parameter is made by the schedule and read by the slice.
    const std::string rate = op_of_block(p, s.block, "adam").in["LearningRate"][0];
    CHECK(p.block(lr).ops().back()->out["Out"] == Names{rate});
    CHECK(p.global().var(rate).persistable);
    for (const Program& half : cut.pservers) CHECK(block_types(half, lr) == block_types(p, lr));

    const std::string trainer = program_text(cut.trainer);
    for (const char* word : {"adam", "increment", "moment1", "LR_DECAY"})
      CHECK_THAT(trainer, !Contains(word));
  }
  SECTION("the first values are rows of those of the whole") {
    NetCase n;
    std::vector<float> values(12);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    data(n.b, "x", {4});
    const ParamAttr w{.name = "w", .initializer = init::Values{values}};
    minimize(n.b, mean(n.b, fc(n.b, "x", 3, {.param_attr = w, .bias_attr = ParamAttr::none()})),
             Optimizer("adagrad", 0.1, {{"initial_accumulator_value", 0.25}}));
    const Cut cut = transpile(n.net.main, n.net.startup, {.endpoints = two, .min_block_size = 3});
    REQUIRE(cut.slices.size() == 2);
    const SliceSpec& s = cut.slices[1];
    Scope scope;
    n.exe.run(cut.startups[s.shard], scope);
    CHECK(values_of(scope.tensor("w.block1")) == std::vector<double>{6, 7, 8, 9, 10, 11});
    CHECK(values_of(scope.tensor("w_moment_0")) == std::vector<double>(6, 0.25));
    CHECK(values_of(scope.tensor("learning_rate_0"))[0] == Approx(0.1));
    CHECK(scope.find("w") == nullptr);
  }
  SECTION("a shard without slices has an empty block") {
    Basic n;
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    const Cut cut = n.cut({.endpoints = {"a:1", "b:1", "c:1"}, .slice_var_up = false});
    const Program& idle = cut.pservers[2];
    REQUIRE(idle.num_blocks() == 2);
    CHECK(idle.block(1).ops().empty());
    CHECK(idle.global().ops()[0]->attrs.get<BlockRefs>("optimize_blocks").indices ==
          std::vector<int32_t>{1});
    CHECK_THAT(placement_table(cut, {"a:1", "b:1", "c:1"}),
               Contains("c:1 holds nothing") && Contains("lower ports_num"));
  }
  SECTION("every trainer makes the same halves for the pservers") {
    Basic n;
    minimize(n.b, n.loss, Optimizer("momentum", 0.1));
    const Cut first = n.cut({.trainer_id = 0, .trainers = 3, .endpoints = two});
    const Cut last = n.cut({.trainer_id = 2, .trainers = 3, .endpoints = two});
    for (size_t i = 0; i < 2; ++i) {
      CHECK(program_text(first.pservers[i]) == program_text(last.pservers[i]));
      CHECK(program_text(first.startups[i]) == program_text(last.startups[i]));
    }
    CHECK(program_text(first.trainer) != program_text(last.trainer));
  }
}

TEST_CASE("a parameter whose update needs all of it stays in one piece", "[graph]") {
  SECTION("clip by norm") {
    Basic n({.gradient_clip = clip_by_norm(1)});
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    const Cut cut = n.cut({.endpoints = two});
    REQUIRE(cut.slices.size() == 2);
    const SliceSpec& s = slice_of(cut, "fc_w");
    CHECK(block_types(cut.pservers[s.shard], s.block) == Names{"clip_by_norm", "sgd"});
    REQUIRE(cut.notes.size() == 1);
    CHECK_THAT(cut.notes[0], Contains("'fc_w' stays in one piece") && Contains("clip_by_norm"));
  }
  SECTION("the global norm of one parameter is its own") {
    Basic n({.gradient_clip = clip_by_global_norm(1)});
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    const Cut cut = n.cut({.endpoints = two});
    const SliceSpec& s = slice_of(cut, "fc_w");
    const Names ops = block_types(cut.pservers[s.shard], s.block);
    CHECK(ops.back() == "sgd");
    CHECK(std::count(ops.begin(), ops.end(), "reduce_sum") == 1);
  }
  SECTION("a first value that is made in one piece") {
    Basic n;
    minimize(n.b, n.loss, Optimizer("sgd", 0.1));
    n.net.startup.global().append(
        {.type = "scale", .in = {{"X", {"fc_w"}}}, .out = {{"Out", {"fc_w"}}}});
    const Cut cut = n.cut({.endpoints = two});
    CHECK(cut.slices.size() == 2);
    REQUIRE(cut.notes.size() == 1);
    CHECK_THAT(cut.notes[0], Contains("the op scale"));
    CHECK(block_types(cut.startups[slice_of(cut, "fc_w").shard], 0).back() == "scale");
  }
}

TEST_CASE("sparse gradients become dense", "[graph]") {
  NetCase n;
  data(n.b, "ids", {1}, {.dtype = DType::i64});
  const auto net = [&](const Optimizer& optimizer, const ParamAttr& attr = {}) {
    ParamAttr table = attr;
    table.name = "table";
    const EmbeddingOptions options{.is_sparse = true, .param_attr = table};
    const std::string e = embedding(n.b, "ids", {100, 4}, options);
    const std::string again = embedding(n.b, "ids", {100, 4}, options);
    minimize(n.b, mean(n.b, elementwise_add(n.b, e, again)), optimizer);
  };
  const TranspileOptions options{.endpoints = two, .min_block_size = 8};

  SECTION("in both halves, and the table is printed") {
    net(Optimizer("adagrad", 0.1, l2_decay(0.1f)));
    CHECK(n.net.main.global().var("table@GRAD").kind == VarKind::selected_rows);
    const Cut cut = transpile(n.net.main, n.net.startup, options);
    CHECK(cut.trainer.global().var("table@GRAD").kind == VarKind::lod_tensor);
    CHECK(cut.trainer.global().var("table@GRAD").shape == Shape{100, 4});
    for (const auto& op : cut.trainer.global().ops())
      CHECK_FALSE(op->attrs.get<bool>("is_sparse", false));
    CHECK(cut.slices.size() == 2);
    REQUIRE(cut.notes.size() == 1);
    CHECK_THAT(cut.notes[0], Contains("'table'") && Contains("is_sparse: false"));
    for (const Program& p : cut.pservers) CHECK_THAT(program_text(p), !Contains("selected_rows"));
  }
  SECTION("an update that only sparse gradients have is refused") {
    net(Optimizer("adam", 0.1, {{"lazy_mode", true}}));
    CHECK_THROWS_WITH(transpile(n.net.main, n.net.startup, options),
                      Contains("adam with lazy_mode") && Contains("is_sparse: false"));
  }
  SECTION("so is their global norm") {
    net(Optimizer("sgd", 0.1), {.gradient_clip = clip_by_global_norm(1)});
    CHECK_THROWS_WITH(transpile(n.net.main, n.net.startup, options),
                      Contains("merge_selected_rows") && Contains("is_sparse: false"));
  }
}
