#pragma once
// Movers (copies of an exchange) whose words hold several values that are encoded or decoded together.

#include "mover/mover.hpp"

namespace slipstream {

/// Number of values per word of a mover: several if they are encoded or decoded together, else 1.
int values_of(const Mover& mover);
/// Bytes that a mover writes at its target per word.
int target_word(const Mover& mover);
/// Rewrites a mover so that each word has one value.
Mover by_values(Mover mover);

}  // namespace slipstream
