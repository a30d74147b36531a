#pragma once
// What all ranks say first when they make an exchange, or tune one.
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/exchange.hpp>

#include "machine/agree.hpp"

namespace slipstream {

/// The fields, their patterns and the grid, in words.
std::string described(const Grid& grid, const std::vector<PlannedItem>& items);

/// Collective. Throws on all ranks where some of them are about to make another of `things`: `number` is equal on two
/// ranks that make the same, and `text` says it in words. Where some have a `problem` with it, the error is theirs.
void require_same(const Communicator& comm, std::uint64_t number, const std::string& text,
                  const std::string& things = "exchanges", const Problem& problem = {});

}  // namespace slipstream
