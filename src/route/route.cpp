#include <algorithm>
#include <map>
#include <sstream>

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
  Table table{{"between", facts_.between},
              {"how", facts_.how},
              {"patterns", "any"},
              {"operations", "all"},
              {"codings", facts_.codings},
              {"origin of memory", facts_.origin_of_memory},
              {"ranks per device", facts_.ranks_per_device},
              {"devices per rank", facts_.devices_per_rank},
              {"between nodes", facts_.between_nodes},
              {"between ranks", facts_.between_ranks},
              {"capturable", facts_.capturable},
              {"repeated within a graph", facts_.repeated}};
  std::erase_if(table, [](const auto& row) { return row.second.empty(); });
  return table;
}

Route::Table Route::execution() const {
  return {{"host work in begin", facts_.work_in_begin}, {"host work in end", facts_.work_in_end},
          {"holds while waiting", facts_.holds},        {"in flight at once", "1"},
          {"fields rebindable", facts_.rebindable},     {"after a time-out", facts_.after_timeout}};
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

std::vector<RouteKind> routes_from_string(const std::string& text) {
  std::vector<RouteKind> kinds;
  bool first = true;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    std::erase(word, ' ');
    if (word.empty()) continue;
    const bool sign = word[0] == '+' || word[0] == '-';
    const RouteKind kind = route_from_string(word.substr(sign ? 1 : 0));
    if (first && sign) kinds = all_routes();
    first = false;
    std::erase(kinds, kind);
    if (word[0] != '-') kinds.push_back(kind);
  }
  if (first) return all_routes();
  require(!kinds.empty(), "routes '" + text + "' leave none: name at least one, staged serves any pair of devices",
          {{"option", "routes"}, {"given", text}});
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

}  // namespace slipstream
