#include <map>

#include <slipstream/error.hpp>
#include <slipstream/route.hpp>

#include "device/names.hpp"
#include "route/route.hpp"

namespace slipstream {
namespace {

/// All registered routes by kind. The selection rules prefer lower kinds.
std::map<RouteKind, const Route*>& known() {
  static std::map<RouteKind, const Route*> routes;
  return routes;
}

constexpr std::pair<const char*, Pack> packs[] = {{"fused", Pack::fused},
                                                  {"per_direction", Pack::per_direction},
                                                  {"memcpy3d", Pack::memcpy3d},
                                                  {"zero_copy", Pack::zero_copy}};

constexpr std::pair<const char*, Lanes> lane_names[] = {{"one", Lanes::one}, {"per_direction", Lanes::per_direction}};

constexpr std::pair<const char*, Grouping> groupings[] = {{"devices", Grouping::devices}, {"nodes", Grouping::nodes}};

constexpr std::pair<const char*, MpiCalls> mpi_calls[] = {{"sends", MpiCalls::sends},
                                                          {"alltoallv", MpiCalls::alltoallv},
                                                          {"ialltoallv", MpiCalls::ialltoallv},
                                                          {"put_fence", MpiCalls::put_fence},
                                                          {"put_lock", MpiCalls::put_lock}};

const std::pair<const char*, Scheme> schemes[] = {
    {"gpu_pack_info", {RouteKind::staged, {.pack = Pack::memcpy3d, .streams = Lanes::one, .sync = true}}},
    {"gpu_pack_info_async", {RouteKind::staged, {.pack = Pack::per_direction, .streams = Lanes::per_direction}}},
    {"gpu_buffered", {RouteKind::gpu_mpi, {.pack = Pack::per_direction, .streams = Lanes::per_direction}}}};

template <class Table>
auto value_of(const Table& table, const std::string& name, const std::string& what) {
  return value_in(table, name, "no " + what + " is named", what);
}

}  // namespace

Route::Table Route::capability() const {
  const RouteFacts f = facts();
  Table table{{"between", f.between},
              {"how", f.how},
              {"patterns", "any"},
              {"operations", "all"},
              {"codings", f.codings},
              {"origin of memory", f.origin_of_memory},
              {"ranks per device", f.ranks_per_device},
              {"devices per rank", f.devices_per_rank},
              {"between nodes", f.between_nodes},
              {"between ranks", f.between_ranks},
              {"capturable", f.capturable},
              {"repeated within a graph", f.repeated}};
  std::erase_if(table, [](const auto& row) { return row.second.empty(); });
  return table;
}

Route::Table Route::execution() const {
  const RouteFacts f = facts();
  return {{"host work in begin", f.work_in_begin}, {"host work in end", f.work_in_end},
          {"holds while waiting", f.holds},        {"in flight at once", "1"},
          {"fields rebindable", f.rebindable},     {"after a time-out", f.after_timeout}};
}

KnownRoute::KnownRoute(const Route& route) : kind_(route.kind()) {
  // Kinds are below 64, because ranks exchange the routes in use as a bit mask.
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
  std::vector<std::pair<std::string, RouteKind>> names;
  for (const auto& [kind, route] : known()) names.emplace_back(route->name(), kind);
  return value_of(names, name, "route");
}
std::string to_string(Pack pack) { return name_in(packs, pack); }
Pack pack_from_string(const std::string& name) { return value_of(packs, name, "way to pack"); }
std::string to_string(Lanes lanes) { return name_in(lane_names, lanes); }
Lanes lanes_from_string(const std::string& name) { return value_of(lane_names, name, "use of streams"); }
std::string to_string(Grouping grouping) { return name_in(groupings, grouping); }
Grouping grouping_from_string(const std::string& name) { return value_of(groupings, name, "grouping of messages"); }
std::string to_string(MpiCalls calls) { return name_in(mpi_calls, calls); }
MpiCalls mpi_calls_from_string(const std::string& name) { return value_of(mpi_calls, name, "call of MPI"); }

Scheme named_scheme(const std::string& name) { return value_of(schemes, name, "scheme"); }

std::vector<RouteKind> all_routes() {
  std::vector<RouteKind> kinds;
  for (const auto& [kind, route] : known()) kinds.push_back(kind);
  return kinds;
}

}  // namespace slipstream
