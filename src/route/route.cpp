#include <slipstream/error.hpp>
#include <slipstream/route.hpp>

#include "route/routes.hpp"

namespace slipstream {
namespace {

constexpr std::pair<RouteKind, const char*> names[] = {{RouteKind::kernel, "kernel"},
                                                       {RouteKind::direct, "direct"},
                                                       {RouteKind::peer, "peer"},
                                                       {RouteKind::colocated, "colocated"},
                                                       {RouteKind::staged, "staged"}};

}  // namespace

std::string to_string(RouteKind kind) {
  for (const auto& [value, name] : names)
    if (value == kind) return name;
  return "?";
}

RouteKind route_from_string(const std::string& text) {
  for (const auto& [value, name] : names)
    if (text == name) return value;
  throw Error("no route is named '" + text + "': choose among kernel, direct, peer, colocated, staged");
}

std::vector<RouteKind> all_routes() {
  std::vector<RouteKind> kinds;
  for (const auto& [value, name] : names) kinds.push_back(value);
  return kinds;
}

const Route& route(RouteKind kind) {
  switch (kind) {
    case RouteKind::kernel:
      return kernel_route();
    case RouteKind::direct:
      return direct_route();
    case RouteKind::peer:
      return peer_route();
    case RouteKind::colocated:
      return colocated_route();
    case RouteKind::staged:
      return staged_route();
  }
  throw Error("unknown route");
}

}  // namespace slipstream
