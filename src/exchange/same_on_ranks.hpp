#pragma once
// First step of creating or tuning an exchange: all ranks check that they create the same one.
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/exchange.hpp>

#include "machine/agree.hpp"

namespace slipstream {

/// Describes an exchange's fields, communication patterns and grid as text, by which ranks compare their exchanges.
std::string described(const Grid& grid, const std::vector<PlannedItem>& items);

/// Throws Error on all ranks if they are about to create different objects. `things` names these, such as "exchanges".
/// `number`: hash of this rank's object; `text`: its description. An error in `problem` is thrown instead. Collective.
void require_same(const Communicator& comm, std::uint64_t number, const std::string& text,
                  const std::string& things = "exchanges", const Problem& problem = {});

}  // namespace slipstream
