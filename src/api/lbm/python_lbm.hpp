#pragma once
#include <string>
#include <vector>

#include <slipstream/bodies.hpp>
#include <slipstream/lbm.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

/// Surfaces of bodies in the flow, for the lattice Boltzmann solver. The bodies must outlive them. `links`: bounce-back
/// of each body, "interpolated" or "half-way"; empty: interpolated for all.
lbm::Surfaces surfaces_of(const Bodies& bodies, const std::vector<std::string>& links);
void bind_bodies_of_lbm(nb::module_& module);

}  // namespace slipstream::python
