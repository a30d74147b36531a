#pragma once
#include <string>
#include <vector>

#include <slipstream/bodies.hpp>
#include <slipstream/lbm.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

/// Surfaces that query bodies, which must outlive them. `links`: "interpolated" or "half-way" for each body; empty:
/// interpolated for all.
lbm::Surfaces surfaces_of(const Bodies& bodies, const std::vector<std::string>& links);
void bind_bodies_of_lbm(nb::module_& module);

}  // namespace slipstream::python
