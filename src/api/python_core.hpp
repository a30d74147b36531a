#pragma once
// Bindings in the files of the module _core.
#include "api/python_common.hpp"

namespace slipstream::python {

void bind_machine(nb::module_& module);
void bind_checkpoint(nb::module_& module);  ///< Simulation, the base of all solvers' classes
void bind_solver(nb::module_& module);
void bind_bodies(nb::module_& module);
void bind_placement(nb::module_& module);
void bind_exchange(nb::module_& module);
void bind_doctor(nb::module_& module);

}  // namespace slipstream::python
