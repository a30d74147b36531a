#include <slipstream/throttle.hpp>

#include <cmath>
#include <sstream>

#include <slipstream/error.hpp>

#include "device/decimal_point.hpp"

namespace slipstream {
namespace {

std::string number(double value) {
  const DecimalPoint point;
  std::ostringstream text;
  text.precision(17);
  text << value;
  std::ostringstream brief;
  brief << value;
  return std::stod(brief.str()) == value ? brief.str() : text.str();
}

void check_bounds(const Throttle& t) {
  require(t.gb_per_s >= least_throttled_gb_per_s && t.gb_per_s <= most_throttled_gb_per_s,
          "a throttle of " + number(t.gb_per_s) + " GB/s: give a rate from " + number(least_throttled_gb_per_s) +
              " to " + number(most_throttled_gb_per_s) + " GB/s",
          {{"option", "throttle"}, {"gb_per_s", t.gb_per_s}});
  require(t.latency_us >= 0 && t.latency_us <= most_throttled_us,
          "a throttle with a latency of " + number(t.latency_us) + " us: give one from 0 to " +
              number(most_throttled_us) + " us",
          {{"option", "throttle"}, {"latency_us", t.latency_us}});
}

}  // namespace

void check(const Throttle& t) {
  if (t != Throttle{}) check_bounds(t);
}

std::string to_string(const Throttle& t) {
  if (!t.slows()) return "none";
  return number(t.gb_per_s) + " GB/s" + (t.latency_us > 0 ? ", " + number(t.latency_us) + " us" : "");
}

Throttle throttle_from_string(const std::string& text) {
  if (text == "none") return {};
  const auto unknown = [&] {
    return Error(ErrorCode::invalid_argument,
                 "cannot read the throttle '" + text + "': write a rate and a latency, '12.5 GB/s, 2 us', or 'none'",
                 {{"option", "throttle"}, {"given", text}});
  };
  std::istringstream words(text);
  Throttle t;
  std::string unit, rest;
  if (!(words >> t.gb_per_s >> unit)) throw unknown();
  const bool more = unit == "GB/s,";
  if (more && !(words >> t.latency_us >> rest && rest == "us")) throw unknown();
  if ((!more && unit != "GB/s") || words >> rest) throw unknown();
  if (!std::isfinite(t.gb_per_s) || !std::isfinite(t.latency_us)) throw unknown();
  check_bounds(t);
  return t;
}

}  // namespace slipstream
