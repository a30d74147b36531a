#pragma once
#include <nanobind/nanobind.h>

#include <string>

#include <slipstream/error.hpp>

namespace slipstream::python {

namespace nb = nanobind;

/// Registers the translation of the library's errors to MemoryError, OverflowError, TimeoutError or RuntimeError. They
/// have the attributes `code`, the name of the ErrorCode, and `facts`, a dict of str. Errors with an error_class() are
/// excluded.
void translate_errors();

/// Sets Python's current exception to an error of the library.
void raise_error(PyObject* type, const Error& error);

/// Makes a subclass of RuntimeError of this name in the module, for errors of the C++ class E.
template <class E>
void error_class(nb::module_& module, const char* name) {
  const std::string full = nb::cast<std::string>(module.attr("__name__")) + '.' + name;
  nb::object type = nb::steal(PyErr_NewException(full.c_str(), PyExc_RuntimeError, nullptr));
  if (!type.is_valid()) nb::raise_python_error();
  module.attr(name) = type;
  const auto translate = [](const std::exception_ptr& thrown, void* to) {
    try {
      std::rethrow_exception(thrown);
    } catch (const E& error) {
      raise_error(static_cast<PyObject*>(to), error);
    }
  };
  nb::register_exception_translator(translate, type.release().ptr());
}

}  // namespace slipstream::python
