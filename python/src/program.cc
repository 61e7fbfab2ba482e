// Programs, blocks, variables and ops.
#include "graph/program.h"

#include "base/suggest.h"
#include "bindings.h"
#include "graph/dot.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "io/model_file.h"
#include "io/portable.h"
#include "io/program_buffer.h"
#include "io/save.h"

namespace paddle {
namespace {

// A variable, looked up by name at each use.
struct PyVar {
  ProgramPtr program;
  int32_t block = 0;
  std::string name;
  Var& get() const { return program->block(block).var(name); }
  // For changes: plans made before are stale then.
  Var& change() const {
    Var& v = get();
    program->touch();
    return v;
  }
};

ParamInfo& param_of(Var& v) {
  require(v.param.has_value(), Error::Kind::config, "the variable '", v.name, "' is no parameter");
  return *v.param;
}

std::string kind_text(VarKind kind) { return name_of(kind); }

VarKind kind_of(const std::string& name) {
  Names known;
  for (int i = 7; i <= 17; ++i) {
    if (i == 16) continue;
    known.push_back(name_of(static_cast<VarKind>(i)));
    if (known.back() == name) return static_cast<VarKind>(i);
  }
  throw Error(Error::Kind::config, "there is no kind of variable '", name, "'",
              did_you_mean(name, known));
}

Regularizer regularizer_of(const py::object& o) {
  if (o.is_none()) return {};
  const auto [kind, coeff] = o.cast<std::pair<std::string, float>>();
  require(kind == "l1" || kind == "l2", Error::Kind::config,
          "a regularizer is ('l1' or 'l2', coefficient), found '", kind, "'");
  return {kind == "l1" ? Regularizer::Kind::l1 : Regularizer::Kind::l2, coeff};
}

py::object object_of(const Regularizer& r) {
  if (r.kind == Regularizer::Kind::none) return py::none();
  return py::make_tuple(r.kind == Regularizer::Kind::l1 ? "l1" : "l2", r.coeff);
}

py::object object_of(const GradientClip& c) {
  if (c.kind == GradientClip::Kind::none) return py::none();
  py::dict d;
  d["type"] = c.kind == GradientClip::Kind::value  ? "value"
              : c.kind == GradientClip::Kind::norm ? "norm"
                                                   : "global_norm";
  d["max"] = c.max;
  if (c.kind == GradientClip::Kind::value) d["min"] = c.min;
  if (c.kind == GradientClip::Kind::global_norm) d["group"] = c.group;
  return d;
}

Op make_op(const std::string& type, const py::dict& inputs, const py::dict& outputs,
           const py::dict& attrs) {
  Op op{.type = type, .in = slots_of(inputs), .out = slots_of(outputs)};
  const OpDef* def = find_op_def(type);
  for (const auto& [key, value] : attrs) {
    const auto name = key.cast<std::string>();
    if (value.is_none()) continue;
    op.attrs.set(name, attr_of(value, name, def ? def->attrs.find(name) : nullptr));
  }
  return op;
}

Names slot_names(const Slots& slots) {
  Names out;
  for (const auto& [slot, names] : slots) out.push_back(slot);
  return out;
}

void bind_var(py::module_& m) {
  const auto field = [](auto member) {
    return [member](const PyVar& v) { return v.get().*member; };
  };
  const auto assign = [](auto member) {
    return [member](const PyVar& v, std::decay_t<decltype(std::declval<Var>().*member)> value) {
      v.change().*member = value;
    };
  };
  py::class_<PyVar>(m, "Var")
      .def_readonly("name", &PyVar::name)
      .def_property(
          "dtype", [](const PyVar& v) { return name_of(v.get().dtype); },
          [](const PyVar& v, const std::string& dtype) { v.change().dtype = dtype_of(dtype); })
      .def_property(
          "shape", [](const PyVar& v) { return tuple_of(v.get().shape); },
          [](const PyVar& v, const py::object& shape) { v.change().shape = shape_of(shape); })
      .def_property(
          "kind", [](const PyVar& v) { return kind_text(v.get().kind); },
          [](const PyVar& v, const std::string& kind) { v.change().kind = kind_of(kind); })
      .def_property("lod_level", field(&Var::lod_level), assign(&Var::lod_level))
      .def_property("persistable", field(&Var::persistable), assign(&Var::persistable))
      .def_property("stop_gradient", field(&Var::stop_gradient), assign(&Var::stop_gradient))
      .def_property_readonly("can_be_saved", [](const PyVar& v) { return can_be_saved(v.get()); })
      .def_property_readonly("is_parameter",
                             [](const PyVar& v) { return v.get().param.has_value(); })
      .def_property(
          "trainable", [](const PyVar& v) { return param_of(v.get()).trainable; },
          [](const PyVar& v, bool t) { param_of(v.change()).trainable = t; })
      .def_property(
          "learning_rate", [](const PyVar& v) { return param_of(v.get()).learning_rate; },
          [](const PyVar& v, float r) { param_of(v.change()).learning_rate = r; })
      .def_property(
          "regularizer", [](const PyVar& v) { return object_of(param_of(v.get()).regularizer); },
          [](const PyVar& v, const py::object& r) {
            param_of(v.change()).regularizer = regularizer_of(r);
          })
      .def_property_readonly("gradient_clip",
                             [](const PyVar& v) { return object_of(param_of(v.get()).clip); })
      .def_property(
          "model_average", [](const PyVar& v) { return param_of(v.get()).model_average; },
          [](const PyVar& v, bool t) { param_of(v.change()).model_average = t; })
      .def("text", [](const PyVar& v) { return var_text(v.get()); })
      .def("record_text", [](const PyVar& v) { return record_text(v.get()); });
}

void bind_op(py::module_& m) {
  py::class_<PyOp>(m, "Op")
      .def_property_readonly("type", [](const PyOp& o) { return o.get().type; })
      .def("input", [](const PyOp& o, const std::string& slot) { return o.get().in[slot]; })
      .def("output", [](const PyOp& o, const std::string& slot) { return o.get().out[slot]; })
      .def("set_input",
           [](const PyOp& o, const std::string& slot, Names names) {
             o.get().in.set(slot, std::move(names));
             o.program->touch();
           })
      .def("set_output",
           [](const PyOp& o, const std::string& slot, Names names) {
             o.get().out.set(slot, std::move(names));
             o.program->touch();
           })
      .def_property_readonly("input_names", [](const PyOp& o) { return slot_names(o.get().in); })
      .def_property_readonly("output_names", [](const PyOp& o) { return slot_names(o.get().out); })
      .def_property_readonly("input_arg_names", [](const PyOp& o) { return o.get().in.all(); })
      .def_property_readonly("output_arg_names", [](const PyOp& o) { return o.get().out.all(); })
      .def("rename_input",
           [](const PyOp& o, const std::string& from, const std::string& to) {
             o.get().in.rename(from, to);
             o.program->touch();
           })
      .def("rename_output",
           [](const PyOp& o, const std::string& from, const std::string& to) {
             o.get().out.rename(from, to);
             o.program->touch();
           })
      .def("has_attr",
           [](const PyOp& o, const std::string& name) { return o.get().attrs.has(name); })
      .def("attr",
           [](const PyOp& o, const std::string& name) {
             const Op& op = o.get();
             const Attr* a = op.attrs.find(name);
             if (a != nullptr) return object_of(*a);
             Names known;
             for (const auto& [key, value] : op.attrs) known.push_back(key);
             throw Error(Error::Kind::config, "op ", op.type, " has no attribute '", name, "'",
                         did_you_mean(name, known));
           })
      .def("attrs",
           [](const PyOp& o) {
             py::dict out;
             for (const auto& [key, value] : o.get().attrs) out[py::str(key)] = object_of(value);
             return out;
           })
      .def("set_attr",
           [](const PyOp& o, const std::string& name, const py::object& value) {
             Op& op = o.get();
             const Attr* like = op.attrs.find(name);
             op.attrs.set(name, attr_of(value, name, like));
             o.program->touch();
           })
      .def("remove_attr",
           [](const PyOp& o, const std::string& name) {
             o.get().attrs.remove(name);
             o.program->touch();
           })
      .def_property(
          "is_target", [](const PyOp& o) { return o.get().is_target; },
          [](const PyOp& o, bool t) { o.get().is_target = t; })
      .def_property(
          "origin", [](const PyOp& o) { return o.get().origin; },
          [](const PyOp& o, const std::string& origin) { o.get().origin = origin; })
      .def("index", &PyOp::index)
      .def("text", [](const PyOp& o) { return op_text(o.get()); })
      .def("record_text", [](const PyOp& o) { return record_text(o.get()); })
      .def("__hash__", [](const PyOp& o) { return std::hash<const void*>()(o.op); })
      .def("__eq__", [](const PyOp& a, const PyOp& b) { return a.op == b.op; });
}

void bind_block(py::module_& m) {
  py::class_<PyBlock>(m, "Block")
      .def_readonly("idx", &PyBlock::idx)
      .def("record_text", [](const PyBlock& b) { return record_text(b.get()); })
      .def_property_readonly("parent_idx", [](const PyBlock& b) { return b.get().parent_idx(); })
      .def("var_names",
           [](const PyBlock& b) {
             Names out;
             for (const auto& v : b.get().vars()) out.push_back(v->name);
             return out;
           })
      .def("has_local", [](const PyBlock& b,
                           const std::string& name) { return b.get().find_local(name) != nullptr; })
      .def("has",
           [](const PyBlock& b, const std::string& name) { return b.get().find(name) != nullptr; })
      .def("var",
           [](const PyBlock& b, const std::string& name) {
             b.get().var(name);  // throws where there is none
             return PyVar{b.program, b.idx, name};
           })
      .def(
          "create_var",
          [](const PyBlock& b, const std::string& name, const std::string& dtype,
             const py::object& shape, const std::string& kind, int32_t lod_level, bool persistable,
             bool stop_gradient) {
            b.get().create({.name = name,
                            .kind = kind_of(kind),
                            .dtype = dtype_of(dtype),
                            .shape = shape_of(shape),
                            .lod_level = lod_level,
                            .persistable = persistable,
                            .stop_gradient = stop_gradient});
            return PyVar{b.program, b.idx, name};
          },
          py::arg("name"), py::arg("dtype") = "float32", py::arg("shape") = py::tuple(),
          py::arg("kind") = "lod_tensor", py::arg("lod_level") = 0, py::arg("persistable") = false,
          py::arg("stop_gradient") = false)
      .def(
          "create_parameter",
          [](const PyBlock& b, const std::string& name, const std::string& dtype,
             const py::object& shape, bool trainable, float learning_rate,
             const py::object& regularizer) {
            Var v{.name = name,
                  .dtype = dtype_of(dtype),
                  .shape = shape_of(shape),
                  .persistable = true};
            v.param = ParamInfo{.trainable = trainable,
                                .learning_rate = learning_rate,
                                .regularizer = regularizer_of(regularizer)};
            b.get().create(std::move(v));
            return PyVar{b.program, b.idx, name};
          },
          py::arg("name"), py::arg("dtype"), py::arg("shape"), py::arg("trainable") = true,
          py::arg("learning_rate") = 1.0f, py::arg("regularizer") = py::none())
      .def("remove_var",
           [](const PyBlock& b, const std::string& name) { b.get().remove_var(name); })
      .def("rename_var", [](const PyBlock& b, const std::string& from,
                            const std::string& to) { b.get().rename_var(from, to); })
      .def_property_readonly("num_ops", [](const PyBlock& b) { return b.get().ops().size(); })
      .def("op",
           [](const PyBlock& b, size_t i) {
             const auto& ops = b.get().ops();
             if (i >= ops.size()) throw py::index_error("there is no op " + std::to_string(i));
             return op_handle(b.program, b.idx, *ops[i]);
           })
      .def(
          "append_op",
          [](const PyBlock& b, const std::string& type, const py::dict& inputs,
             const py::dict& outputs, const py::dict& attrs) {
            return op_handle(b.program, b.idx,
                             b.get().append(make_op(type, inputs, outputs, attrs)));
          },
          py::arg("type"), py::arg("inputs") = py::dict(), py::arg("outputs") = py::dict(),
          py::arg("attrs") = py::dict())
      .def(
          "insert_op",
          [](const PyBlock& b, size_t i, const std::string& type, const py::dict& inputs,
             const py::dict& outputs, const py::dict& attrs) {
            require(i <= b.get().ops().size(), Error::Kind::config, "cannot insert op ", type,
                    " at ", i, ": the block has ", b.get().ops().size(), " ops");
            return op_handle(b.program, b.idx,
                             b.get().insert(i, make_op(type, inputs, outputs, attrs)));
          },
          py::arg("index"), py::arg("type"), py::arg("inputs") = py::dict(),
          py::arg("outputs") = py::dict(), py::arg("attrs") = py::dict())
      .def("remove_op", [](const PyBlock& b, size_t i) {
        require(i < b.get().ops().size(), Error::Kind::config, "there is no op ", i,
                " to remove: the block has ", b.get().ops().size());
        b.get().remove_op(i);
      });
}

}  // namespace

size_t PyOp::index() const {
  const auto& ops = program->block(block).ops();
  for (size_t i = 0; i < ops.size(); ++i)
    if (ops[i].get() == op) return i;
  throw Error(Error::Kind::config, "this op was removed from its program");
}

Op& PyOp::get() const { return *program->block(block).ops()[index()]; }

PyOp op_handle(const ProgramPtr& program, int32_t block, const Op& op) {
  return {program, block, &op};
}

void bind_program(py::module_& m) {
  bind_var(m);
  bind_op(m);
  bind_block(m);
  py::class_<PyProgram, ProgramPtr>(m, "Program")
      .def(py::init<>())
      .def_property(
          "random_seed", [](const PyProgram& p) { return p.random_seed; },
          [](PyProgram& p, uint32_t seed) {
            p.random_seed = seed;
            p.touch();
          })
      .def_readwrite("current_role", &PyProgram::current_role)
      .def_readwrite("current_role_var", &PyProgram::current_role_var)
      .def_readwrite("current_origin", &PyProgram::current_origin)
      .def_readwrite("name_scope", &PyProgram::name_scope)
      .def_readwrite("next_step", &PyProgram::next_step)
      .def_property_readonly("num_blocks", &Program::num_blocks)
      .def("revision", &Program::revision)
      .def("block",
           [](const ProgramPtr& p, int32_t i) {
             p->block(i);  // throws where there is none
             return PyBlock{p, i};
           })
      .def("append_block",
           [](const ProgramPtr& p, int32_t parent) {
             return PyBlock{p, p->append_block(parent).idx()};
           })
      .def(
          "clone", [](const PyProgram& p, bool for_test) { return program_ptr(p.clone(for_test)); },
          py::arg("for_test") = false)
      .def("prune",
           [](const PyProgram& p, const Names& targets) { return program_ptr(p.pruned(targets)); })
      .def("parameters",
           [](const PyProgram& p) {
             Names out;
             for (const Var* v : p.parameters()) out.push_back(v->name);
             return out;
           })
      .def("text", [](const PyProgram& p) { return program_text(p); })
      .def("record_text", [](const PyProgram& p) { return record_text(p); })
      .def("dot", [](const PyProgram& p) { return program_dot(p); })
      .def("digest", [](const PyProgram& p) { return program_digest(p); })
      .def("serialize", [](const PyProgram& p) { return py::bytes(write_program(portable(p))); })
      .def_static("parse", [](const py::bytes& bytes) {
        return program_ptr(read_program(std::string(bytes)));
      });

  py::class_<NameMaker>(m, "NameMaker")
      .def(py::init<>())
      .def(py::init([](std::string prefix) {
        NameMaker names;
        names.prefix = std::move(prefix);
        return names;
      }))
      .def("next", [](NameMaker& n, const std::string& key) { return n.next(key); })
      .def_readwrite("prefix", &NameMaker::prefix);
  m.def("op_types", &op_types);
  m.def(
      "op_attributes",
      [](const std::string& type) {
        Names names;
        for (const auto& [name, fallback] : op_def(type).attrs) names.push_back(name);
        return names;
      },
      "Names of the attributes of an op type.");
  m.def("grad_name", [](const std::string& name) { return grad_name(name); });
  m.def("did_you_mean",
        [](const std::string& word, const Names& known) { return did_you_mean(word, known); });
}

}  // namespace paddle
