#include <slipstream/error.hpp>
#include <slipstream/route.hpp>

#include "route/routes.hpp"

namespace slipstream {
namespace {

constexpr std::pair<RouteKind, const char*> names[] = {
    {RouteKind::kernel, "kernel"},       {RouteKind::direct, "direct"}, {RouteKind::peer, "peer"},
    {RouteKind::colocated, "colocated"}, {RouteKind::nccl, "nccl"},     {RouteKind::nvshmem, "nvshmem"},
    {RouteKind::gpu_mpi, "gpu_mpi"},     {RouteKind::staged, "staged"}};

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

std::string to_string(RouteKind kind) { return name_of(names, kind); }
RouteKind route_from_string(const std::string& name) { return value_of(names, name, "route"); }
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
    case RouteKind::gpu_mpi:
      return gpu_mpi_route();
    case RouteKind::staged:
      return staged_route();
    case RouteKind::nccl:
      return nccl_route();
    case RouteKind::nvshmem:
      return nvshmem_route();
  }
  throw Error(ErrorCode::internal, "unknown route");
}

}  // namespace slipstream
