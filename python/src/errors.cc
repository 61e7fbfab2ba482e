// paddle::Error as Python exceptions, the exit code of a script that one of them ends, and Ctrl-C
// inside calls of the core.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/interrupt.h"
#include "bindings.h"

namespace paddle {
namespace {

// One class per kind of Error, so that a script can separate "fix it" from "try again". Immortal,
// as exception classes of an extension are.
struct Classes {
  PyObject* base = nullptr;
  PyObject* of[6] = {};
};
Classes& classes() {
  static Classes all;
  return all;
}

PyObject* derived(py::module_& m, const char* name, PyObject* second, const char* doc) {
  const py::tuple bases = py::make_tuple(py::handle(classes().base), py::handle(second));
  PyObject* type = PyErr_NewExceptionWithDoc((std::string("paddle._core.") + name).c_str(), doc,
                                             bases.ptr(), nullptr);
  if (type == nullptr) throw py::error_already_set();
  m.add_object(name, type);
  return type;
}

int last_error = 0;  // the exit code that belongs to it

// When the interpreter ends. Python keeps an exception that was not caught in `sys`; at a prompt it
// ends nothing.
void keep_last_error() {
  const auto sys = py::module_::import("sys");
  if (!py::hasattr(sys, "last_value") || py::hasattr(sys, "ps1")) return;
  const py::object value = sys.attr("last_value");
  for (int kind = 0; kind < static_cast<int>(std::size(classes().of)); ++kind)
    if (PyObject_IsInstance(value.ptr(), classes().of[kind]) == 1)
      last_error = exit_code(static_cast<Error::Kind>(kind));
}

// Python's own code for every exception is 1, but a supervisor may start a process again that ended
// for want of a peer, and not one that is configured wrong.
void leave_with_last_error(int status, void*) {
  if (status != 1 || last_error == 0) return;
  std::fflush(nullptr);
  ::_exit(last_error);
}

}  // namespace

void bind_errors(py::module_& m) {
  Classes& c = classes();
  c.base = PyErr_NewExceptionWithDoc(
      "paddle._core.EnforceNotMet", "Anything that the core refuses.", PyExc_RuntimeError, nullptr);
  m.add_object("EnforceNotMet", c.base);
  c.of[static_cast<int>(Error::Kind::config)] =
      derived(m, "ConfigError", PyExc_ValueError,
              "A program, a feed or an option is wrong: fix it and start again.");
  c.of[static_cast<int>(Error::Kind::data)] =
      derived(m, "DataError", PyExc_ValueError,
              "A record, a data file or a model file is damaged or of another format.");
  c.of[static_cast<int>(Error::Kind::io)] =
      derived(m, "FileError", PyExc_OSError, "A file could not be read or written.");
  c.of[static_cast<int>(Error::Kind::numeric)] =
      derived(m, "NumericError", PyExc_ArithmeticError, "A value is NaN or Inf.");
  c.of[static_cast<int>(Error::Kind::protocol)] =
      derived(m, "ProtocolError", PyExc_ConnectionError,
              "A peer sent a message that the protocol does not allow.");
  c.of[static_cast<int>(Error::Kind::peer)] = derived(
      m, "PeerError", PyExc_ConnectionError, "A peer is gone or too slow: trying again may help.");

  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const Error& e) {
      PyErr_SetString(classes().of[static_cast<int>(e.kind())], e.what());
    }
  });

  py::module_::import("atexit").attr("register")(py::cpp_function(keep_last_error));
  ::on_exit(leave_with_last_error, nullptr);

  // Python handles signals in its main thread only. Other threads must not even ask: some outlive
  // the interpreter.
  const auto main_thread =
      py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
  set_interrupt_check([main_thread] {
    if (PyThread_get_thread_ident() != main_thread) return;
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  });
}

}  // namespace paddle
