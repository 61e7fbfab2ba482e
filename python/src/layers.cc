// Layers, gradients, optimizers and schedules: the same rows that job files are built by.
#include "bindings.h"
#include "graph/backward.h"
#include "layers/optimizers.h"
#include "layers/registry.h"

namespace paddle {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const std::vector<ParamGrad>& all) {
  Pairs out;
  for (const ParamGrad& pg : all) out.emplace_back(pg.param, pg.grad);
  return out;
}

std::vector<ParamGrad> param_grads(const Pairs& pairs) {
  std::vector<ParamGrad> out;
  for (const auto& [param, grad] : pairs) out.push_back({param, grad});
  return out;
}

std::vector<PyOp> handles(const ProgramPtr& program, const std::vector<Op*>& ops) {
  std::vector<PyOp> out;
  for (const Op* op : ops) out.push_back(op_handle(program, 0, *op));
  return out;
}

// In Python the learning rate may also be a variable: then it is the name of one.
Optimizer optimizer_of(const Builder& b, Dict args) {
  std::string rate;
  std::erase_if(args, [&](const auto& entry) {
    const std::string* name = entry.second.template as<std::string>();
    if (entry.first != "learning_rate" || name == nullptr) return false;
    rate = *name;
    return true;
  });
  Optimizer optimizer = make_optimizer(b, args);
  if (!rate.empty()) {
    b.var(rate);
    optimizer.learning_rate = rate;
  }
  return optimizer;
}

template <class Row>
py::list rows_of(std::span<const Row> rows) {
  py::list out;
  for (const Row& r : rows) {
    py::list parameters;
    for (const Parameter& p : parameters_of(r))
      parameters.append(py::make_tuple(p.name, p.type, p.fallback, p.required, p.meaning));
    out.append(py::make_tuple(std::string(r.type), std::string(r.meaning), parameters));
  }
  return out;
}

}  // namespace

void bind_layers(py::module_& m) {
  m.def(
      "initialize",
      [](const ProgramPtr& program, const std::string& name, const py::dict& how) {
        Initializer read;
        Mistakes wrong;
        read_value(Value(dict_of(how)), "initializer", read, wrong);
        require(wrong.empty(), Error::Kind::config, mistakes_text(wrong));
        initialize(*program, program->global().var(name), read);
        return op_handle(program, 0, *program->global().ops().front());
      },
      py::arg("program"), py::arg("name"), py::arg("how"));
  m.def(
      "build_layer",
      [](PyProgram& main, PyProgram& startup, NameMaker& names, const py::dict& args) {
        return build_layer(Builder(main, startup, names), dict_of(args));
      },
      py::arg("main"), py::arg("startup"), py::arg("names"), py::arg("args"));
  m.def("layer_rows", [] { return rows_of(layer_rows()); });
  m.def("optimizer_rows", [] { return rows_of(optimizer_rows()); });
  m.def("schedule_rows", [] { return rows_of(schedule_rows()); });

  m.def(
      "append_backward",
      [](PyProgram& main, const std::string& loss, const Names& params,
         const std::set<std::string>& no_grad) {
        return pairs_of(append_backward(main, loss, params, no_grad));
      },
      py::arg("main"), py::arg("loss"), py::arg("params") = Names{},
      py::arg("no_grad") = std::set<std::string>{});
  m.def(
      "append_gradients",
      [](PyProgram& main, const Names& targets, const Names& inputs, const Names& target_gradients,
         const std::set<std::string>& no_grad) {
        return append_gradients(main, targets, inputs, target_gradients, no_grad);
      },
      py::arg("main"), py::arg("targets"), py::arg("inputs"), py::arg("target_gradients") = Names{},
      py::arg("no_grad") = std::set<std::string>{});
  m.def(
      "minimize",
      [](const ProgramPtr& main, PyProgram& startup, NameMaker& names, const std::string& loss,
         const py::dict& optimizer, const Names& params, const std::set<std::string>& no_grad) {
        const Builder b(*main, startup, names);
        const Optimizer how = optimizer_of(b, dict_of(optimizer));
        const Minimized made =
            minimize(b, loss, how, {.parameter_list = params, .no_grad_set = no_grad});
        return py::make_tuple(handles(main, made.optimize_ops), pairs_of(made.params_grads));
      },
      py::arg("main"), py::arg("startup"), py::arg("names"), py::arg("loss"), py::arg("optimizer"),
      py::arg("params") = Names{}, py::arg("no_grad") = std::set<std::string>{});
  m.def(
      "apply_gradients",
      [](const ProgramPtr& main, PyProgram& startup, NameMaker& names, const py::dict& optimizer,
         const Pairs& pairs) {
        const Builder b(*main, startup, names);
        const Optimizer how = optimizer_of(b, dict_of(optimizer));
        return handles(main, apply_gradients(b, how, param_grads(pairs)));
      },
      py::arg("main"), py::arg("startup"), py::arg("names"), py::arg("optimizer"),
      py::arg("pairs"));
  m.def(
      "set_gradient_clip",
      [](PyProgram& main, const py::dict& clip, const Names& params) {
        GradientClip read;
        Mistakes wrong;
        if (!clip.empty()) read_value(Value(dict_of(clip)), "clip", read, wrong);
        require(wrong.empty(), Error::Kind::config, mistakes_text(wrong));
        set_gradient_clip(main, read, params);
      },
      py::arg("main"), py::arg("clip"), py::arg("params") = Names{});
  m.def(
      "schedule",
      [](PyProgram& main, PyProgram& startup, NameMaker& names, const py::dict& args) {
        return build_schedule(Builder(main, startup, names), dict_of(args));
      },
      py::arg("main"), py::arg("startup"), py::arg("names"), py::arg("args"));
}

}  // namespace paddle
