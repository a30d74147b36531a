// Route by MPI on device memory: pack, send, unpack. The MPI library must pass a test first, see machine/gpu_mpi.hpp.
#include "route/all_to_all.hpp"
#include "route/host_ends.hpp"

namespace slipstream {
namespace {

class GpuMpiRoute final : public HostRoute {
 public:
  GpuMpiRoute()
      : HostRoute(RouteKind::gpu_mpi, "gpu_mpi",
                  {.needs_host = true, .device_memory = true, .pack = true, .streams = true},
                  {.between = "any two devices, once messages proved that MPI takes their memory",
                   .how = "pack, MPI, unpack",
                   .codings = "all, but with pack = memcpy3d raw alone",
                   .origin_of_memory = "any (MPI sees only the engine's buffers)",
                   .between_nodes = "a message per pair of devices, whatever the grouping",
                   .between_ranks = "sends and receives, or, with one device a rank, one call for all (mpi = ...)",
                   .capturable = "no: the host drives MPI",
                   .repeated = "no",
                   .work_in_begin = "queues kernels, posts receives",
                   .work_in_end = "drives MPI until all have arrived",
                   .holds = "the host"},
                  false) {}
  std::string refusal(const Pair& pair) const override { return pair.gpu_mpi; }
  std::shared_ptr<RouteState> prepare(const RouteSetup& setup) const override { return all_to_all_mail(setup, false); }
};

const GpuMpiRoute gpu_mpi_route;
const KnownRoute gpu_mpi_is_known(gpu_mpi_route);

}  // namespace
}  // namespace slipstream
