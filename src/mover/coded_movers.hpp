#pragma once
// Movers whose words hold several values that are encoded or decoded together.

#include "mover/mover.hpp"

namespace slipstream {

/// Number of values per word: several if they are encoded or decoded together, else 1.
int values_of(const Mover& mover);
/// Bytes written at the target per word.
int target_word(const Mover& mover);
/// Rewrites a mover so that each word has one value.
Mover by_values(Mover mover);

}  // namespace slipstream
