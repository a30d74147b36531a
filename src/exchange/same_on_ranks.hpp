#pragma once
// First step of creating or tuning an exchange: all ranks check that they create the same one.
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/exchange.hpp>

#include "machine/agree.hpp"

namespace slipstream {

/// Describes fields, patterns and grid in words.
std::string described(const Grid& grid, const std::vector<PlannedItem>& items);

/// Checks that all ranks are about to create the same `things`; throws Error on all ranks if not. `number` is a hash of
/// the thing, and `text` describes it. If some rank has a `problem`, its error is thrown instead. Collective.
void require_same(const Communicator& comm, std::uint64_t number, const std::string& text,
                  const std::string& things = "exchanges", const Problem& problem = {});

}  // namespace slipstream
