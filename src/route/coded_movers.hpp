#pragma once
// Movers whose words hold several values that are encoded or decoded together.

#include "route/mover.hpp"

namespace slipstream {

/// Values per word: several if they are encoded or decoded together, else 1.
int values_of(const Mover& mover);
/// Bytes written at the target per word.
int target_word(const Mover& mover);
/// The same mover with one value per word.
Mover by_values(Mover mover);

}  // namespace slipstream
