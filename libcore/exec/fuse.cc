#include "exec/fuse.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/op_def.h"

namespace paddle {
namespace {

constexpr int none = -1;

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
    all(&Fuser::fc_grad);
    all(&Fuser::fc);
    all(&Fuser::softmax_cross_entropy_grad);
    all(&Fuser::softmax_cross_entropy);
    all(&Fuser::embedding_pool_grad);
    all(&Fuser::embedding_pool);
    all(&Fuser::sgd_into_fc_grad);
    return std::move(ops_);
  }

 private:
  // Tries a pattern at every op until it matches nowhere. A pattern that matches changes ops_ and
  // says true.
  void all(bool (Fuser::*pattern)(int)) {
    for (int i = 0; i < size();) i = (this->*pattern)(i) ? 0 : i + 1;
  }

  int size() const { return static_cast<int>(ops_.size()); }
  Op& op(int i) { return ops_[static_cast<size_t>(i)]; }
  // The fused op in place of one of its parts, whose origin it keeps.
  void put(int i, Op fused) {
    fused.origin = op(i).origin;
    op(i) = std::move(fused);
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

  int writer(const std::string& name, int before) {
    for (int i = before - 1; i >= 0; --i)
      if (op(i).out.uses(name)) return i;
    return none;
  }

  std::vector<int> readers(const std::string& name) {
    std::vector<int> out;
    for (int i = 0; i < size(); ++i)
      if (op(i).in.uses(name)) out.push_back(i);
    return out;
  }

  // The one op that reads a temporary, or none.
  int only_reader(const std::string& name) {
    const std::vector<int> r = readers(name);
    return temporary(name) && r.size() == 1 ? r[0] : none;
  }

  // Whether an op between the two (exclusive), other than `gone`, writes any of `reads`, or touches
  // any of `writes`.
  bool disturbed(int from, int to, const Names& reads, const Names& writes,
                 const std::vector<int>& gone = {}) {
    for (int i = from + 1; i < to; ++i) {
      if (std::count(gone.begin(), gone.end(), i)) continue;
      for (const std::string& n : reads)
        if (op(i).out.uses(n)) return true;
      for (const std::string& n : writes)
        if (op(i).out.uses(n) || op(i).in.uses(n)) return true;
    }
    return false;
  }

  void erase(std::vector<int> indices) {
    std::sort(indices.rbegin(), indices.rend());
    for (const int i : indices) ops_.erase(ops_.begin() + i);
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
  bool fc_grad(int i) {
    if (op(i).type != "mul_grad" || !plain_mul(op(i))) return false;
    const auto columns = op(i).attrs.get<int32_t>("x_num_col_dims", 1);
    const std::string product_grad = only(op(i).in, "Out@GRAD");
    const int add = writer(product_grad, i);
    if (add == none || op(add).type != "elementwise_add_grad" ||
        only(op(add).out, "X@GRAD") != product_grad || only_reader(product_grad) != i ||
        !adds_bias(op(add), columns))
      return false;
    std::string out_grad = only(op(add).in, "Out@GRAD"), out, act;
    std::vector<int> gone = {add};
    const int act_grad = writer(out_grad, add);
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
    if (disturbed(first, i, reads, bias_grad.empty() ? Names{} : Names{bias_grad}, gone))
      return false;

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
    return true;
  }

  // mul, elementwise_add [, act]
  bool fc(int i) {
    if (op(i).type != "mul" || !plain_mul(op(i))) return false;
    const auto columns = op(i).attrs.get<int32_t>("x_num_col_dims", 1);
    const std::string product = only(op(i).out, "Out");
    const int add = only_reader(product);
    if (add == none || op(add).type != "elementwise_add" || only(op(add).in, "X") != product ||
        !adds_bias(op(add), columns))
      return false;
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
    if (disturbed(i, last, reads, {out}, {add})) return false;
    Op fused{.type = "fused_fc",
             .in = {{"X", op(i).in["X"]}, {"W", op(i).in["Y"]}, {"Bias", op(add).in["Y"]}},
             .out = {{"Out", {out}}},
             .attrs = {{"x_num_col_dims", columns}, {"act", act}}};
    put(last, std::move(fused));
    erase(last == add ? std::vector<int>{i} : std::vector<int>{i, add});
    return true;
  }

  // cross_entropy_grad2, softmax_grad: together they are (softmax - label) * dLoss
  bool softmax_cross_entropy_grad(int i) {
    if (op(i).type != "softmax_grad") return false;
    const std::string probability_grad = only(op(i).in, "Out@GRAD");
    const int loss_grad = writer(probability_grad, i);
    if (loss_grad == none || op(loss_grad).type != "cross_entropy_grad2" ||
        only_reader(probability_grad) != i)
      return false;
    const Names reads = {only(op(loss_grad).in, "Label"), only(op(loss_grad).in, "Y@GRAD"),
                         only(op(i).in, "Out")};
    if (disturbed(loss_grad, i, reads, {})) return false;
    put(i, {.type = "softmax_with_cross_entropy_grad",
            .in = {{"Label", {reads[0]}}, {"Softmax", {reads[2]}}, {"Loss@GRAD", {reads[1]}}},
            .out = {{"Logits@GRAD", op(i).out["X@GRAD"]}},
            .attrs = {{"soft_label", false},
                      {"ignore_index", op(loss_grad).attrs.get<int32_t>("ignore_index", -100)},
                      {"numeric_stable_mode", true},
                      {"axis", -1}}});
    conform(op(i));
    erase({loss_grad});
    return true;
  }

  bool softmax_cross_entropy(int i) {
    if (op(i).type != "cross_entropy2") return false;
    const std::string probability = only(op(i).in, "X"), label = only(op(i).in, "Label");
    const int softmax = writer(probability, i);
    if (softmax == none || op(softmax).type != "softmax") return false;
    const Var* p = block_.find(probability);
    const auto axis = op(softmax).attrs.get<int32_t>("axis", -1);
    if (!p || (axis != -1 && axis != p->shape.rank() - 1)) return false;
    for (const char* slot : {"MatchX", "XShape"}) {
      const std::string name = only(op(i).out, slot);
      if (!name.empty() && (!readers(name).empty() || !temporary(name))) return false;
    }
    const std::string loss = only(op(i).out, "Y");
    if (disturbed(softmax, i, {only(op(softmax).in, "X"), label}, {loss})) return false;
    put(softmax, {.type = "softmax_with_cross_entropy",
                  .in = {{"Logits", op(softmax).in["X"]}, {"Label", {label}}},
                  .out = {{"Softmax", {probability}}, {"Loss", {loss}}},
                  .attrs = {{"soft_label", false},
                            {"ignore_index", op(i).attrs.get<int32_t>("ignore_index", -100)},
                            {"numeric_stable_mode", true},
                            {"axis", -1}}});
    conform(op(softmax));
    erase({i});
    return true;
  }

  static bool sums_rows(const Op& pool) {
    const auto type = pool.attrs.get<std::string>("pooltype", "AVERAGE");
    return (type == "SUM" || type == "AVERAGE" || type == "SQRT") &&
           pool.attrs.get<float>("pad_value", 0) == 0;
  }

  // sequence_pool_grad, sparse lookup_table_grad
  bool embedding_pool_grad(int i) {
    if (op(i).type != "lookup_table_grad" || !op(i).attrs.get<bool>("is_sparse", false))
      return false;
    const std::string rows_grad = only(op(i).in, "Out@GRAD"), ids = only(op(i).in, "Ids");
    const int pool = writer(rows_grad, i);
    const Var* v = block_.find(ids);
    if (pool == none || op(pool).type != "sequence_pool_grad" || !sums_rows(op(pool)) ||
        only_reader(rows_grad) != i || !v || v->lod_level != 1)
      return false;
    const std::string out_grad = only(op(pool).in, "Out@GRAD");
    if (disturbed(pool, i, {out_grad}, {})) return false;
    put(i, {.type = "fused_embedding_seq_pool_grad",
            .in = {{"W", op(i).in["W"]}, {"Ids", {ids}}, {"Out@GRAD", {out_grad}}},
            .out = {{"W@GRAD", op(i).out["W@GRAD"]}},
            .attrs = {{"pooltype", op(pool).attrs.get<std::string>("pooltype")},
                      {"padding_idx", op(i).attrs.get<int64_t>("padding_idx", -1)}}});
    erase({pool});
    return true;
  }

  bool embedding_pool(int i) {
    if (op(i).type != "lookup_table") return false;
    const std::string rows = only(op(i).out, "Out"), ids = only(op(i).in, "Ids");
    const int pool = only_reader(rows);
    const Var* v = block_.find(ids);
    if (pool == none || op(pool).type != "sequence_pool" || !sums_rows(op(pool)) || !v ||
        v->lod_level != 1)
      return false;
    const std::string index = only(op(pool).out, "MaxIndex");
    if (!index.empty() && (!readers(index).empty() || !temporary(index))) return false;
    if (disturbed(i, pool, op(i).in.all(), op(pool).out["Out"])) return false;
    put(pool, {.type = "fused_embedding_seq_pool",
               .in = {{"W", op(i).in["W"]}, {"Ids", {ids}}},
               .out = {{"Out", op(pool).out["Out"]}},
               .attrs = {{"pooltype", op(pool).attrs.get<std::string>("pooltype")},
                         {"padding_idx", op(i).attrs.get<int64_t>("padding_idx", -1)}}});
    erase({i});
    return true;
  }

  // sgd of a gradient that nobody else sees, moved into the op that makes the gradient.
  bool sgd_into_fc_grad(int i) {
    if (op(i).type != "sgd") return false;
    const std::string param = only(op(i).in, "Param"), grad = only(op(i).in, "Grad"),
                      rate = only(op(i).in, "LearningRate");
    const int maker = writer(grad, i);
    if (maker == none || op(maker).type != "fused_fc_grad" || only_reader(grad) != i ||
        only(op(i).out, "ParamOut") != param)
      return false;
    if (disturbed(maker, i, {rate}, {param})) return false;
    Op& fused = op(maker);
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
    if (!found) return false;
    fused.out = std::move(outs);
    erase({i});
    return true;
  }

  std::vector<Op> ops_;
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
