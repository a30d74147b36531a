#pragma once
// Candidates of the tuner: settings of an exchange's tuning parameters, and the fastest route per class of messages.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/route.hpp>

#include "exchange/choices.hpp"
#include "exchange/message_classes.hpp"

namespace slipstream {

/// One route for all message classes that it can serve, with one set of parameters. Other classes have default routes.
struct Candidate {
  std::string name;
  std::optional<RouteKind> route;  ///< the measured route; none: all messages take their default routes
  Knobs knobs;
  std::map<ClassNumber, RouteKind> chosen;
  std::map<ClassNumber, double> times = {};  ///< measured microseconds of the slowest message by class (size, link)
  double whole = never;                      ///< microseconds of the exchange on the slowest rank, by its host's clock
  bool measured = false;
};

/// Properties of an exchange on which the settings worth trying depend.
struct Tried {
  const Grid& grid;
  const std::vector<ExchangeItem>& items;
  const ExchangeOptions& options;
  bool several_ranks = false;
};

/// Sets of tuning parameters (knobs) worth trying for a message route, each with a description in words. Parameters
/// that the user set stay unchanged. `largest`: bytes of the largest message that the route serves.
std::vector<std::pair<std::string, Knobs>> variants(const Tried& tried, RouteKind kind, double largest);

/// The fastest route for each class of messages (by devices, link and size), as a tuner's candidate, with reasons.
struct Mixture {
  Candidate candidate;
  std::map<ClassNumber, std::string> reasons;
};
/// Combines the fastest measured route of each class of similar messages. A tuning parameter comes from a route that
/// it affects, else from `knobs`. `by_whole`: settings are compared by the whole exchange's time, not by its messages'.
Mixture mixture_of(const std::vector<Candidate>& candidates, const MessageClasses& classes, const Knobs& knobs,
                   bool by_whole);

}  // namespace slipstream
