#pragma once
#include "api/python_common.hpp"

namespace slipstream::python {

/// Flow, and what is known of its options before one is made.
void bind_flow(nb::module_& m);

}  // namespace slipstream::python
