#pragma once
#include "api/python_common.hpp"

namespace slipstream::python {

/// Binds the flow solver, and functions that examine its options without a solver.
void bind_flow(nb::module_& m);

}  // namespace slipstream::python
