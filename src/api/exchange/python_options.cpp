// Options of exchanges and transforms, read from Python.
#include <nanobind/stl/array.h>

#include "api/exchange/python_report.hpp"
#include "api/reading.hpp"

namespace slipstream::python {

std::vector<RouteKind> routes_from(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return routes_from_string(text);
}

ExchangeOptions exchange_options(const nb::dict& dict, Watched* watched) {
  ExchangeOptions options;
  std::vector<std::string> routes;
  std::string throttle = "none";
  Reader reader(dict, "an exchange");
  reader.read("routes", routes);
  reader.read("wait_limit", options.wait_limit);
  reader.read("throttle", throttle);
  reader.read("measure_errors", options.measure_errors);
  reader.read("poison", options.poison);
  read_knobs(reader, options.knobs);
  if (watched) *watched = read_watched(reader);
  reader.finish();
  options.routes = routes_from(routes);
  options.throttle = throttle_from_string(throttle);
  return options;
}

ExchangeOptions exchange_options(const nb::dict& dict) { return exchange_options(dict, nullptr); }

}  // namespace slipstream::python
