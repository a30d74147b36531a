#pragma once
// Checks the transfers of patterns, which may be user-defined.
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/plan.hpp"

namespace slipstream {

/// Throws Error unless both ends of an item's transfers list the same number of values in the same order. Also throws
/// if an end exceeds its block with ghosts, or the components of its field. The error names pattern, blocks and place.
void check_transfers(const Grid& grid, const PlannedItem& item, const std::vector<Transfer>& transfers);

/// Throws Error if two transfers write the same value of a block of this rank and one of them copies, because their
/// order is undefined. The transfers may belong to one item, or to two with the same target field.
void check_writers(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles);

}  // namespace slipstream
