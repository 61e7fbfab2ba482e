// What crosses the cut. Ops of Fluid's names stand in the two halves of a program and are never run
// as they are: a plan turns send and recv into `push` and `pull`, and a pserver reads
// listen_and_serv.
#include "ops/common.h"

namespace paddle {
namespace {

// Rows of X, one part per section.
template <class Sections>
void infer_split_rows(Infer& i, std::string_view attr) {
  const auto sections = i.attr<Sections>(attr);
  i.check(sections.size() == static_cast<size_t>(i.count_out("Out")), attr, " has ",
          sections.size(), " parts, but there are ", i.count_out("Out"), " outputs");
  i.check(i.shape("X").rank() >= 1, i.tell("X"), " has no rows to divide");
  int64_t rows = 0;
  for (const auto n : sections) rows += n;
  const bool sparse = i.in("X").kind == VarKind::selected_rows;
  const int64_t height = sparse ? i.in("X").height : i.shape("X")[0];
  i.check(height < 0 || rows == height, "the parts have ", rows, " rows together, but ",
          i.tell("X"), " has ", height);
  for (int k = 0; k < i.count_out("Out"); ++k) {
    Meta& part = i.out_meta("Out", k);
    part = i.in("X");
    const auto length = static_cast<int64_t>(sections[static_cast<size_t>(k)]);
    (sparse ? part.height : part.shape[0]) = length;
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
    remote_of(r).push(param, r[x], r.step);
  };
}

Kernel bind_pull(const Bind& b) {
  const Arg out = b.out("Out");
  return [out, param = b.attr<int32_t>("param")](const Run& r) {
    remote_of(r).pull(param, r[out], r.step);
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
       .attrs =
           {{"epmap", Strings{}}, {"recv_varnames", Strings{}}, {"trainer_id", 0}, {"param", -1}}},
      {.type = "send_barrier", .in = {{"X", list}}, .out = {{"Out", list}}, .attrs = barrier},
      {.type = "fetch_barrier", .in = {{"X", list}}, .out = {{"Out", list}}, .attrs = barrier},
      {.type = "split_byref",
       .in = {{"X"}},
       .out = {{"Out", SlotDef::many}},
       .attrs = {{"sections", Ints{}}, {"num", 0}, {"axis", 0}},
       .infer = [](Infer& i) { infer_split_rows<Ints>(i, "sections"); }},
      {.type = "split_selected_rows",
       .in = {{"X"}},
       .out = {{"Out", SlotDef::many}},
       .attrs = {{"height_sections", Longs{}}},
       .infer = [](Infer& i) { infer_split_rows<Longs>(i, "height_sections"); }},
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
      {.type = "pull",
       .in = {},
       .out = {{"Out"}},
       .attrs = {{"param", -1}},
       .bind = bind_pull,
       .required_attrs = {"param"}},
  };
}

}  // namespace paddle
