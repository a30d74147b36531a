#pragma once
// Serialised tuning results, broadcast to all ranks and cached on disk.
#include <map>
#include <optional>
#include <string>

#include <slipstream/exchange.hpp>

#include "exchange/message_classes.hpp"

namespace slipstream {

/// The result of tuning: knobs, and a route with its reason for each class of messages.
struct Found {
  Knobs knobs;
  std::map<ClassNumber, RouteKind> chosen;
  std::map<ClassNumber, std::string> reasons;
};

/// Key of a tuning result in one line: devices and links of the machine, versions, and a hash of items and allowed
/// options. Equal keys have equal results.
std::string tuner_key(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options);

/// Lines of a result for its cache file; see `ResultCache`.
std::string to_lines(const Found& found);
/// Parses a cached result. Returns nothing if the format differs, or if the build had other routes.
std::optional<Found> found_from_lines(const std::string& lines);

}  // namespace slipstream
