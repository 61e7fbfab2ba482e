// Tensors and scopes.
#include "tensor/tensor.h"

#include <cstring>

#include "bindings.h"

namespace paddle {
namespace {

// Lengths of the sequences of each level: what users count in, as against offsets.
Lod lengths_of(const Lod& lod) {
  Lod out;
  for (const auto& level : lod) {
    auto& lengths = out.emplace_back();
    for (size_t i = 1; i < level.size(); ++i) lengths.push_back(level[i] - level[i - 1]);
  }
  return out;
}

Lod offsets_of(const Lod& lengths) {
  Lod out;
  for (const auto& level : lengths) {
    auto& offsets = out.emplace_back(1, size_t{0});
    for (const size_t n : level) offsets.push_back(offsets.back() + n);
  }
  return out;
}

bool valid(const Lod& lod, int64_t rows) {
  try {
    check_lod(lod, rows);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void set_lod(PyTensor& t, Lod lod) {
  Tensor tensor = t.get();
  // Before the tensor has a value its levels must at least fit each other.
  const bool open = tensor.empty() && !lod.empty() && !lod.back().empty();
  check_lod(lod, open                        ? static_cast<int64_t>(lod.back().back())
                 : tensor.shape().rank() > 0 ? tensor.shape()[0]
                                             : 1);
  tensor.set_lod(std::move(lod));
  t.set(std::move(tensor));
}

py::array array_of(const PyTensor& t) {
  const Tensor tensor = t.get();
  require(!tensor.empty(), Error::Kind::config,
          "the tensor has no value yet: set() it, or run the program that computes it");
  return array_over(tensor);
}

void set_array(PyTensor& t, const py::array& array) {
  Tensor old = t.get();
  const DType dtype = dtype_of(array);
  Tensor view = borrowed(array);
  // In place where it fits: plans keep the address of a variable in a scope.
  if (!view.empty() && !old.empty() && old.dtype() == dtype && old.shape() == view.shape()) {
    std::memmove(old.raw(), view.raw(), view.bytes());
    t.set(std::move(old));
    return;
  }
  Tensor now = view.empty() ? copied(array, dtype, "cannot set the tensor") : view.clone();
  now.set_lod(old.lod());  // it stays until others are set; a feed is checked
  t.set(std::move(now));
}

// A variable of a scope, by name.
struct PyVariable {
  ScopePtr scope;
  std::string name;
};

std::string tensor_text(const PyTensor& t) {
  const Tensor tensor = t.get();
  if (tensor.empty()) return "<LoDTensor without a value>";
  std::string lod;
  if (!tensor.lod().empty()) lod = ", lod=" + py::repr(py::cast(tensor.lod())).cast<std::string>();
  return text("<LoDTensor ", name_of(tensor.dtype()), " ", tensor.shape(), lod, ">\n",
              py::str(array_over(tensor)).cast<std::string>());
}

}  // namespace

std::unique_lock<std::mutex> locked(std::mutex& mutex) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) {
    const py::gil_scoped_release others;
    lock.lock();
  }
  return lock;
}

ScopePtr PyScope::holder(const std::string& name) {
  for (ScopePtr s = shared_from_this(); s; s = s->parent) {
    const auto lock = locked(s->mutex);
    if (s->scope.find(name)) return s;
  }
  return nullptr;
}

Tensor PyTensor::get() const {
  if (!scope_) return own_;
  const auto lock = locked(scope_->mutex);
  return scope_->scope.var(name_).tensor;
}

void PyTensor::set(Tensor tensor) {
  if (!scope_) {
    own_ = std::move(tensor);
    return;
  }
  const auto lock = locked(scope_->mutex);
  scope_->scope.var(name_).tensor = std::move(tensor);
}

void bind_tensor(py::module_& m) {
  py::class_<PyTensor>(m, "LoDTensor",
                       "An array, with the offsets of sequences where it holds some.")
      .def(py::init<>())
      .def(py::init([](const Lod& lengths) {
             PyTensor t;
             set_lod(t, offsets_of(lengths));
             return t;
           }),
           py::arg("recursive_sequence_lengths"), "Without a value yet, with these sequences.")
      .def(
          "set",
          [](PyTensor& t, const py::array& array, const py::object&) { set_array(t, array); },
          py::arg("array"), py::arg("place") = py::none(),
          "Takes over a copy of the array. Lengths of sequences that were set before stay.")
      .def("shape", [](const PyTensor& t) { return tuple_of(t.get().shape()).cast<py::list>(); })
      .def("_dtype", [](const PyTensor& t) { return name_of(t.get().dtype()); })
      .def_property_readonly("dtype", [](const PyTensor& t) { return name_of(t.get().dtype()); })
      .def("_is_initialized", [](const PyTensor& t) { return !t.get().empty(); })
      .def(
          "_address", [](const PyTensor& t) { return reinterpret_cast<uintptr_t>(t.get().raw()); },
          "Where the elements are, to see whether something was copied.")
      .def(
          "lod", [](const PyTensor& t) { return t.get().lod(); }, "Offsets per level.")
      .def(
          "set_lod", [](PyTensor& t, Lod lod) { set_lod(t, std::move(lod)); }, py::arg("lod"))
      .def(
          "recursive_sequence_lengths", [](const PyTensor& t) { return lengths_of(t.get().lod()); },
          "Lengths of the sequences per level.")
      .def(
          "set_recursive_sequence_lengths",
          [](PyTensor& t, const Lod& lengths) { set_lod(t, offsets_of(lengths)); },
          py::arg("recursive_sequence_lengths"))
      .def("has_valid_recursive_sequence_lengths",
           [](const PyTensor& t) {
             const Tensor tensor = t.get();
             return valid(tensor.lod(), tensor.shape().rank() > 0 ? tensor.shape()[0] : 1);
           })
      .def(
          "numpy",
          [](const PyTensor& t, bool copy) {
            return copy ? array_over(t.get().clone()) : array_of(t);
          },
          py::arg("copy") = true)
      .def(
          "__array__",
          [](const PyTensor& t, const py::object& dtype) -> py::object {
            const py::array array = array_of(t);
            return dtype.is_none() ? py::object(array) : py::object(array.attr("astype")(dtype));
          },
          py::arg("dtype") = py::none())
      .def("__len__",
           [](const PyTensor& t) { return t.get().shape().rank() > 0 ? t.get().shape()[0] : 0; })
      .def("__str__", &tensor_text)
      .def("__repr__", &tensor_text);
  m.attr("Tensor") = m.attr("LoDTensor");

  py::class_<PyVariable>(m, "ScopeVariable", "A variable of a scope.")
      .def_readonly("name", &PyVariable::name)
      .def("get_tensor", [](const PyVariable& v) { return PyTensor(v.scope, v.name); })
      .def("is_int",
           [](const PyVariable& v) {
             const Tensor t = PyTensor(v.scope, v.name).get();
             return !t.empty() && t.numel() == 1 && t.dtype() == DType::i32;
           })
      .def("get_int",
           [](const PyVariable& v) {
             const Tensor t = PyTensor(v.scope, v.name).get();
             require(!t.empty() && t.numel() == 1 && t.dtype() == DType::i32, Error::Kind::config,
                     "the variable '", v.name, "' holds no int");
             return t.data<int32_t>()[0];
           })
      .def("set_int",
           [](const PyVariable& v, int32_t value) {
             PyTensor(v.scope, v.name).set(Tensor::of<int32_t>({1}, {value}));
           })
      .def("get_float",
           [](const PyVariable& v) {
             const Tensor t = PyTensor(v.scope, v.name).get();
             require(!t.empty() && t.numel() == 1 && t.dtype() == DType::f32, Error::Kind::config,
                     "the variable '", v.name, "' holds no float");
             return t.data<float>()[0];
           })
      .def("set_float", [](const PyVariable& v, float value) {
        PyTensor(v.scope, v.name).set(Tensor::of<float>({1}, {value}));
      });

  py::class_<PyScope, ScopePtr>(m, "Scope", "Where variables live between runs.")
      .def(py::init<>())
      .def(
          "var",
          [](const ScopePtr& s, const std::string& name) {
            const auto lock = locked(s->mutex);
            s->scope.var(name);
            return PyVariable{s, name};
          },
          py::arg("name"), "The variable, created where there is none.")
      .def(
          "find_var",
          [](const ScopePtr& s, const std::string& name) -> py::object {
            const ScopePtr holder = s->holder(name);
            return holder ? py::cast(PyVariable{holder, name}) : py::none();
          },
          py::arg("name"), "The variable of this scope or of one around it, or None.")
      .def("names",
           [](const ScopePtr& s) {
             const auto lock = locked(s->mutex);
             return s->scope.names();
           })
      .def("erase",
           [](const ScopePtr& s, const Names& names) {
             const auto lock = locked(s->mutex);
             for (const std::string& n : names) s->scope.erase(n);
           })
      .def("new_scope",
           [](const ScopePtr& s) {
             auto kid = std::make_shared<PyScope>();
             kid->parent = s;
             return kid;
           })
      .def(
          "drop_kids", [](const ScopePtr&) {},
          "Does nothing: scopes end with the last reference to them.");
}

}  // namespace paddle
