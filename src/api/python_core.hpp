#pragma once
// Functions that bind the parts of the module _core to Python.
#include "api/python_common.hpp"

namespace slipstream::python {

void bind_machine(nb::module_& module);
void bind_checkpoint(nb::module_& module);  ///< binds Simulation, the base class of all solvers
void bind_solver(nb::module_& module);
void bind_bodies(nb::module_& module);
void bind_placement(nb::module_& module);
void bind_exchange(nb::module_& module);
void bind_doctor(nb::module_& module);

}  // namespace slipstream::python
