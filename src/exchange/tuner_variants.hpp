#pragma once
// Settings of the knobs (tuning parameters) that the tuner tries.
#include <string>
#include <utility>
#include <vector>

#include <slipstream/exchange.hpp>

namespace slipstream {

/// Properties of an exchange on which the settings worth trying depend.
struct Tried {
  const Grid& grid;
  const std::vector<ExchangeItem>& items;
  const ExchangeOptions& options;
  bool several_ranks = false;
};

/// Whether some item combines values.
bool combines(const std::vector<ExchangeItem>& items);

/// Settings of the knobs that a route supports, with words for each. Knobs that the user set stay unchanged. `largest`:
/// bytes of the largest message that the route serves.
std::vector<std::pair<std::string, Knobs>> variants(const Tried& tried, RouteKind kind, double largest);

}  // namespace slipstream
