#include "api/python_errors.hpp"

#include <nanobind/stl/string.h>

#include <slipstream/exchange.hpp>
#include <slipstream/guard.hpp>
#include <slipstream/krylov.hpp>

namespace slipstream::python {
namespace {

PyObject* class_of(const Error& error) {
  if (dynamic_cast<const OutOfMemory*>(&error)) return PyExc_MemoryError;
  if (dynamic_cast<const Overflow*>(&error)) return PyExc_OverflowError;
  if (dynamic_cast<const Timeout*>(&error)) return PyExc_TimeoutError;
  return PyExc_RuntimeError;
}

/// Whether an error has its own Python class. Modules register translators in any order; the last is asked first.
bool has_its_own_class(const Error& error) {
  return dynamic_cast<const Diverged*>(&error) || dynamic_cast<const krylov::NotSolved*>(&error);
}

}  // namespace

void raise_error(PyObject* type, const Error& error) {
  nb::dict facts;
  for (const Fact& fact : error.facts()) facts[nb::cast(fact.name)] = fact.value;
  const nb::object raised = nb::handle(type)(error.what());
  raised.attr("code") = to_string(error.code());
  raised.attr("facts") = facts;
  PyErr_SetObject(type, raised.ptr());
}

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      if (has_its_own_class(error)) throw;
      raise_error(class_of(error), error);
    }
  });
}

}  // namespace slipstream::python
