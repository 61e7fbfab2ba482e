#include "graph/dot.h"

#include <map>
#include <set>

#include "graph/text.h"

namespace paddle {
namespace {

// Inside a quoted label: control characters readable, then quotes and backslashes kept literal.
std::string quotable(std::string_view s) {
  std::string out;
  for (const char c : escaped(s)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string label(std::string_view s) { return '"' + quotable(s) + '"'; }
std::string label(std::string_view first, std::string_view second) {
  return '"' + quotable(first) + "\\n" + quotable(second) + '"';
}

const char* colour_of(int32_t r) {
  if (r & role::lr_sched) return "khaki";
  if (r & (role::rpc | role::dist)) return "plum";
  if (r & role::optimize) return "palegreen";
  if (r & role::backward) return "lightsalmon";
  if (r & role::loss) return "gold";
  return "lightblue";
}

// Writes one graph; variables get their node in the block that declares them.
class Drawing {
 public:
  explicit Drawing(const Program& program) : program_(program) {}

  std::string draw() {
    out_ = "digraph program {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n";
    for (size_t b = 0; b < program_.num_blocks(); ++b) {
      const Block& block = program_.block(static_cast<int32_t>(b));
      if (b > 0) out_ += text("  subgraph cluster_", b, " {\n  label=\"block ", b, "\";\n");
      for (const auto& v : block.vars()) add_var(*v);
      for (size_t i = 0; i < block.ops().size(); ++i) add_op(block, i);
      if (b > 0) out_ += "  }\n";
    }
    return out_ + edges_ + "}\n";
  }

 private:
  void add_var(const Var& v) {
    const std::string id = text("v", vars_.size());
    vars_[&v] = id;
    const std::string type =
        v.kind == VarKind::lod_tensor ? name_of(v.dtype) + " " + v.shape.str() : name_of(v.kind);
    out_ += text("  ", id, " [shape=ellipse, label=", label(v.name, type));
    if (v.param) out_ += ", style=filled, fillcolor=lightgrey";
    if (!v.param && v.persistable) out_ += ", peripheries=2";
    out_ += "];\n";
  }

  // The node of a name; one drawn dashed where the program does not declare it.
  std::string node(const Block& block, const std::string& name) {
    if (const Var* v = block.find(name)) return vars_.at(v);
    const auto [it, fresh] = unknown_.emplace(name, text("u", unknown_.size()));
    if (fresh)
      edges_ +=
          text("  ", it->second, " [shape=ellipse, style=dashed, label=", label(name), "];\n");
    return it->second;
  }

  void add_op(const Block& block, size_t index) {
    const Op& op = *block.ops()[index];
    const std::string id = text("o", block.idx(), "_", index);
    out_ += text("  ", id, " [shape=box, style=filled, fillcolor=", colour_of(op.role()),
                 ", label=", label(op.type), ", tooltip=", label(role_text(op.role())), "];\n");
    for (const auto& [slot, names] : op.in)
      for (const std::string& n : names)
        if (n != empty_name)
          edges_ += text("  ", node(block, n), " -> ", id, " [label=", label(slot), "];\n");
    for (const auto& [slot, names] : op.out)
      for (const std::string& n : names)
        if (n != empty_name)
          edges_ += text("  ", id, " -> ", node(block, n), " [label=", label(slot), "];\n");
  }

  const Program& program_;
  std::map<const Var*, std::string> vars_;
  std::map<std::string, std::string> unknown_;
  std::string out_, edges_;
};

}  // namespace

std::string program_dot(const Program& program) { return Drawing(program).draw(); }

}  // namespace paddle
