// Route between any two devices through host memory. The source packs, copies to pinned host memory and sends piece by
// piece; the target copies to its device and unpacks. Within a process or a node both ends map the same host memory.
// Else MPI sends one message per pair of devices, one per pair of nodes (node_mail.cpp), or all in one call
// (all_to_all.cpp).
#include "mover/parts.hpp"
#include "node/transport.hpp"
#include "route/all_to_all.hpp"
#include "route/host_ends.hpp"

namespace slipstream {
namespace {

class StagedRoute final : public HostRoute {
 public:
  StagedRoute()
      : HostRoute(RouteKind::staged, "staged",
                  {.needs_host = true, .pack = true, .grouping = true, .chunk = true, .streams = true},
                  {.between = "any two devices",
                   .how = "pack, copy to pinned memory, MPI (on one node: nothing), copy, unpack",
                   .codings = "all, but with pack = memcpy3d raw alone",
                   .between_nodes = "a message per pair of devices, or per pair of nodes (grouping = nodes)",
                   .between_ranks =
                       "sends and receives, or one call for all: MPI_Alltoallv, MPI_Ialltoallv, MPI_Put (mpi = ...)",
                   .capturable = "no: the host drives the copies",
                   .repeated = "no",
                   .work_in_begin = "queues kernels and copies, posts receives",
                   .work_in_end = "drives the copies and MPI until all have arrived",
                   .holds = "the host"},
                  true) {}
  std::string refusal(const Pair&) const override { return ""; }
  std::shared_ptr<const Cut> parts(const Message& message, const std::vector<Leg>& legs) const override {
    return parts_of(message, legs);
  }
  SlotNeed need(const Message& message, const std::vector<Leg>&) const override {
    const bool hands_over =
        message.host_shared && (message.knobs.mpi == MpiCalls::sends || message.source_rank == message.target_rank);
    return {0, 1, 0, false, hands_over ? host_buffer_bytes(message) : 0};
  }
  std::shared_ptr<RouteState> prepare(const RouteSetup& setup) const override {
    if (auto mail = all_to_all_mail(setup, true)) return mail;
    if (setup.knobs.grouping == Grouping::devices || setup.machine.nodes() == 1) return nullptr;
    return node_mail(setup);
  }
};

const StagedRoute staged_route;
const KnownRoute staged_is_known(staged_route);

}  // namespace
}  // namespace slipstream
