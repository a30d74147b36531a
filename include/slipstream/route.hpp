#pragma once
// Choices of how messages travel. src/route/route.hpp is the interface that a route implements.
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// The transport of a message between devices, in the order in which the rules prefer them. Each route is implemented
/// in its own file of src/route.
enum class RouteKind : std::uint8_t { kernel, direct, peer, colocated, nccl, nvshmem, gpu_mpi, staged };
std::string to_string(RouteKind kind);
RouteKind route_from_string(const std::string& name);
std::vector<RouteKind> all_routes();

/// Properties of a route. Code that uses routes tests these and not the kind.
struct RouteTraits {
  bool within_device = false;   ///< whether the route connects blocks of one device only
  bool within_process = false;  ///< whether the route connects devices of one process only
  bool needs_host = false;      ///< whether the host drives the route in Exchange::end()
  bool stores = false;          ///< whether kernels of the source store each value at its destination
  bool loops = false;           ///< whether a graph may repeat the route's exchanges in a loop on the device
  bool device_memory = false;   ///< whether the route passes device memory to MPI, after a test that MPI can take it
  /// Whether the tuning parameters of these names in Knobs affect the route. `pack` also covers Knobs::sync and mpi;
  /// `in_place` also covers packet_limit, ring (size of receive buffers) and teams (number of thread blocks).
  bool pack = false, grouping = false, chunk = false, in_place = false, streams = false;
};
RouteTraits traits_of(RouteKind kind);
/// Parses route names separated by commas: "direct,staged" are these and no other. "+name" adds to the names before it,
/// "-name" removes from them. Without names before it the list starts with all routes. Throws Error where none is left.
std::vector<RouteKind> routes_from_string(const std::string& text);

/// Packing of a message's values, for routes that the host drives. fused: in the launch that serves all messages.
/// per_direction: in a launch of its own. memcpy3d: by one strided copy for each box. zero_copy: by stores straight
/// into pinned host memory.
enum class Pack : std::uint8_t { fused, per_direction, memcpy3d, zero_copy };
std::string to_string(Pack pack);
Pack pack_from_string(const std::string& name);
/// Streams for copies and launches of messages. one: all messages share a stream; per_direction: each has its own.
enum class Lanes : std::uint8_t { one, per_direction };
std::string to_string(Lanes lanes);
Lanes lanes_from_string(const std::string& name);
/// Messages of `staged` between nodes: one for each pair of devices, or one for each pair of nodes. In the latter the
/// ranks of a node assemble the message in host memory that they share, and one rank sends it.
enum class Grouping : std::uint8_t { devices, nodes };
std::string to_string(Grouping grouping);
Grouping grouping_from_string(const std::string& name);
/// MPI calls for the messages of `staged` and `gpu_mpi`. sends: a send and a receive for each message. alltoallv,
/// ialltoallv: one MPI_Alltoallv for all, blocking or not. put_fence, put_lock: MPI_Put into windows, between two
/// fences or under locks. All except sends need all ranks. One call then carries the messages of all ranks, even those
/// that ranks of a node would pass through shared memory. Blocking calls are made in Exchange::end() only, after a
/// nonblocking barrier. A rank that does not reach the barrier is a Timeout. A rank that stops between the barrier and
/// the call is not detected, and ends with the job.
enum class MpiCalls : std::uint8_t { sends, alltoallv, ialltoallv, put_fence, put_lock };
std::string to_string(MpiCalls calls);
MpiCalls mpi_calls_from_string(const std::string& name);
/// Says why this MPI cannot exchange messages among these ranks by these calls; empty where it can. MPI_Put needs
/// windows, which some installations of MPI cannot open. The same on all ranks; collective.
std::string refusal_of(const Communicator& comm, MpiCalls calls);

/// Tuning parameters of an exchange besides its routes. The tuner sets those that the user does not.
struct Knobs {
  Pack pack = Pack::fused;
  Lanes streams = Lanes::per_direction;
  Grouping grouping = Grouping::devices;
  MpiCalls mpi = MpiCalls::sends;
  bool sync = false;  ///< whether the host waits after every packing and every unpacking
  int teams = 0;      ///< number of thread blocks of a launch, at most what the device holds at once, the default (0);
                      ///< for begin() and end() on GPUs at most its multiprocessors, by default half of them
  std::int64_t in_place =
      -1;  ///< `direct` stores rows of at least this many bytes into ghosts, and packs others; -1: by size
  /// Largest message of `direct`, in bytes, that travels in latency-optimised packets with the exchange's sequence
  /// number (Packet). Packets need a link that stores them atomically. -1: by size.
  std::int64_t packet_limit = -1;
  std::int64_t chunk = 0;       ///< message bytes per arrival signal (via host: per copy or send); 0: chosen by size
  std::int64_t ring = 1 << 28;  ///< largest size of the receive buffers of one message in bytes
  bool operator==(const Knobs&) const = default;
};

/// A named combination from J. V. Tozatti Risso, "Scalable GPU communication framework for stencil based applications"
/// (UFPR, 2017), section 4.2. gpu_pack_info: strided copies into host memory, one after the other. gpu_pack_info_async:
/// a packing kernel and a stream for each neighbour, then host memory. gpu_buffered: the same, but with device memory
/// passed to MPI.
struct Scheme {
  RouteKind route = RouteKind::staged;
  Knobs knobs;
};
Scheme named_scheme(const std::string& name);

}  // namespace slipstream
