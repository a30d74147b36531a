#pragma once
// What a tuner found, as text: sent to all ranks, and kept on disk.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <slipstream/exchange.hpp>

namespace slipstream {

/// The part of ExchangeOptions that measurement fills.
struct Found {
  Knobs knobs;
  std::map<std::pair<int, int>, RouteKind> chosen;
  std::map<std::pair<int, int>, std::string> reasons;
};

/// One line: the machine's devices and links, versions, and the hash of what is exchanged and allowed. Where it is
/// equal, so is the answer.
std::string tuner_key(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options);

/// As a file holds it; see Remembered.
std::string to_lines(const Found& found);
/// Nothing where they are not of this form, or of a build that has other routes.
std::optional<Found> found_from_lines(const std::string& lines);

}  // namespace slipstream
