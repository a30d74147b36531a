#pragma once
// How messages travel: what can be chosen. src/route/route.hpp is what a way of moving one is made of.
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// How a message travels, in the order in which the rules prefer them. All else of a route stands in its file.
enum class RouteKind : std::uint8_t { kernel, direct, peer, colocated, nccl, nvshmem, gpu_mpi, staged };
std::string to_string(RouteKind kind);
RouteKind route_from_string(const std::string& name);
std::vector<RouteKind> all_routes();

/// Users ask a route these questions, and not which one it is.
struct RouteTraits {
  bool within_device = false;   ///< joins blocks of one device alone
  bool within_process = false;  ///< joins devices of one process alone
  bool needs_host = false;      ///< the host drives it in Exchange::end()
  bool stores = false;          ///< kernels of the source store each value where it belongs
  bool loops = false;           ///< a graph may repeat its exchanges in a loop
  bool device_memory = false;   ///< gives device memory to MPI, which must prove that it takes it
  /// Knobs that it heeds: with `pack` also sync and mpi, with `in_place` also sealed, ring and teams of its own.
  bool pack = false, grouping = false, chunk = false, in_place = false, streams = false;
};
RouteTraits traits_of(RouteKind kind);
/// Names separated by commas: "direct,staged" are these and no other; "+name" and "-name" add to and take from what
/// stands before them, or from all where nothing does. Throws Error where none is left.
std::vector<RouteKind> routes_from_string(const std::string& text);

/// How routes that the host drives gather a message's values: in the launch that serves all messages, in a launch of
/// its own, by one strided copy for each box, or by stores straight into pinned host memory.
enum class Pack : std::uint8_t { fused, per_direction, memcpy3d, zero_copy };
std::string to_string(Pack pack);
Pack pack_from_string(const std::string& name);
/// Whether what belongs to one message alone (copies, launches of its own) shares a stream with other messages.
enum class Lanes : std::uint8_t { one, per_direction };
std::string to_string(Lanes lanes);
Lanes lanes_from_string(const std::string& name);
/// What `staged` gives to MPI between nodes: a message for each pair of devices, or one for each pair of nodes, which
/// the ranks of a node lay out in host memory that they share and one of them sends.
enum class Grouping : std::uint8_t { devices, nodes };
std::string to_string(Grouping grouping);
Grouping grouping_from_string(const std::string& name);
/// By which calls of MPI the messages of `staged` and `gpu_mpi` get from rank to rank: a send and a receive for each;
/// one MPI_Alltoallv for all, that blocks or does not; or MPI_Put into windows, between two fences or under locks. All
/// but sends need the other ranks: in one call travels what all ranks send, also what ranks of a node would else hand
/// over in memory that they share. What blocks is called in Exchange::end() alone, behind a barrier that does not
/// block: a rank that does not come is a Timeout; one that stops between the barrier and the call is not, and ends with
/// the job.
enum class MpiCalls : std::uint8_t { sends, alltoallv, ialltoallv, put_fence, put_lock };
std::string to_string(MpiCalls calls);
MpiCalls mpi_calls_from_string(const std::string& name);
/// Why this MPI cannot carry messages among these ranks by such calls; empty where it can. MPI_Put needs windows, which
/// some installations of MPI cannot open. The same on all ranks; collective.
std::string refusal_of(const Communicator& comm, MpiCalls calls);

/// What can be chosen about an exchange beside its routes; the tuner sets it where the user does not.
struct Knobs {
  Pack pack = Pack::fused;
  Lanes streams = Lanes::per_direction;
  Grouping grouping = Grouping::devices;
  MpiCalls mpi = MpiCalls::sends;
  bool sync = false;  ///< the host waits after every packing and every unpacking
  int teams = 0;      ///< thread blocks of a launch; 0, and at most: as many as the device holds at once; of begin and
                      ///< end on GPUs half its multiprocessors, at most all
  std::int64_t in_place =
      -1;  ///< `direct` stores rows of at least so many bytes into ghosts, packs others; -1: by size
  /// Messages of `direct` of at most so many bytes travel in lines that carry the exchange's number, where the link
  /// keeps lines whole; -1: by size.
  std::int64_t sealed = -1;
  std::int64_t chunk = 0;       ///< bytes that are signalled (staged: copied, sent) at once; 0: by size
  std::int64_t ring = 1 << 28;  ///< most bytes of landing slots of one message
  bool operator==(const Knobs&) const = default;
};

/// A combination with a name, from J. V. Tozatti Risso, "Scalable GPU communication framework for stencil based
/// applications" (UFPR, 2017), section 4.2. gpu_pack_info: strided copies into host memory, one after the other;
/// gpu_pack_info_async: a packing kernel and a stream for each neighbour, then host memory; gpu_buffered: the same with
/// device memory given to MPI.
struct Scheme {
  RouteKind route = RouteKind::staged;
  Knobs knobs;
};
Scheme named_scheme(const std::string& name);

}  // namespace slipstream
