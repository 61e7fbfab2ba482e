// Between Python objects and the core's plain values.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "base/value.h"
#include "graph/attr.h"
#include "graph/op.h"
#include "tensor/tensor.h"

namespace paddle {

namespace py = pybind11;

// None, bool, int, float, str, list, tuple, ndarray and dict, numpy's scalars included, as a job
// file's value. `where` names it in the error.
Value value_of(py::handle object, const std::string& where);
Dict dict_of(const py::dict& dict);

// An attribute by the type of its Python value; `like` (may be null) is the default of the op's
// definition, whose type wins where nothing is lost.
Attr attr_of(py::handle object, const std::string& name, const Attr* like);
py::object object_of(const Attr& attr);

Slots slots_of(const py::dict& dict);  // {"X": ["x"]}, and {"X": "x"}

Shape shape_of(py::handle object);
py::tuple tuple_of(const Shape& shape);

// numpy's type for an element type, and the reverse; Error(config) where there is none, its
// sentence started by `what`.
py::dtype numpy_dtype(DType dtype);
DType dtype_of(const py::array& array, const std::string& what = "");

// The array's own memory, where it is in row-major order, aligned and in native byte order; the
// caller keeps the array alive. An empty tensor where it is not.
Tensor borrowed(const py::array& array);
// A copy in memory of our own. `like` is the element type wanted; values must survive it: integers
// may become floats, floats never integers. `what` starts the sentence of the Error(config).
Tensor copied(const py::array& array, DType like, const std::string& what);
// An array over the tensor's memory, which it keeps alive.
py::array array_over(const Tensor& tensor);

}  // namespace paddle
