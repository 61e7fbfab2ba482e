// What crosses the cut. Ops of Fluid's names stand in the two halves of a program and are never run
// as they are: a plan turns send and recv into `push`, `await_answer` and `pull`, and a pserver
// reads listen_and_serv.
#include <numeric>

#include "ops/common.h"

namespace paddle {
namespace {

// Ranges of the rows of X, one part per section; split_byref does it for dense tensors.
void infer_split_rows(Infer& i) {
  i.check(i.in("X").kind == VarKind::selected_rows, i.describe("X"),
          " must hold selected rows, found a dense tensor");
  const auto sections = i.attr<Longs>("height_sections");
  i.check(sections.size() == static_cast<size_t>(i.count_out("Out")), "height_sections has ",
          sections.size(), " parts, but there are ", i.count_out("Out"), " outputs");
  const int64_t rows = std::accumulate(sections.begin(), sections.end(), int64_t{0});
  const int64_t height = i.in("X").height;
  i.check(rows == height, "the parts have ", rows, " rows together, but X (", i.op().in["X"][0],
          ") has ", height);
  for (int k = 0; k < i.count_out("Out"); ++k) {
    Meta& part = i.out_meta("Out", k);
    part = i.in("X");
    part.height = sections[static_cast<size_t>(k)];
  }
}

Remote& remote_of(const Run& r) {
  require(r.remote != nullptr, Error::Kind::config,
          "this program is the trainer's half of a cut, but no pservers are connected: run it in a "
          "trainer with --pservers, or run the program that was cut");
  return *r.remote;
}

Kernel bind_push(const Bind& b) {
  const Arg x = b.in("X");
  require(!b.is_rows("X"), Error::Kind::config, "cannot push '", b.op().in["X"][0],
          "': it holds selected rows, and shards take dense gradients");
  return [x, param = b.attr<int32_t>("param")](const Run& r) {
    remote_of(r).push(param, r[x], r.step());
  };
}

Kernel bind_await_answer(const Bind& b) {
  return [param = b.attr<int32_t>("param")](const Run& r) {
    remote_of(r).await_answer(param, r.step());
  };
}

Kernel bind_pull(const Bind& b) {
  const Arg out = b.out("Out");
  return [out, param = b.attr<int32_t>("param")](const Run& r) {
    remote_of(r).pull(param, r[out], r.step());
  };
}

constexpr int list = SlotDef::many | SlotDef::optional;

}  // namespace

std::vector<OpDef> remote_ops() {
  const Attrs barrier = {{"endpoints", Strings{}}, {"trainer_id", 0}, {"half_async", false}};
  return {
      {.type = "send",
       .in = {{"X", SlotDef::many}},
       .out = {{"Out", list}},
       .attrs = {{"epmap", Strings{}},
                 {"sections", Longs{}},
                 {"send_varnames", Strings{}},
                 {"trainer_id", 0},
                 {"param", -1}}},
      {.type = "recv",
       .in = {{"X", list}},
       .out = {{"Out", SlotDef::many}},
       .attrs = {{"epmap", Strings{}},
                 {"recv_varnames", Strings{}},
                 {"trainer_id", 0},
                 {"do_not_run", false},
                 {"param", -1}}},
      {.type = "send_barrier", .in = {{"X", list}}, .out = {{"Out", list}}, .attrs = barrier},
      {.type = "fetch_barrier", .in = {{"X", list}}, .out = {{"Out", list}}, .attrs = barrier},
      {.type = "split_selected_rows",
       .in = {{"X"}},
       .out = {{"Out", SlotDef::many}},
       .attrs = {{"height_sections", Longs{}}},
       .infer = infer_split_rows},
      {.type = "listen_and_serv",
       .in = {{"X", list}},
       .out = {},
       .attrs = {{"endpoint", std::string("127.0.0.1:6164")},
                 {"Fanin", 1},
                 {"sync_mode", true},
                 {"pserver_id", -1},
                 {"optimize_blocks", BlockRefs{}},
                 {"lr_decay_block_id", -1},
                 {"grad_to_block_id", Strings{}},
                 {"sparse_grad_to_param", Strings{}},
                 {"prefetch_var_name_to_block_id", Strings{}},
                 {"checkpint_block_id", -1},
                 {"dc_asgd", false}}},
      {.type = "push",
       .in = {{"X"}},
       .out = {},
       .attrs = {{"param", -1}},
       .bind = bind_push,
       .required_attrs = {"param"}},
      {.type = "await_answer",
       .in = {},
       .out = {},
       .attrs = {{"param", -1}},
       .bind = bind_await_answer,
       .required_attrs = {"param"}},
      {.type = "pull",
       .in = {},
       .out = {{"Out"}},
       .attrs = {{"param", -1}},
       .bind = bind_pull,
       .required_attrs = {"param"}},
  };
}

}  // namespace paddle
