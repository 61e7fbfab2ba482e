#include "convert.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace paddle {
namespace {

bool is_bool(py::handle o) {
  const std::string_view type = Py_TYPE(o.ptr())->tp_name;
  return PyBool_Check(o.ptr()) || type == "numpy.bool_" || type == "numpy.bool";
}

bool is_integer(py::handle o) { return PyIndex_Check(o.ptr()) && !py::isinstance<py::array>(o); }

int64_t integer(py::handle o, const std::string& where) {
  const auto i = py::reinterpret_steal<py::object>(PyNumber_Index(o.ptr()));
  if (!i) throw py::error_already_set();
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(i.ptr(), &overflow);
  require(overflow == 0, Error::Kind::config, where, ": ", py::repr(o).cast<std::string>(),
          " does not fit into 64 bits");
  return value;
}

bool is_list(py::handle o) {
  return PyList_Check(o.ptr()) || PyTuple_Check(o.ptr()) || PyAnySet_Check(o.ptr()) ||
         PyRange_Check(o.ptr());
}

[[noreturn]] void refuse(py::handle o, const std::string& where) {
  throw Error(Error::Kind::config, where, ": cannot take ", py::repr(o).cast<std::string>(),
              " of type ", Py_TYPE(o.ptr())->tp_name);
}

template <class T>
bool fits(int64_t v) {
  return v >= std::numeric_limits<T>::min() && v <= std::numeric_limits<T>::max();
}

template <class T, class One>
std::vector<T> all_of(const py::list& list, const One& one) {
  std::vector<T> out;
  out.reserve(list.size());
  for (const py::handle item : list) out.push_back(static_cast<T>(one(item)));
  return out;
}

// `like` is the index of the wanted alternative, or -1.
Attr list_attr(const py::list& list, const std::string& name, int like) {
  const auto number = [&](py::handle o) {
    const double d = PyFloat_AsDouble(o.ptr());
    if (d == -1.0 && PyErr_Occurred()) throw py::error_already_set();
    return d;
  };
  const auto whole = [&](py::handle o) { return integer(o, name); };
  static const int ints = static_cast<int>(Attr(Ints{}).index()),
                   floats = static_cast<int>(Attr(Floats{}).index()),
                   strings = static_cast<int>(Attr(Strings{}).index()),
                   bools = static_cast<int>(Attr(Bools{}).index()),
                   longs = static_cast<int>(Attr(Longs{}).index());
  if (list.empty()) {
    if (like == floats) return Floats{};
    if (like == strings) return Strings{};
    if (like == bools) return Bools{};
    if (like == longs) return Longs{};
    return Ints{};
  }
  const py::handle first = list[0];
  if (py::isinstance<py::str>(first)) return list.cast<Strings>();
  if (is_bool(first)) return list.cast<Bools>();
  if (like == floats) return all_of<float>(list, number);
  for (const py::handle item : list)
    if (!is_integer(item)) return all_of<float>(list, number);
  const Longs all = all_of<int64_t>(list, whole);
  bool small = like != longs;
  for (const int64_t v : all) small = small && fits<int32_t>(v);
  if (small || like == ints) return all_of<int32_t>(list, whole);
  return all;
}

constexpr int aligned_flag = 0x0100;  // NPY_ARRAY_ALIGNED

}  // namespace

Value value_of(py::handle o, const std::string& where) {
  if (o.is_none()) return {};
  if (py::isinstance<py::str>(o)) return o.cast<std::string>();
  if (is_bool(o)) return o.cast<bool>();
  if (is_integer(o)) return integer(o, where);
  if (PyFloat_Check(o.ptr())) return o.cast<double>();
  if (py::isinstance<py::dict>(o)) return dict_of(py::reinterpret_borrow<py::dict>(o));
  if (py::isinstance<py::array>(o) && py::reinterpret_borrow<py::array>(o).ndim() > 0)
    return value_of(o.attr("ravel")().attr("tolist")(), where);
  if (is_list(o)) {
    List list;
    for (const py::handle item : py::reinterpret_borrow<py::object>(o))
      list.push_back(value_of(item, where));
    return list;
  }
  if (PyNumber_Check(o.ptr())) {  // numpy's own floats
    const double d = PyFloat_AsDouble(o.ptr());
    if (d != -1.0 || !PyErr_Occurred()) return d;
    PyErr_Clear();
  }
  refuse(o, where);
}

Dict dict_of(const py::dict& dict) {
  Dict out;
  for (const auto& [key, value] : dict) {
    const auto name = key.cast<std::string>();
    out.emplace_back(name, value_of(value, "'" + name + "'"));
  }
  return out;
}

Attr attr_of(py::handle o, const std::string& name, const Attr* like) {
  const int wanted = like ? static_cast<int>(like->index()) : -1;
  const std::string where = "the attribute '" + name + "'";
  if (py::isinstance<py::str>(o)) return o.cast<std::string>();
  if (py::isinstance<py::bytes>(o)) return o.cast<std::string>();
  if (is_bool(o)) return o.cast<bool>();
  if (is_integer(o)) {
    const int64_t v = integer(o, where);
    if (like && std::holds_alternative<float>(*like)) return static_cast<float>(v);
    if (like && std::holds_alternative<BlockRef>(*like)) return BlockRef{static_cast<int32_t>(v)};
    if ((like && std::holds_alternative<int64_t>(*like)) || !fits<int32_t>(v)) return v;
    return static_cast<int32_t>(v);
  }
  if (py::isinstance<py::array>(o) && py::reinterpret_borrow<py::array>(o).ndim() > 0)
    return list_attr(o.attr("ravel")().attr("tolist")(), where, wanted);
  if (is_list(o)) return list_attr(py::list(py::reinterpret_borrow<py::object>(o)), where, wanted);
  if (PyNumber_Check(o.ptr())) {
    const double d = PyFloat_AsDouble(o.ptr());
    if (d != -1.0 || !PyErr_Occurred()) return static_cast<float>(d);
    PyErr_Clear();
  }
  refuse(o, where);
}

py::object object_of(const Attr& attr) {
  return std::visit(
      [](const auto& v) -> py::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, BlockRef>)
          return py::int_(v.index);
        else if constexpr (std::is_same_v<T, BlockRefs>)
          return py::cast(v.indices);
        else
          return py::cast(v);
      },
      attr);
}

Slots slots_of(const py::dict& dict) {
  Slots out;
  for (const auto& [slot, names] : dict) {
    if (py::isinstance<py::str>(names))
      out.set(slot.cast<std::string>(), {names.cast<std::string>()});
    else
      out.set(slot.cast<std::string>(), names.cast<Names>());
  }
  return out;
}

Shape shape_of(py::handle o) {
  std::vector<int64_t> dims;
  if (is_integer(o))
    dims.push_back(integer(o, "shape"));
  else
    for (const py::handle d : py::reinterpret_borrow<py::object>(o))
      dims.push_back(integer(d, "shape"));
  return Shape(std::span<const int64_t>(dims));
}

py::tuple tuple_of(const Shape& shape) {
  py::tuple out(static_cast<size_t>(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) out[static_cast<size_t>(i)] = shape[i];
  return out;
}

py::dtype numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::boolean: return py::dtype("?");
    case DType::i8: return py::dtype("i1");
    case DType::u8: return py::dtype("u1");
    case DType::i16: return py::dtype("i2");
    case DType::i32: return py::dtype("i4");
    case DType::i64: return py::dtype("i8");
    case DType::f16: return py::dtype("f2");
    case DType::f32: return py::dtype("f4");
    case DType::f64: return py::dtype("f8");
  }
  return py::dtype("V1");
}

DType dtype_of(const py::array& array, const std::string& what) {
  using api = py::detail::npy_api;
  switch (array.dtype().num()) {
    case api::NPY_BOOL_: return DType::boolean;
    case api::NPY_BYTE_: return DType::i8;
    case api::NPY_UBYTE_: return DType::u8;
    case api::NPY_SHORT_: return DType::i16;
    case api::NPY_INT_: return DType::i32;
    case api::NPY_LONG_:
    case api::NPY_LONGLONG_: return DType::i64;
    case api::NPY_FLOAT_: return DType::f32;
    case api::NPY_DOUBLE_: return DType::f64;
    case 23: return DType::f16;  // NPY_HALF
    default: break;
  }
  throw Error(Error::Kind::config, what, what.empty() ? "" : ": ",
              "there is no element type for numpy's ", py::str(array.dtype()).cast<std::string>(),
              ": use float32, float64, int32, int64, int16, int8, uint8 or bool");
}

Tensor borrowed(const py::array& array) {
  const int flags = array.flags();
  if (!(flags & py::array::c_style) || !(flags & aligned_flag) ||
      array.dtype().byteorder() == '>' || array.ndim() > Shape::max_rank)
    return {};
  int64_t dims[Shape::max_rank];
  for (py::ssize_t i = 0; i < array.ndim(); ++i) dims[i] = array.shape(i);
  static char nowhere[Tensor::alignment];  // an array of no elements may have no memory
  void* data = const_cast<void*>(array.data());
  return Tensor::borrow(data ? data : nowhere, dtype_of(array),
                        Shape(std::span<const int64_t>(dims, static_cast<size_t>(array.ndim()))));
}

Tensor copied(const py::array& array, DType like, const std::string& what) {
  const DType given = dtype_of(array, what);
  const auto is_float = [](DType t) {
    return t == DType::f16 || t == DType::f32 || t == DType::f64;
  };
  py::array source = array;
  if (given != like) {
    require(is_float(like) || !is_float(given), Error::Kind::config, what, ": it is declared as ",
            name_of(like), ", and ", name_of(given),
            " would lose its fraction; convert it yourself: .astype('", name_of(like), "')");
    source = array.attr("astype")(numpy_dtype(like));
    if (!is_float(like)) {
      const bool same =
          py::module_::import("numpy").attr("array_equal")(source, array).cast<bool>();
      require(same, Error::Kind::config, what, ": it is declared as ", name_of(like),
              ", and values of the ", name_of(given), " array do not fit into that");
    }
  }
  source =
      py::module_::import("numpy").attr("require")(source, py::none(), py::make_tuple("C", "A"));
  if (source.dtype().byteorder() == '>') source = source.attr("astype")(numpy_dtype(like));
  const Tensor view = borrowed(source);
  require(!view.empty(), Error::Kind::config, what, ": an array of ", source.ndim(),
          " dimensions; at most ", Shape::max_rank, " are possible");
  return view.clone();
}

py::array array_over(const Tensor& tensor) {
  auto* kept = new Tensor(tensor);
  const py::capsule owner(kept, [](void* p) { delete static_cast<Tensor*>(p); });
  const std::vector<py::ssize_t> shape(tensor.shape().begin(), tensor.shape().end());
  return py::array(numpy_dtype(tensor.dtype()), shape, tensor.raw(), owner);
}

}  // namespace paddle
