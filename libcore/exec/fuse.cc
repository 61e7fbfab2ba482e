#include "exec/fuse.h"

#include <algorithm>
#include <optional>
#include <set>

#include "exec/op_list.h"
#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr int none = OpList::none;

class Fuser {
 public:
  Fuser(std::vector<Op> ops, const Block& block, const Scope& scope, const Names& feeds,
        const Names& fetches)
      : ops_(std::move(ops)), block_(block), scope_(scope) {
    kept_.insert(feeds.begin(), feeds.end());
    kept_.insert(fetches.begin(), fetches.end());
  }

  // Gradients first: they are what reads the intermediate results of the forward ops.
  std::vector<Op> run() {
    all("mul_grad", &Fuser::fc_grad);
    all("mul", &Fuser::fc);
    all("softmax_grad", &Fuser::softmax_cross_entropy_grad);
    all("cross_entropy2", &Fuser::softmax_cross_entropy);
    all("lookup_table_grad", &Fuser::embedding_pool_grad);
    all("lookup_table", &Fuser::embedding_pool);
    all("sgd", &Fuser::sgd_into_fc_grad);
    return std::move(ops_).take();
  }

 private:
  // Tries a pattern at every op of a type until it matches nowhere. A pattern that matches changes
  // ops_. It looks at other ops only by asking ops_ for the readers and writers of a variable,
  // which is how ops_ knows when an op has to be tried again.
  void all(std::string_view type, void (Fuser::*pattern)(int)) {
    ops_.match_all(type, [&](int i) {
      if (op(i).type == type) (this->*pattern)(i);
    });
  }

  const Op& op(int i) const { return ops_[i]; }
  // The fused op in place of one of its parts, whose origin it keeps.
  void put(int i, Op fused) {
    fused.origin = op(i).origin;
    ops_.replace(i, std::move(fused));
  }

  // One name in a slot, or "".
  static std::string only(const Slots& slots, std::string_view slot) {
    const Names& names = slots[slot];
    return names.size() == 1 && names[0] != empty_name ? names[0] : "";
  }

  // A value that may vanish: nobody outside the plan can see it.
  bool temporary(const std::string& name) const {
    const Var* v = block_.find(name);
    return !name.empty() && !kept_.count(name) && !(v && v->persistable) && !scope_.find(name);
  }

  // The one op that reads a temporary, or none.
  int only_reader(const std::string& name) {
    return temporary(name) ? ops_.only_reader(name) : none;
  }

  // Whether a value may be left out that no op of the plan needs.
  bool unseen(const std::string& name) {
    return name.empty() || (temporary(name) && !ops_.is_read(name));
  }

  // Whether an op between the two (exclusive), other than `gone`, writes any of `reads`, or touches
  // any of `writes`.
  bool disturbed(int from, int to, const Names& reads, const Names& writes,
                 const std::vector<int>& gone = {}) {
    for (const std::string& n : reads)
      if (ops_.writes_between(from, to, n, gone)) return true;
    for (const std::string& n : writes)
      if (ops_.writes_between(from, to, n, gone) || ops_.reads_between(from, to, n, gone))
        return true;
    return false;
  }

  void erase(const std::vector<int>& indices) {
    for (const int i : indices) ops_.erase(i);
  }

  static Op conformed(Op op) {
    conform(op);
    return op;
  }

  // Bias of one dimension added to the columns of a product whose rows are `columns` dimensions of
  // X.
  bool adds_bias(const Op& add, int columns) const {
    const Var* y = block_.find(only(add.in, "Y"));
    const auto axis = add.attrs.get<int32_t>("axis", -1);
    return y && y->shape.rank() == 1 && (axis == columns || axis == -1);
  }

  static bool plain_mul(const Op& mul) { return mul.attrs.get<int32_t>("y_num_col_dims", 1) == 1; }

  static std::string activation_of(const std::string& type) {
    return type == "relu" || type == "tanh" || type == "sigmoid" ? type : "";
  }

  // [act_grad,] elementwise_add_grad, mul_grad
  void fc_grad(int i) {
    if (!plain_mul(op(i))) return;
    const auto columns = op(i).attrs.get<int32_t>("x_num_col_dims", 1);
    const std::string product_grad = only(op(i).in, "Out@GRAD");
    const int add = ops_.writer(product_grad, i);
    if (add == none || op(add).type != "elementwise_add_grad" ||
        only(op(add).out, "X@GRAD") != product_grad || only_reader(product_grad) != i ||
        !adds_bias(op(add), columns))
      return;
    std::string out_grad = only(op(add).in, "Out@GRAD"), out, act;
    std::vector<int> gone = {add};
    const int act_grad = ops_.writer(out_grad, add);
    if (act_grad != none && op(act_grad).type.ends_with("_grad") && only_reader(out_grad) == add) {
      act = activation_of(op(act_grad).type.substr(0, op(act_grad).type.size() - 5));
      if (!act.empty() && op(act_grad).in.has("Out")) {
        gone.push_back(act_grad);
        out = only(op(act_grad).in, "Out");
        out_grad = only(op(act_grad).in, "Out@GRAD");
      } else {
        act.clear();
      }
    }
    const std::string bias_grad = only(op(add).out, "Y@GRAD");
    const int first = *std::min_element(gone.begin(), gone.end());
    Names reads = {out_grad};
    if (!out.empty()) reads.push_back(out);
    if (disturbed(first, i, reads, bias_grad.empty() ? Names{} : Names{bias_grad}, gone)) return;

    Op fused{.type = "fused_fc_grad",
             .in = {{"X", op(i).in["X"]},
                    {"W", op(i).in["Y"]},
                    {"Bias", op(add).in["Y"]},
                    {"Out@GRAD", {out_grad}}}};
    if (!out.empty()) fused.in.set("Out", {out});
    if (op(i).out.has("X@GRAD")) fused.out.set("X@GRAD", op(i).out["X@GRAD"]);
    if (op(i).out.has("Y@GRAD")) fused.out.set("W@GRAD", op(i).out["Y@GRAD"]);
    if (!bias_grad.empty()) fused.out.set("Bias@GRAD", {bias_grad});
    fused.attrs = {{"x_num_col_dims", columns}, {"act", act}};
    put(i, std::move(fused));
    erase(gone);
  }

  // mul, elementwise_add [, act]
  void fc(int i) {
    if (!plain_mul(op(i))) return;
    const auto columns = op(i).attrs.get<int32_t>("x_num_col_dims", 1);
    const std::string product = only(op(i).out, "Out");
    const int add = only_reader(product);
    if (add == none || op(add).type != "elementwise_add" || only(op(add).in, "X") != product ||
        !adds_bias(op(add), columns))
      return;
    std::string out = only(op(add).out, "Out"), act;
    int last = add;
    const int next = only_reader(out);
    if (next != none && !activation_of(op(next).type).empty()) {
      act = op(next).type;
      out = only(op(next).out, "Out");
      last = next;
    }
    Names reads = op(i).in.all();
    reads.push_back(only(op(add).in, "Y"));
    if (disturbed(i, last, reads, {out}, {add})) return;
    Op fused{.type = "fused_fc",
             .in = {{"X", op(i).in["X"]}, {"W", op(i).in["Y"]}, {"Bias", op(add).in["Y"]}},
             .out = {{"Out", {out}}},
             .attrs = {{"x_num_col_dims", columns}, {"act", act}}};
    put(last, std::move(fused));
    erase(last == add ? std::vector<int>{i} : std::vector<int>{i, add});
  }

  // cross_entropy_grad2, softmax_grad: together they are (softmax - label) * dLoss
  void softmax_cross_entropy_grad(int i) {
    const std::string probability_grad = only(op(i).in, "Out@GRAD");
    const int loss_grad = ops_.writer(probability_grad, i);
    if (loss_grad == none || op(loss_grad).type != "cross_entropy_grad2" ||
        only_reader(probability_grad) != i)
      return;
    const Names reads = {only(op(loss_grad).in, "Label"), only(op(loss_grad).in, "Y@GRAD"),
                         only(op(i).in, "Out")};
    if (disturbed(loss_grad, i, reads, {})) return;
    put(i, conformed(
               {.type = "softmax_with_cross_entropy_grad",
                .in = {{"Label", {reads[0]}}, {"Softmax", {reads[2]}}, {"Loss@GRAD", {reads[1]}}},
                .out = {{"Logits@GRAD", op(i).out["X@GRAD"]}},
                .attrs = {{"soft_label", false},
                          {"ignore_index", op(loss_grad).attrs.get<int32_t>("ignore_index", -100)},
                          {"numeric_stable_mode", true},
                          {"axis", -1}}}));
    erase({loss_grad});
  }

  void softmax_cross_entropy(int i) {
    const std::string probability = only(op(i).in, "X"), label = only(op(i).in, "Label");
    const int softmax = ops_.writer(probability, i);
    if (softmax == none || op(softmax).type != "softmax") return;
    const Var* p = block_.find(probability);
    const auto axis = op(softmax).attrs.get<int32_t>("axis", -1);
    if (!p || (axis != -1 && axis != p->shape.rank() - 1)) return;
    if (!unseen(only(op(i).out, "MatchX")) || !unseen(only(op(i).out, "XShape"))) return;
    const std::string loss = only(op(i).out, "Y");
    if (disturbed(softmax, i, {only(op(softmax).in, "X"), label}, {loss})) return;
    put(softmax,
        conformed({.type = "softmax_with_cross_entropy",
                   .in = {{"Logits", op(softmax).in["X"]}, {"Label", {label}}},
                   .out = {{"Softmax", {probability}}, {"Loss", {loss}}},
                   .attrs = {{"soft_label", false},
                             {"ignore_index", op(i).attrs.get<int32_t>("ignore_index", -100)},
                             {"numeric_stable_mode", true},
                             {"axis", -1}}}));
    erase({i});
  }

  static bool sums_rows(const Op& pool) {
    const auto type = pool.attrs.get<std::string>("pooltype", "AVERAGE");
    return (type == "SUM" || type == "AVERAGE" || type == "SQRT") &&
           pool.attrs.get<float>("pad_value", 0) == 0;
  }

  // sequence_pool_grad, sparse lookup_table_grad
  void embedding_pool_grad(int i) {
    if (!op(i).attrs.get<bool>("is_sparse", false)) return;
    const std::string rows_grad = only(op(i).in, "Out@GRAD"), ids = only(op(i).in, "Ids");
    const int pool = ops_.writer(rows_grad, i);
    const Var* v = block_.find(ids);
    if (pool == none || op(pool).type != "sequence_pool_grad" || !sums_rows(op(pool)) ||
        only_reader(rows_grad) != i || !v || v->lod_level != 1)
      return;
    const std::string out_grad = only(op(pool).in, "Out@GRAD");
    if (disturbed(pool, i, {out_grad}, {})) return;
    put(i, {.type = "fused_embedding_seq_pool_grad",
            .in = {{"W", op(i).in["W"]}, {"Ids", {ids}}, {"Out@GRAD", {out_grad}}},
            .out = {{"W@GRAD", op(i).out["W@GRAD"]}},
            .attrs = {{"pooltype", op(pool).attrs.get<std::string>("pooltype")},
                      {"padding_idx", op(i).attrs.get<int64_t>("padding_idx", -1)}}});
    erase({pool});
  }

  void embedding_pool(int i) {
    const std::string rows = only(op(i).out, "Out"), ids = only(op(i).in, "Ids");
    const int pool = only_reader(rows);
    const Var* v = block_.find(ids);
    if (pool == none || op(pool).type != "sequence_pool" || !sums_rows(op(pool)) || !v ||
        v->lod_level != 1)
      return;
    if (!unseen(only(op(pool).out, "MaxIndex"))) return;
    if (disturbed(i, pool, op(i).in.all(), op(pool).out["Out"])) return;
    put(pool, {.type = "fused_embedding_seq_pool",
               .in = {{"W", op(i).in["W"]}, {"Ids", {ids}}},
               .out = {{"Out", op(pool).out["Out"]}},
               .attrs = {{"pooltype", op(pool).attrs.get<std::string>("pooltype")},
                         {"padding_idx", op(i).attrs.get<int64_t>("padding_idx", -1)}}});
    erase({i});
  }

  // sgd of a gradient that nobody else sees, moved into the op that makes the gradient.
  void sgd_into_fc_grad(int i) {
    const std::string param = only(op(i).in, "Param"), grad = only(op(i).in, "Grad"),
                      rate = only(op(i).in, "LearningRate");
    const int maker = ops_.writer(grad, i);
    if (maker == none || op(maker).type != "fused_fc_grad" || only_reader(grad) != i ||
        only(op(i).out, "ParamOut") != param)
      return;
    if (disturbed(maker, i, {rate}, {param})) return;
    Op fused = op(maker);
    Slots outs;
    bool found = false;
    for (const auto& [slot, names] : fused.out) {
      const bool weight = slot == "W@GRAD" && names == Names{grad} && fused.in["W"] == Names{param};
      const bool bias =
          slot == "Bias@GRAD" && names == Names{grad} && fused.in["Bias"] == Names{param};
      if (weight) fused.in.set("LearningRate", {rate});
      if (bias) fused.in.set("BiasLearningRate", {rate});
      outs.set(weight ? "WOut" : bias ? "BiasOut" : slot, weight || bias ? Names{param} : names);
      found |= weight || bias;
    }
    if (!found) return;
    fused.out = std::move(outs);
    ops_.replace(maker, std::move(fused));
    erase({i});
  }

  OpList ops_;
  const Block& block_;
  const Scope& scope_;
  std::set<std::string> kept_;
};

}  // namespace

std::vector<Op> fuse_ops(std::vector<Op> ops, const Block& block, const Scope& scope,
                         const Names& feeds, const Names& fetches) {
  return Fuser(std::move(ops), block, scope, feeds, fetches).run();
}

}  // namespace paddle
