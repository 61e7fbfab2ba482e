#include "graph/op_def.h"

#include <algorithm>
#include <map>

#include "base/suggest.h"
#include "graph/program.h"

namespace paddle {
namespace {

std::vector<std::string> names_of(const std::vector<SlotDef>& slots) {
  std::vector<std::string> out;
  for (const SlotDef& s : slots) out.push_back(s.name);
  return out;
}

void check_slots(const Slots& given, const std::vector<SlotDef>& defs, const char* kind,
                 bool outputs, std::vector<std::string>& problems) {
  for (const auto& [slot, names] : given) {
    const auto def = std::find_if(defs.begin(), defs.end(),
                                  [&slot = slot](const SlotDef& d) { return d.name == slot; });
    if (def == defs.end()) {
      if (names.empty()) continue;
      problems.push_back(text("there is no ", kind, " '", slot, "'",
                              did_you_mean(slot, names_of(defs)), ": the ", kind, "s are ",
                              listed(names_of(defs))));
    } else if (names.size() > 1 && !(def->flags & SlotDef::many)) {
      problems.push_back(
          text("the ", kind, " '", slot, "' takes one variable, found ", names.size()));
    }
  }
  for (const SlotDef& def : defs) {
    // An output that nobody asked for is not computed; only one that is neither optional nor
    // intermediate must be there.
    if (given[def.name].empty() && !(def.flags & SlotDef::optional) &&
        !(outputs && (def.flags & SlotDef::intermediate)))
      problems.push_back(text("the ", kind, " '", def.name, "' is missing"));
  }
}

// Gives the attribute the type of its default where nothing is lost (a job file says 1 for 1.0).
bool convert(Attr& value, const Attr& like) {
  if (value.index() == like.index()) return true;
  if (const auto* i = std::get_if<int32_t>(&value)) {
    if (std::holds_alternative<int64_t>(like)) return value = static_cast<int64_t>(*i), true;
    if (std::holds_alternative<float>(like)) return value = static_cast<float>(*i), true;
    if (std::holds_alternative<bool>(like) && (*i == 0 || *i == 1)) return value = (*i == 1), true;
  }
  if (const auto* l = std::get_if<int64_t>(&value)) {
    if (std::holds_alternative<int32_t>(like) && *l == static_cast<int32_t>(*l))
      return value = static_cast<int32_t>(*l), true;
    if (std::holds_alternative<float>(like)) return value = static_cast<float>(*l), true;
  }
  if (const auto* b = std::get_if<bool>(&value); b && std::holds_alternative<int32_t>(like))
    return value = static_cast<int32_t>(*b), true;
  if (const auto* is = std::get_if<Ints>(&value)) {
    if (std::holds_alternative<Longs>(like)) return value = Longs(is->begin(), is->end()), true;
    if (std::holds_alternative<Floats>(like)) return value = Floats(is->begin(), is->end()), true;
    if (is->empty() && like.index() >= 3) return value = like, true;
  }
  if (const auto* ls = std::get_if<Longs>(&value); ls && std::holds_alternative<Ints>(like)) {
    const Ints narrow(ls->begin(), ls->end());
    if (Longs(narrow.begin(), narrow.end()) == *ls) return value = narrow, true;
  }
  return false;
}

void check_attrs(Op& op, const OpDef& def, std::vector<std::string>& problems) {
  for (const auto& [name, fallback] : def.attrs) {
    const Attr* given = op.attrs.find(name);
    if (given == nullptr) {
      if (std::count(def.required_attrs.begin(), def.required_attrs.end(), name))
        problems.push_back(text("the attribute '", name, "' is missing"));
      op.attrs.set(name, fallback);
      continue;
    }
    Attr value = *given;
    if (!convert(value, fallback))
      problems.push_back(text("the attribute '", name, "' must be ",
                              attr_type_name(fallback.index()), ", found ",
                              attr_type_name(given->index()), " ", attr_text(*given)));
    else
      op.attrs.set(name, std::move(value));
  }
}

Meta meta_of(const Var& v) {
  Meta m{.kind = v.kind, .dtype = v.dtype, .shape = v.shape, .lod_level = v.lod_level};
  if (v.kind == VarKind::selected_rows && v.shape.rank() > 0) {
    m.height = v.shape[0];  // a variable of selected rows carries the whole table's shape
    m.shape[0] = -1;
  }
  return m;
}

}  // namespace

const OpDef& op_def(std::string_view type) {
  if (const OpDef* def = find_op_def(type)) return *def;
  throw Error(Error::Kind::config, "there is no op '", type, "'", did_you_mean(type, op_types()));
}

void conform(Op& op) {
  const OpDef& def = op_def(op.type);
  std::vector<std::string> problems;
  check_slots(op.in, def.in, "input", false, problems);
  check_slots(op.out, def.out, "output", true, problems);
  check_attrs(op, def, problems);
  if (problems.empty()) return;
  std::string all;
  for (const std::string& p : problems) all += (all.empty() ? "" : "; ") + p;
  throw Error(Error::Kind::config, "op ", op.type, ": ", all);
}

void add_default_attrs(Op& op) {
  const OpDef* def = find_op_def(op.type);
  if (def == nullptr) return;
  for (const auto& [name, fallback] : def->attrs) {
    const auto& needed = def->required_attrs;
    if (!op.attrs.has(name) && std::count(needed.begin(), needed.end(), name) == 0)
      op.attrs.set(name, fallback);
  }
}

void infer_op(const Op& op, const Block& block) {
  const OpDef& def = op_def(op.type);
  if (def.infer == nullptr) return;
  const Names in_names = op.in.all(), out_names = op.out.all();
  std::vector<Meta> metas;
  metas.reserve(in_names.size() + out_names.size());
  for (const std::string& n : in_names)
    metas.push_back(n == empty_name ? Meta{} : meta_of(block.var(n)));
  for (const std::string& n : out_names)
    metas.push_back(n == empty_name ? Meta{} : meta_of(block.var(n)));
  std::vector<Meta*> pointers;
  for (Meta& m : metas) pointers.push_back(&m);
  const auto split = static_cast<size_t>(in_names.size());
  Infer infer(op, std::span(pointers).first(split), std::span(pointers).subspan(split));
  try {
    check_gradients(infer);
    def.infer(infer);
  } catch (Error& e) {
    throw e.within("adding ", op_with_origin(op));
  }
  for (size_t i = 0; i < out_names.size(); ++i) {
    if (out_names[i] == empty_name) continue;
    Var& v = block.var(out_names[i]);
    const Meta& m = metas[split + i];
    v.kind = m.kind;
    v.dtype = m.dtype;
    v.lod_level = m.lod_level;
    v.shape = m.shape;
    if (m.kind == VarKind::selected_rows && v.shape.rank() > 0) v.shape[0] = m.height;
  }
}

namespace {

// The op whose gradient an op type computes, or null.
const OpDef* forward_of(const std::string& type) {
  static const std::map<std::string, const OpDef*, std::less<>> all = [] {
    std::map<std::string, const OpDef*, std::less<>> by_gradient;
    for (const std::string& t : op_types()) {
      const OpDef& def = op_def(t);
      if (!def.grad.type.empty()) by_gradient.emplace(def.grad.type, &def);
    }
    return by_gradient;
  }();
  const auto it = all.find(type);
  return it == all.end() ? nullptr : it->second;
}

// Fails where a variable of `slot` is not as its forward op says.
void check_like(const Infer& i, const std::string& slot, int k, const Meta& expected) {
  if (i.op().in[slot][static_cast<size_t>(k)] == empty_name) return;
  const Meta& found = i.in(slot, k);
  if (found.kind != VarKind::lod_tensor) return;
  i.check(expected.shape.compatible(found.shape) && expected.dtype == found.dtype, "expected ",
          name_of(expected.dtype), " ", expected.shape, " by the forward op, found ",
          name_of(found.dtype), " in ", i.describe(slot, k));
}

}  // namespace

void check_gradients(const Infer& i) {
  const OpDef* forward = forward_of(i.op().type);
  if (forward == nullptr) return;
  // What the forward op would give, where all its inputs are here.
  Op op{.type = forward->type, .attrs = forward->attrs};
  for (const auto& [name, value] : i.op().attrs)
    if (op.attrs.has(name)) op.attrs.set(name, value);
  std::vector<Meta> metas;
  bool whole = true;
  for (const SlotDef& slot : forward->in) {
    if (!i.has(slot.name)) {
      whole = whole && (slot.flags & SlotDef::optional) != 0;
      continue;
    }
    op.in.set(slot.name, i.op().in[slot.name]);
    for (int k = 0; k < i.count(slot.name); ++k) metas.push_back(i.in(slot.name, k));
  }
  const size_t split = metas.size();
  for (const SlotDef& slot : forward->out) {
    const std::string gradient = slot.name + "@GRAD";
    const int count = i.has(gradient) ? i.count(gradient) : 0;
    for (int k = 0; k < count && i.has(slot.name); ++k)
      check_like(i, gradient, k, i.in(slot.name, k));
    op.out.set(slot.name, Names(static_cast<size_t>(std::max(count, 1)), slot.name));
    metas.resize(metas.size() + static_cast<size_t>(std::max(count, 1)));
  }
  if (!whole) return;
  std::vector<Meta*> pointers;
  for (Meta& m : metas) pointers.push_back(&m);
  Infer would(op, std::span(pointers).first(split), std::span(pointers).subspan(split));
  forward->infer(would);
  for (const SlotDef& slot : forward->out) {
    const std::string gradient = slot.name + "@GRAD";
    for (int k = 0; i.has(gradient) && k < i.count(gradient); ++k)
      check_like(i, gradient, k, would.out_meta(slot.name, k));
    if (i.has(slot.name)) check_like(i, slot.name, 0, would.out_meta(slot.name));
  }
}

}  // namespace paddle
