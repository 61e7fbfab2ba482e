#include <map>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "graph/halves.h"

namespace paddle {
namespace {

// The slices of one parameter as the send and receive ops of Fluid list them.
struct Pieces {
  Names grads, params;  // variables of the trainer, and of the shards
  Names endpoints;
  Longs sections;  // rows of each
};

class TrainerHalf {
 public:
  TrainerHalf(const Program& main, const CutParts& parts, const std::vector<SliceSpec>& slices,
              const TranspileOptions& options)
      : program_(main), block_(program_.global()), parts_(parts), options_(options) {
    pieces_.resize(parts.updates.size());
    for (const SliceSpec& s : slices) {
      Pieces& p = pieces_[static_cast<size_t>(s.param_index)];
      p.grads.push_back(slice_name(s.grad, s) + suffix());
      p.params.push_back(s.name);
      p.endpoints.push_back(options.endpoints[s.shard]);
      p.sections.push_back(s.shape.rank() > 0 ? s.shape[0] : 1);
    }
  }

  Program make() {
    drop_updates();
    send_all();
    const Names received = append_receives(append_barrier(), false);
    if (options_.sync) append_end(received);
    append_joins();
    return std::move(program_);
  }

  // `main` is a startup program here: what the shards have takes the place of what it made.
  Program make_startup() {
    append_end(append_receives({}, true));
    append_joins();
    return std::move(program_);
  }

 private:
  // Gradients of several trainers meet under one name each.
  std::string suffix() const {
    return options_.sync && options_.trainers > 1 ? text(".trainer_", options_.trainer_id) : "";
  }
  static bool sliced(const Pieces& p) { return p.params.size() > 1; }
  std::string control_var() {
    return block_.create({.name = text("__control_var@", controls_++)}).name;
  }

  // Optimizer and schedule leave, and with them the variables that only they use.
  void drop_updates() {
    std::set<std::string> gone, used;
    for (const auto& op : block_.ops()) {
      std::set<std::string>& names = CutParts::leaves(*op) ? gone : used;
      for (const Slots* slots : {&op->in, &op->out})
        for (const std::string& n : slots->all()) names.insert(n);
    }
    block_.remove_ops(CutParts::leaves);
    for (const ParamUpdate& u : parts_.updates) used.insert(u.names.param);
    std::erase_if(gone, [&](const std::string& name) { return used.count(name) > 0; });
    block_.remove_vars(gone);
  }

  // As soon as the gradient is there. What is sent in one piece has the name of the message.
  void send_all() {
    std::map<std::string, std::string> renamed;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const ParamGrad& names = parts_.updates[i].names;
      const Pieces& p = pieces_[i];
      if (!sliced(p) && p.grads[0] != names.grad) renamed[names.grad] = p.grads[0];
      program_.exchanged.push_back({names.param, sliced(p) ? names.grad : p.grads[0]});
    }
    block_.rename_vars(renamed);
    std::unordered_map<std::string, size_t> made_by;
    for (size_t i = 0; i < block_.ops().size(); ++i)
      for (const std::string& name : block_.ops()[i]->out.all()) made_by[name] = i;
    std::vector<std::pair<size_t, Op>> sends;
    for (size_t i = 0; i < pieces_.size(); ++i)
      send(i, made_by.at(program_.exchanged[i].grad) + 1, sends);  // find_parts() saw one
    block_.insert_all(std::move(sends));
  }

  void send(size_t i, size_t at, std::vector<std::pair<size_t, Op>>& out) {
    const ParamGrad& names = parts_.updates[i].names;
    const Pieces& p = pieces_[i];
    const std::string& grad = program_.exchanged[i].grad;
    if (sliced(p)) {
      create_slices(p.grads, p, names.param);
      out.emplace_back(
          at, with_role({.type = "split_byref",
                         .in = {{"X", {grad}}},
                         .out = {{"Out", p.grads}},
                         .attrs = {{"sections", Ints(p.sections.begin(), p.sections.end())}}},
                        role::dist, {}));
    }
    sent_.push_back(control_var());
    out.emplace_back(at,
                     with_role({.type = "send",
                                .in = {{"X", p.grads}},
                                .out = {{"Out", {sent_.back()}}},
                                .attrs = {{"epmap", p.endpoints},
                                          {"sections", p.sections},
                                          {"send_varnames", p.grads},
                                          {"trainer_id", static_cast<int32_t>(options_.trainer_id)},
                                          {"param", static_cast<int32_t>(i)}}},
                               role::rpc, {names.param, grad}));
  }

  static Op with_role(Op op, int32_t role, Strings role_var) {
    op.attrs.set(role::attr, role);
    op.attrs.set(role::var_attr, std::move(role_var));
    return op;
  }

  void create_slices(const Names& names, const Pieces& p, const std::string& like) {
    const Var& whole = block_.var(like);
    for (size_t k = 0; k < names.size(); ++k) {
      Var v{.name = names[k], .dtype = whole.dtype, .shape = whole.shape};
      v.shape[0] = p.sections[k];
      block_.create(std::move(v));
    }
  }

  Attrs barrier_attrs() const {
    return {{"endpoints", options_.endpoints},
            {"trainer_id", static_cast<int32_t>(options_.trainer_id)}};
  }

  // What each receive waits for: sync, for all sends; otherwise for its own.
  std::vector<Names> append_barrier() {
    std::vector<Names> after;
    for (const std::string& s : sent_) after.push_back({s});
    if (!options_.sync) return after;
    const std::string all_sent = control_var();
    const OpRoleGuard guard(program_, role::rpc);
    block_.append({.type = "send_barrier",
                   .in = {{"X", sent_}},
                   .out = {{"Out", {all_sent}}},
                   .attrs = barrier_attrs()});
    return std::vector<Names>(sent_.size(), {all_sent});
  }

  Names append_receives(const std::vector<Names>& after, bool do_not_run) {
    Names received;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const ParamGrad& names = parts_.updates[i].names;
      const Pieces& p = pieces_[i];
      if (sliced(p)) create_slices(p.params, p, names.param);
      const OpRoleGuard guard(program_, role::rpc, {names.param, names.grad});
      block_.append({.type = "recv",
                     .in = {{"X", after.empty() ? Names{} : after[i]}},
                     .out = {{"Out", p.params}},
                     .attrs = {{"epmap", p.endpoints},
                               {"recv_varnames", p.params},
                               {"trainer_id", static_cast<int32_t>(options_.trainer_id)},
                               {"do_not_run", do_not_run},
                               {"param", static_cast<int32_t>(i)}}});
      received.insert(received.end(), p.params.begin(), p.params.end());
    }
    return received;
  }

  void append_end(const Names& received) {
    const OpRoleGuard guard(program_, role::rpc);
    block_.append({.type = "fetch_barrier", .out = {{"Out", received}}, .attrs = barrier_attrs()});
  }

  void append_joins() {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (!sliced(pieces_[i])) continue;
      const OpRoleGuard guard(program_, role::dist);
      block_.append({.type = "concat",
                     .in = {{"X", pieces_[i].params}},
                     .out = {{"Out", {parts_.updates[i].names.param}}},
                     .attrs = {{"axis", 0}}});
    }
  }

  Program program_;
  Block& block_;
  const CutParts& parts_;
  const TranspileOptions& options_;
  std::vector<Pieces> pieces_;  // by parameter
  Names sent_;                  // what follows each send
  int controls_ = 0;
};

}  // namespace

Program trainer_half(const Program& main, const CutParts& parts,
                     const std::vector<SliceSpec>& slices, const TranspileOptions& options) {
  return TrainerHalf(main, parts, slices, options).make();
}

Program trainer_startup(const Program& startup, const CutParts& parts,
                        const std::vector<SliceSpec>& slices, const TranspileOptions& options) {
  return TrainerHalf(startup, parts, slices, options).make_startup();
}

}  // namespace paddle
