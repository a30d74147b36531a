#pragma once
// Candidates of the tuner, and the mixture of the best ones.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/route.hpp>

#include "exchange/choices.hpp"
#include "exchange/message_classes.hpp"

namespace slipstream {

/// One route for all classes of messages that it can serve, with one setting of its knobs. Others follow the rules.
struct Candidate {
  std::string name;
  std::optional<RouteKind> route;  ///< none: all messages follow the rules
  Knobs knobs;
  std::map<ClassNumber, RouteKind> chosen;
  std::map<ClassNumber, double> times = {};  ///< microseconds of the slowest message of a class
  double whole = never;                      ///< microseconds on the slowest rank, by its host's clock
  bool measured = false;
};

/// A time in words: "12.3 us".
std::string microseconds(double time);

/// A candidate with the fastest route of each class, and why these are the fastest.
struct Mixture {
  Candidate candidate;
  std::map<ClassNumber, std::string> reasons;
};
/// Knobs belong to the whole exchange, so each knob comes from a route that it affects, and the others from `knobs`.
/// `by_whole`: the time of the whole exchange says which setting of a route is best, and not those of its messages.
Mixture mixture_of(const std::vector<Candidate>& candidates, const MessageClasses& classes, const Knobs& knobs,
                   bool by_whole);

/// Whether a candidate with the same routes and knobs has been measured.
bool measured_before(const std::vector<Candidate>& candidates, const Candidate& mixed);

}  // namespace slipstream
