#include "io/model_records.h"

#include <algorithm>

#include "io/program_check.h"

namespace paddle {

using namespace framework::proto;

namespace {

// The part of a type record that describes elements; null for kinds that have none.
const VarType::TensorDesc* tensor_of(const VarType& type) {
  switch (static_cast<VarKind>(type.type())) {
    case VarKind::lod_tensor: return type.has_lod_tensor() ? &type.lod_tensor().tensor() : nullptr;
    case VarKind::selected_rows: return type.has_selected_rows() ? &type.selected_rows() : nullptr;
    case VarKind::lod_tensor_array:
      return type.has_tensor_array() ? &type.tensor_array().tensor() : nullptr;
    default: return nullptr;
  }
}

// Whether a Var can hold what the record holds; if not, the record is carried along as it stands.
bool expressible(const VarType::TensorDesc& t) {
  return t.data_type() >= 0 && t.data_type() <= 255 &&
         size_of(static_cast<DType>(t.data_type())) > 0 && t.dims_size() <= Shape::max_rank;
}

// PaddlePaddle writes the product of an unknown length and others as it comes: -1 * 3 = -3.
bool odd_lengths(const VarType::TensorDesc& t) {
  return std::any_of(t.dims().begin(), t.dims().end(), [](int64_t dim) { return dim < -1; });
}

Var fields_of(const VarDesc& record) {
  const VarType& type = record.type();
  Var v;
  v.name = record.name();
  v.kind = static_cast<VarKind>(type.type());
  v.persistable = record.persistable();
  v.need_check_feed = record.need_check_feed();
  if (const VarType::TensorDesc* t = tensor_of(type); t && expressible(*t)) {
    v.dtype = static_cast<DType>(t->data_type());
    v.shape =
        Shape(std::span<const int64_t>(t->dims().data(), static_cast<size_t>(t->dims_size())));
    for (int d = 0; d < v.shape.rank(); ++d) v.shape[d] = std::max<int64_t>(v.shape[d], -1);
  }
  if (v.kind == VarKind::lod_tensor) v.lod_level = type.lod_tensor().lod_level();
  if (v.kind == VarKind::lod_tensor_array) v.lod_level = type.tensor_array().lod_level();
  return v;
}

void set_tensor(VarType::TensorDesc& t, const Var& v) {
  if (t.has_data_type() && !expressible(t)) return;
  t.set_data_type(static_cast<int32_t>(v.dtype));
  const auto same = [](int64_t was, int64_t now) { return std::max<int64_t>(was, -1) == now; };
  if (odd_lengths(t) &&
      std::equal(t.dims().begin(), t.dims().end(), v.shape.begin(), v.shape.end(), same))
    return;  // as it was read
  t.clear_dims();
  for (const int64_t dim : v.shape) t.add_dims(dim);
}

void set_type(VarType& type, const Var& v) {
  type.set_type(static_cast<int32_t>(v.kind));
  if (v.kind == VarKind::selected_rows) set_tensor(*type.mutable_selected_rows(), v);
  const auto with_lod = [&](auto& desc) {
    const bool saved_without = !v.foreign.empty() && desc.has_tensor() && !desc.has_lod_level();
    set_tensor(*desc.mutable_tensor(), v);
    if (v.lod_level != 0 || !saved_without) desc.set_lod_level(v.lod_level);
  };
  if (v.kind == VarKind::lod_tensor) with_lod(*type.mutable_lod_tensor());
  if (v.kind == VarKind::lod_tensor_array) with_lod(*type.mutable_tensor_array());
}

Names names_of(const OpDesc::Var& slot) {
  return {slot.arguments().begin(), slot.arguments().end()};
}

Attr value_of(const OpDesc::Attr& a, const std::string& op) {
  switch (a.type()) {
    case INT: return a.i();
    case FLOAT: return a.f();
    case STRING: return a.s();
    case INTS: return Ints(a.ints().begin(), a.ints().end());
    case FLOATS: return Floats(a.floats().begin(), a.floats().end());
    case STRINGS: return Strings(a.strings().begin(), a.strings().end());
    case BOOLEAN: return a.b();
    case BOOLEANS: return Bools(a.bools().begin(), a.bools().end());
    case BLOCK: return BlockRef{a.block_idx()};
    case LONG: return a.l();
    case BLOCKS: return BlockRefs{{a.blocks_idx().begin(), a.blocks_idx().end()}};
    case LONGS: return Longs(a.longs().begin(), a.longs().end());
    default:
      throw Error(Error::Kind::data, "the attribute '", a.name(), "' of an op '", op,
                  "' has type number ", a.type(),
                  ", expected 0 to 11; a later PaddlePaddle wrote it");
  }
}

struct SetValue {
  OpDesc::Attr& a;
  void operator()(int32_t v) const { a.set_i(v); }
  void operator()(float v) const { a.set_f(v); }
  void operator()(const std::string& v) const { a.set_s(v); }
  void operator()(const Ints& v) const { a.mutable_ints()->Add(v.begin(), v.end()); }
  void operator()(const Floats& v) const { a.mutable_floats()->Add(v.begin(), v.end()); }
  void operator()(const Strings& v) const {
    for (const std::string& s : v) a.add_strings(s);
  }
  void operator()(bool v) const { a.set_b(v); }
  void operator()(const Bools& v) const {
    for (const bool b : v) a.add_bools(b);
  }
  void operator()(BlockRef v) const { a.set_block_idx(v.index); }
  void operator()(int64_t v) const { a.set_l(v); }
  void operator()(const BlockRefs& v) const {
    a.mutable_blocks_idx()->Add(v.indices.begin(), v.indices.end());
  }
  void operator()(const Longs& v) const { a.mutable_longs()->Add(v.begin(), v.end()); }
};

template <class Record>
bool same(const Record& a, const Record& b) {
  return a.SerializePartialAsString() == b.SerializePartialAsString();
}

}  // namespace

Var var_of(const VarDesc& record) {
  Var v = fields_of(record);
  if (!same(record_of(v), record)) v.foreign = record.SerializePartialAsString();
  return v;
}

VarDesc record_of(const Var& v) {
  VarDesc out = carried<VarDesc>(v.foreign);
  if (out.has_type() && out.type().type() != static_cast<int32_t>(v.kind)) out.clear_type();
  out.set_name(v.name);
  // A tensor's record without a tensor's part stays so as long as it is not changed.
  const bool bare = out.has_type() && tensor_of(out.type()) == nullptr && v.dtype == DType::f32 &&
                    v.shape.rank() == 0 && v.lod_level == 0;
  if (!bare) set_type(*out.mutable_type(), v);
  if (v.persistable || out.has_persistable()) out.set_persistable(v.persistable);
  if (v.need_check_feed || out.has_need_check_feed()) out.set_need_check_feed(v.need_check_feed);
  return out;
}

Op op_of(const OpDesc& record, size_t blocks) {
  Op op;
  op.type = record.type();
  op.is_target = record.is_target();
  for (const OpDesc::Var& s : record.inputs()) add_slot(op.in, op.type, s.parameter(), names_of(s));
  for (const OpDesc::Var& s : record.outputs())
    add_slot(op.out, op.type, s.parameter(), names_of(s));
  for (const OpDesc::Attr& a : record.attrs())
    add_attr(op.attrs, op.type, a.name(), value_of(a, op.type), blocks);
  OpDesc rest = record;
  rest.clear_type();
  rest.clear_inputs();
  rest.clear_outputs();
  rest.clear_attrs();
  if (op.is_target) rest.clear_is_target();
  op.foreign = rest.SerializePartialAsString();
  return op;
}

OpDesc record_of(const Op& op) {
  OpDesc out = carried<OpDesc>(op.foreign);
  out.clear_inputs();
  out.clear_outputs();
  out.clear_attrs();
  out.set_type(op.type);
  const auto add_slots = [](const Slots& slots, auto* to) {
    for (const auto& [slot, names] : slots) {
      OpDesc::Var& s = *to->Add();
      s.set_parameter(slot);
      for (const std::string& n : names) s.add_arguments(n);
    }
  };
  add_slots(op.in, out.mutable_inputs());
  add_slots(op.out, out.mutable_outputs());
  for (const auto& [name, value] : op.attrs) {
    OpDesc::Attr& a = *out.add_attrs();
    a.set_name(name);
    a.set_type(static_cast<int32_t>(value.index()));
    std::visit(SetValue{a}, value);
  }
  if (op.is_target || out.has_is_target()) out.set_is_target(op.is_target);
  return out;
}

std::string first_missing(const ProgramDesc& program) {
  // Asked of one small record only: the list for a whole hostile file could fill the memory.
  const auto missing = [](const auto& record, const auto&... where) {
    const std::string all = record.InitializationErrorString();
    return text("'", all.substr(0, all.find(',')), "' in ", where...);
  };
  for (int b = 0; b < program.blocks_size(); ++b) {
    const BlockDesc& block = program.blocks(b);
    for (int i = 0; i < block.vars_size(); ++i)
      if (!block.vars(i).IsInitialized())
        return missing(block.vars(i), "variable ", i, " of block ", b);
    for (int i = 0; i < block.ops_size(); ++i)
      if (!block.ops(i).IsInitialized()) return missing(block.ops(i), "op ", i, " of block ", b);
    if (!block.has_idx() || !block.has_parent_idx())
      return text("'idx' or 'parent_idx' in block ", b);
  }
  return "a required field";
}

}  // namespace paddle
