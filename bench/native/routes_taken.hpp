#pragma once
// Routes that messages between devices took, for the rows of `slipstream bench`.
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

namespace slipstream::python {

/// Names of the routes between devices, of the messages of all ranks; each once. Collective.
std::vector<std::string> routes_taken(const std::vector<MessageInfo>& messages);

}  // namespace slipstream::python
