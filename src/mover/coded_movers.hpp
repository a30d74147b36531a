#pragma once
// Movers (copies of an exchange) whose words hold several values that are encoded or decoded together.

#include "mover/mover.hpp"

namespace slipstream {

/// Number of values per word of a mover (a copy of an exchange): several if they are coded together, else 1.
int values_of(const Mover& mover);
/// Bytes that a mover (a copy of an exchange) writes at its target for each word that it reads at its source.
int target_word(const Mover& mover);
/// Rewrites a mover (a copy of an exchange) so that each of its words holds one value instead of several.
Mover by_values(Mover mover);

}  // namespace slipstream
