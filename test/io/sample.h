// A small training program with everything that the forms of a program must carry.
#pragma once

#include <cmath>

#include "graph/program.h"

namespace paddle {

inline Program sample_program() {
  Program p;
  p.random_seed = 7;
  p.version = 1008005;
  p.foreign = "map";
  Block& b = p.global();
  b.create({.name = "x",
            .shape = {-1, 2},
            .lod_level = 1,
            .stop_gradient = true,
            .need_check_feed = true});
  b.create({.name = "label", .dtype = DType::i64, .shape = {-1, 1}});
  ParamInfo info;
  info.learning_rate = 0.5f;
  info.regularizer = {Regularizer::Kind::l2, 0.1f};
  info.clip = {GradientClip::Kind::global_norm, 5, 0, "towers"};
  b.create({.name = "fc_0.w_0", .shape = {2, 3}, .persistable = true, .param = info});
  b.create({.name = "fc_0.tmp_0", .shape = {-1, 3}});
  b.create({.name = "out/scaled", .shape = {-1, 3}});
  b.create({.name = "moment", .shape = {2, 3}, .persistable = true});
  b.create({.name = "table", .kind = VarKind::selected_rows, .shape = {9, 2}, .persistable = true});
  b.create({.name = "reader", .kind = VarKind::reader, .persistable = true, .foreign = "parts"});
  const auto role_of = [](int32_t r) {
    return Attrs{{"op_role", r}, {"op_role_var", Strings{}}, {"op_namescope", std::string("/")}};
  };
  Op mul{"mul", {{"X", {"x"}}, {"Y", {"fc_0.w_0"}}}, {{"Out", {"fc_0.tmp_0"}}}, role_of(0)};
  mul.attrs.set("x_num_col_dims", 1);
  mul.attrs.set("op_callstack", Strings{"line 1", "line 2"});
  b.adopt(mul);
  Op drop{"dropout", {{"X", {"fc_0.tmp_0"}}}, {{"Out", {"out/scaled"}}}, role_of(0)};
  drop.attrs.set("is_test", false);
  drop.attrs.set("dropout_prob", -0.f);
  b.adopt(drop);
  Op every{"every_kind", {}, {{"Out", {"moment"}}}, role_of(role::optimize | role::lr_sched)};
  every.attrs.set("s", std::string("a \"quoted\"\nline"));
  every.attrs.set("ints", Ints{1, -2});
  every.attrs.set("floats", Floats{0.1f, -0.f, 1e-30f});
  every.attrs.set("bools", Bools{true, false, true});
  every.attrs.set("block", BlockRef{1});
  every.attrs.set("long", int64_t{1} << 40);
  every.attrs.set("blocks", BlockRefs{{0, 1}});
  every.attrs.set("longs", Longs{-1, int64_t{1} << 50});
  every.is_target = true;
  every.foreign = "rest";
  b.adopt(every);
  Block& sub = p.append_block(0);
  sub.forward_block_idx = 0;
  sub.foreign = "sub";
  sub.create({.name = "inner", .shape = {1}});
  sub.adopt({"increment", {{"X", {"inner"}}}, {{"Out", {"inner"}}}, role_of(role::backward)});
  return p;
}

inline bool same_program(const Program& a, const Program& b) {
  if (a.num_blocks() != b.num_blocks() || a.random_seed != b.random_seed ||
      a.version != b.version || a.version_field != b.version_field || a.foreign != b.foreign)
    return false;
  for (size_t i = 0; i < a.num_blocks(); ++i) {
    const Block& x = a.block(static_cast<int32_t>(i));
    const Block& y = b.block(static_cast<int32_t>(i));
    const auto equal = [](const auto& l, const auto& r) { return *l == *r; };
    if (x.parent_idx() != y.parent_idx() || x.forward_block_idx != y.forward_block_idx ||
        x.foreign != y.foreign ||
        !std::equal(x.vars().begin(), x.vars().end(), y.vars().begin(), y.vars().end(), equal) ||
        !std::equal(x.ops().begin(), x.ops().end(), y.ops().begin(), y.ops().end(), equal))
      return false;
  }
  return true;
}

}  // namespace paddle
