#pragma once
// Functions of coordinates that a Python program passes.
#include <slipstream/sem_solver.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

/// Calls a Python function with coordinates, an array [point][x y z], and the time. It returns an array [point].
sem::Function function_of(const nb::object& function);
/// Calls a Python function with coordinates, an array [point][x y z]. It returns an array of the same shape.
sem::Map map_of(const nb::object& function);
/// Reads the pair (function, steady); None means that no function is given.
sem::Given given(const nb::object& pair);

}  // namespace slipstream::python
