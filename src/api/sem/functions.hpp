#pragma once
// Converts functions of coordinates that a Python program passes to C++ functions.
#include <slipstream/sem_solver.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

/// Wraps a Python function of coordinates, an array [point][x y z], and the time. It returns an array [point].
sem::Function function_of(const nb::object& function);
/// Wraps a Python function of coordinates, an array [point][x y z], that returns an array of the same shape.
sem::Map map_of(const nb::object& function);
/// Reads a pair (function, steady): steady ones are evaluated once, others at each step. None: no function.
sem::Given given(const nb::object& pair);

}  // namespace slipstream::python
