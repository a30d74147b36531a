#pragma once
// Routes used by messages between devices, for the rows of `slipstream bench`.
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

namespace slipstream::python {

/// Distinct route names of the messages of all ranks between devices. Collective.
std::vector<std::string> routes_taken(const std::vector<MessageInfo>& messages);

}  // namespace slipstream::python
