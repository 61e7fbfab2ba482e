// Embeddings: rows of a table, chosen by ids. The gradient touches only those rows, so with
// is_sparse it is selected rows: the ids where they are and Out's gradient where it is, no copy.
#include "kernels/memory.h"
#include "kernels/rows.h"
#include "ops/common.h"

namespace paddle {
namespace {

// lookup_table's Ids end in a dimension of 1 that Out drops; lookup_table_v2's do not.
bool trailing_one(const Infer& i) { return !i.op().type.starts_with("lookup_table_v2"); }

void check_table(const Infer& i) {
  const Shape &table = i.shape("W"), &ids = i.shape("Ids");
  i.check(table.rank() == 2, "W must be a matrix [rows, width], found ", i.describe("W"));
  i.check(i.dtype("Ids") == DType::i64, "Ids must be int64, found ", name_of(i.dtype("Ids")),
          " in ", i.describe("Ids"));
  const auto padding = i.attr<int64_t>("padding_idx");
  i.check(padding >= -1 && (table[0] < 0 || padding < table[0]), "padding_idx ", padding,
          " is no row of ", i.describe("W"), "; -1 means none");
  if (!trailing_one(i)) return;
  i.check(ids.rank() >= 1 && (ids[ids.rank() - 1] == 1 || ids[ids.rank() - 1] == -1),
          "the last dimension of Ids must be 1, found ", i.describe("Ids"), " for ",
          i.describe("W"));
}

void infer_lookup(Infer& i) {
  check_table(i);
  const Shape& ids = i.shape("Ids");
  Shape out = trailing_one(i) ? ids.slice(0, ids.rank() - 1) : ids;
  out.append(i.shape("W")[1]);
  i.out("Out", out, i.dtype("W"));
  i.share_lod("Ids", "Out");
}

void infer_lookup_grad(Infer& i) {
  check_table(i);
  const Shape& table = i.shape("W");
  const int64_t count = i.shape("Ids").numel(), found = i.shape("Out@GRAD").numel();
  i.check(count < 0 || found < 0 || table[1] < 0 || count * table[1] == found, "the gradient ",
          i.describe("Out@GRAD"), " does not fit ", i.describe("Ids"), " and ", i.describe("W"));
  if (i.attr<bool>("is_sparse"))
    i.out_rows("W@GRAD", {count, table[1]}, i.dtype("W"), table[0]);
  else
    i.out("W@GRAD", table, i.dtype("W"));
}

int64_t padding_of(const Bind& b) {
  const auto padding = b.attr<int64_t>("padding_idx");
  return padding == -1 ? no_padding : padding;
}

struct TableNames {
  std::string op, table, ids;
};

// The message is built only when it is needed: this stands on the hot path.
void check_ids(const Run& r, const TableNames& names, const View& ids, int64_t height,
               int64_t padding) {
  const int64_t bad = first_bad_id(r, ids.as<const int64_t>(), ids.numel(), height, padding);
  if (bad < 0) [[likely]]
    return;
  throw Error(Error::Kind::data, "op ", names.op, ": the id ",
              read_one(r, ids.as<const int64_t>() + bad), " at position ", bad, " of Ids (",
              names.ids, ") ", ids.shape, " is outside of W (", names.table,
              "), which has rows 0 to ", height - 1, ": correct the data or enlarge the table");
}

Kernel bind_lookup(const Bind& b) {
  const Arg table = b.in("W"), ids = b.in("Ids"), out = b.out("Out");
  const int64_t padding = padding_of(b);
  const TableNames names{b.op().type, b.op().in["W"][0], b.op().in["Ids"][0]};
  return with_float(b.dtype("W"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return [=](const Run& r) {
      const View& w = r[table];
      check_ids(r, names, r[ids], w.shape[0], padding);
      gather_rows(r, r[ids].as<const int64_t>(), r[ids].numel(), w.shape[1], w.as<const T>(),
                  r[out].as<T>(), padding);
    };
  });
}

// The ids were checked by the forward op.
template <class T>
Kernel sparse_grad(Arg ids, Arg dout, Arg dtable, int64_t padding) {
  return [=](const Run& r) {
    View& grad = r[dtable];
    const int64_t count = r[ids].numel(), width = grad.shape[1];
    copy(r, count * width, grad.as<T>(), r[dout].as<const T>());
    grad.rows = r[ids].as<const int64_t>();
    if (padding != no_padding) clear_rows(r, grad.rows, count, padding, width, grad.as<T>());
  };
}

template <class T>
Kernel dense_grad(Arg ids, Arg dout, Arg dtable, int64_t padding) {
  return [=](const Run& r) {
    const View& grad = r[dtable];
    const int64_t count = r[ids].numel(), width = grad.shape[1];
    const T* from = r[dout].as<const T>();
    // The forward op has looked at them, but a program may have the gradient alone.
    const int64_t* id = r[ids].as<const int64_t>();
    const int64_t bad = first_bad_id(r, id, count, grad.shape[0], padding);
    require(bad < 0, Error::Kind::data, "id ", bad < 0 ? 0 : read_one(r, id + bad), " at place ",
            bad, " of '", "Ids", "' is outside of a table of ", grad.shape[0], " rows");
    if (from == grad.data) {  // the plan may let them share memory where the sizes agree
      T* copy = r.scratch.get<T>(count * width);
      paddle::copy(r, count * width, copy, from);
      from = copy;
    }
    fill(r, grad.numel(), grad.as<T>(), T(0));
    scatter_add_rows(r, id, count, width, T(1), from, grad.as<T>(), padding);
  };
}

Kernel bind_lookup_grad(const Bind& b) {
  const Arg ids = b.in("Ids"), dout = b.in("Out@GRAD"), dtable = b.out("W@GRAD");
  if (!dtable) return [](const Run&) {};
  return with_float(b.dtype("Out@GRAD"), [&](auto t) -> Kernel {
    using T = decltype(t);
    return b.attr<bool>("is_sparse") ? sparse_grad<T>(ids, dout, dtable, padding_of(b))
                                     : dense_grad<T>(ids, dout, dtable, padding_of(b));
  });
}

// The rows of such a table are updated on the host: a copy for each lookup would be all of it.
bool is_sparse(const Op& op) { return op.attrs.get<bool>("is_sparse", false); }

void add(std::vector<OpDef>& defs, const std::string& type) {
  // The names after grad_inplace are the transpiler's: they travel with the op into the program.
  const Attrs attrs{
      {"is_sparse", false},       {"is_distributed", false},  {"padding_idx", int64_t{-1}},
      {"remote_prefetch", false}, {"grad_inplace", false},    {"trainer_id", 0},
      {"epmap", Strings{}},       {"table_names", Strings{}}, {"height_sections", Longs{}}};
  defs.push_back({.type = type,
                  .in = {{"W"}, {"Ids"}},
                  .out = {{"Out"}},
                  .attrs = attrs,
                  .infer = infer_lookup,
                  .bind = bind_lookup,
                  .grad = {type + "_grad", {"W", "Ids", "Out@GRAD"}, {"W@GRAD"}},
                  .on_host = is_sparse});
  defs.push_back({.type = type + "_grad",
                  .in = {{"W"}, {"Ids"}, {"Out@GRAD"}},
                  .out = {{"W@GRAD", SlotDef::optional}},
                  .attrs = attrs,
                  .infer = infer_lookup_grad,
                  .bind = bind_lookup_grad,
                  .inplace = {{"Out@GRAD", "W@GRAD"}},
                  .borrows = {{"Ids", "W@GRAD"}},
                  .shape_only = {"W"}});
}

}  // namespace

std::vector<OpDef> lookup_table_ops() {
  std::vector<OpDef> defs;
  add(defs, "lookup_table");
  add(defs, "lookup_table_v2");
  return defs;
}

}  // namespace paddle
