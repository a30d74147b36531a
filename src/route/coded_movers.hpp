#pragma once
// Movers whose words hold several values, encoded or decoded together.

#include "route/mover.hpp"

namespace slipstream {

/// Values in a word, where they are encoded or decoded: some side by side, or one.
int values_of(const Mover& mover);
/// Bytes of what is written at the target.
int target_word(const Mover& mover);
/// The same of words that hold one value each.
Mover by_values(Mover mover);

}  // namespace slipstream
