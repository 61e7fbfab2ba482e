#include "graph/text.h"

#include "graph/op_def.h"

namespace paddle {
namespace {

bool is_default(const Attrs::Entry& attr, const OpDef* def) {
  const auto& [name, value] = attr;
  if (name == role::callstack_attr) return true;  // where a script stood, not what the op does
  if (name == role::attr) return true;            // shown as the role
  if (name == role::var_attr) return value == Attr(Strings{});
  if (name == role::scope_attr) return value == Attr(std::string("/"));
  const Attr* given = def ? def->attrs.find(name) : nullptr;
  return given != nullptr && *given == value;
}

std::string attrs_text(const Op& op) {
  const OpDef* def = find_op_def(op.type);
  std::string out;
  for (const Attrs::Entry& a : op.attrs)
    if (!is_default(a, def))
      out += text(out.empty() ? "" : ", ", a.first, "=", attr_text(a.second));
  return out.empty() ? out : " {" + out + "}";
}

std::string param_text(const ParamInfo& p) {
  std::string out = p.trainable ? "" : ", fixed";
  if (p.learning_rate != 1) out += text(", learning rate x ", p.learning_rate);
  if (p.regularizer.kind != Regularizer::Kind::none)
    out +=
        text(p.regularizer.kind == Regularizer::Kind::l1 ? ", l1 " : ", l2 ", p.regularizer.coeff);
  switch (p.clip.kind) {
    case GradientClip::Kind::none: break;
    case GradientClip::Kind::value:
      out += text(", clipped to ", p.clip.min, " .. ", p.clip.max);
      break;
    case GradientClip::Kind::norm: out += text(", norm clipped to ", p.clip.max); break;
    case GradientClip::Kind::global_norm:
      out += text(", global norm clipped to ", p.clip.max, " in '", p.clip.group, "'");
      break;
  }
  return out;
}

bool has_elements(VarKind kind) {
  return kind == VarKind::lod_tensor || kind == VarKind::selected_rows ||
         kind == VarKind::lod_tensor_array;
}

}  // namespace

std::string escaped(std::string_view s) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 32 || u == 127) {
      out += "\\x";
      out += digits[u >> 4];
      out += digits[u & 15];
    } else {
      out += c;
    }
  }
  return out;
}

std::string name_of(VarKind kind) {
  switch (kind) {
    case VarKind::lod_tensor: return "lod_tensor";
    case VarKind::selected_rows: return "selected_rows";
    case VarKind::feed_minibatch: return "feed_minibatch";
    case VarKind::fetch_list: return "fetch_list";
    case VarKind::step_scopes: return "step_scopes";
    case VarKind::lod_rank_table: return "lod_rank_table";
    case VarKind::lod_tensor_array: return "lod_tensor_array";
    case VarKind::place_list: return "place_list";
    case VarKind::reader: return "reader";
    case VarKind::raw: return "raw";
  }
  return text("kind ", static_cast<int32_t>(kind));
}

std::string role_text(int32_t r) {
  if (r == role::forward) return "forward";
  struct Bit {
    int32_t value;
    const char* name;
  };
  static constexpr Bit bits[] = {{role::backward, "backward"},
                                 {role::optimize, "optimize"},
                                 {role::rpc, "rpc"},
                                 {role::dist, "dist"},
                                 {role::lr_sched, "lr_sched"},
                                 {role::loss, "loss"},
                                 {role::not_specified, "not_specified"}};
  std::string out;
  for (const Bit& b : bits) {
    if ((r & b.value) == 0) continue;
    out += text(out.empty() ? "" : "|", b.name);
    r &= ~b.value;
  }
  return r == 0 ? out : out + text(out.empty() ? "" : "|", r);
}

std::string var_text(const Var& v) {
  std::string out = v.param ? "param " : "var ";
  out += v.name + ":";
  if (v.kind != VarKind::lod_tensor) out += text(" ", name_of(v.kind));
  if (has_elements(v.kind)) out += text(" ", name_of(v.dtype), " ", v.shape);
  if (v.lod_level > 0) out += text(", lod ", v.lod_level);
  if (v.persistable) out += ", persistable";
  if (v.stop_gradient) out += ", stop_gradient";
  if (v.need_check_feed) out += ", need_check_feed";
  if (v.param) out += param_text(*v.param);
  return escaped(out);
}

std::string program_text(const Program& program) {
  std::string out =
      text("program: ", program.num_blocks(), program.num_blocks() == 1 ? " block" : " blocks",
           ", random seed ", program.random_seed, "\n");
  for (size_t b = 0; b < program.num_blocks(); ++b) {
    const Block& block = program.block(static_cast<int32_t>(b));
    out += text("block ", b, " (parent ", block.parent_idx());
    if (block.forward_block_idx >= 0) out += text(", forward ", block.forward_block_idx);
    out += ")\n";
    for (const auto& v : block.vars()) out += text("  ", var_text(*v), "\n");
    for (size_t i = 0; i < block.ops().size(); ++i) {
      const Op& op = *block.ops()[i];
      std::string line = text("op ", i, " ", op_text(op), attrs_text(op));
      if (op.attrs.get<int32_t>(role::attr, 0) != role::forward)
        line += text(" ", role_text(op.role()));
      if (op.is_target) line += " target";
      out += text("  ", escaped(line), "\n");
    }
  }
  return out;
}

std::string outline_text(const Program& program) {
  std::string out = text("random seed ", program.random_seed, "\n");
  for (size_t b = 0; b < program.num_blocks(); ++b) {
    const Block& block = program.block(static_cast<int32_t>(b));
    for (const auto& v : block.vars())
      if (v->param) out += var_text(*v) + "\n";
    for (const auto& op : block.ops())
      if ((op->role() & role::backward) == 0)
        out += escaped(text("op ", op_text(*op), attrs_text(*op))) + "\n";
  }
  return out;
}

}  // namespace paddle
