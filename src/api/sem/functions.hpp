#pragma once
// Functions of places that Python gives.
#include <slipstream/sem_solver.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

/// Calls a Python function with places, an array [point][x y z], and the time; it gives an array [point].
sem::Function function_of(const nb::object& function);
/// Calls a Python function with places, an array [point][x y z]; it gives such an array.
sem::Map map_of(const nb::object& function);
/// (function, steady), or None.
sem::Given given(const nb::object& pair);

}  // namespace slipstream::python
