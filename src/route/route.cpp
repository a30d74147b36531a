#include <map>

#include <slipstream/error.hpp>
#include <slipstream/route.hpp>

#include "route/route.hpp"

namespace slipstream {
namespace {

/// All routes by kind. The selection rules prefer lower kinds.
std::map<RouteKind, const Route*>& known() {
  static std::map<RouteKind, const Route*> routes;
  return routes;
}

constexpr std::pair<Pack, const char*> packs[] = {{Pack::fused, "fused"},
                                                  {Pack::per_direction, "per_direction"},
                                                  {Pack::memcpy3d, "memcpy3d"},
                                                  {Pack::zero_copy, "zero_copy"}};

constexpr std::pair<Lanes, const char*> lane_names[] = {{Lanes::one, "one"}, {Lanes::per_direction, "per_direction"}};

constexpr std::pair<Grouping, const char*> groupings[] = {{Grouping::devices, "devices"}, {Grouping::nodes, "nodes"}};

constexpr std::pair<MpiCalls, const char*> mpi_calls[] = {{MpiCalls::sends, "sends"},
                                                          {MpiCalls::alltoallv, "alltoallv"},
                                                          {MpiCalls::ialltoallv, "ialltoallv"},
                                                          {MpiCalls::put_fence, "put_fence"},
                                                          {MpiCalls::put_lock, "put_lock"}};

const std::pair<Scheme, const char*> schemes[] = {
    {{RouteKind::staged, {.pack = Pack::memcpy3d, .streams = Lanes::one, .sync = true}}, "gpu_pack_info"},
    {{RouteKind::staged, {.pack = Pack::per_direction, .streams = Lanes::per_direction}}, "gpu_pack_info_async"},
    {{RouteKind::gpu_mpi, {.pack = Pack::per_direction, .streams = Lanes::per_direction}}, "gpu_buffered"}};

template <class Table, class Value>
std::string name_of(const Table& table, Value wanted) {
  for (const auto& [value, name] : table)
    if (value == wanted) return name;
  return "?";
}

template <class Table>
auto value_of(const Table& table, const std::string& text, const std::string& what) {
  std::string known;
  for (const auto& [value, name] : table) {
    if (text == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(ErrorCode::invalid_argument, "no " + what + " is named '" + text + "': choose among " + known,
              {{"option", what}, {"given", text}, {"choices", known}});
}

}  // namespace

KnownRoute::KnownRoute(const Route& route) : kind_(route.kind()) {
  // Ranks exchange the routes in use as a bit mask.
  require(static_cast<int>(kind_) < 64 && known().emplace(kind_, &route).second, ErrorCode::internal,
          "two routes are of kind " + std::to_string(static_cast<int>(kind_)) + ", or it is beyond 63");
}
KnownRoute::~KnownRoute() { known().erase(kind_); }

const Route& route(RouteKind kind) {
  const auto found = known().find(kind);
  require(found != known().end(), ErrorCode::internal, "unknown route");
  return *found->second;
}
RouteTraits traits_of(RouteKind kind) { return route(kind).traits(); }

std::string to_string(RouteKind kind) {
  const auto found = known().find(kind);
  return found == known().end() ? "?" : found->second->name();
}
RouteKind route_from_string(const std::string& name) {
  std::map<RouteKind, std::string> names;
  for (const auto& [kind, route] : known()) names[kind] = route->name();
  return value_of(names, name, "route");
}
std::string to_string(Pack pack) { return name_of(packs, pack); }
Pack pack_from_string(const std::string& name) { return value_of(packs, name, "way to pack"); }
std::string to_string(Lanes lanes) { return name_of(lane_names, lanes); }
Lanes lanes_from_string(const std::string& name) { return value_of(lane_names, name, "use of streams"); }
std::string to_string(Grouping grouping) { return name_of(groupings, grouping); }
Grouping grouping_from_string(const std::string& name) { return value_of(groupings, name, "grouping of messages"); }
std::string to_string(MpiCalls calls) { return name_of(mpi_calls, calls); }
MpiCalls mpi_calls_from_string(const std::string& name) { return value_of(mpi_calls, name, "call of MPI"); }

Scheme named_scheme(const std::string& name) { return value_of(schemes, name, "scheme"); }

std::vector<RouteKind> all_routes() {
  std::vector<RouteKind> kinds;
  for (const auto& [kind, route] : known()) kinds.push_back(kind);
  return kinds;
}

}  // namespace slipstream
