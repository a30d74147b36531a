// Route by MPI on device memory: pack, send, unpack. The library must pass a test first, see machine/gpu_mpi.hpp.
#include "route/all_to_all.hpp"
#include "route/host_ends.hpp"

namespace slipstream {
namespace {

class GpuMpiRoute final : public Route {
 public:
  RouteKind kind() const override { return RouteKind::gpu_mpi; }
  std::string name() const override { return "gpu_mpi"; }
  RouteTraits traits() const override {
    return {.needs_host = true, .device_memory = true, .pack = true, .streams = true};
  }
  Facts capability() const override {
    return {{"between", "any two devices, once messages proved that MPI takes their memory"},
            {"how", "pack, MPI, unpack"},
            {"patterns", "any"},
            {"operations", "all"},
            {"codings", "all, but with pack = memcpy3d raw alone"},
            {"origin of memory", "any (MPI sees only the engine's buffers)"},
            {"ranks per device", "any"},
            {"devices per rank", "any"},
            {"between nodes", "a message per pair of devices, whatever the grouping"},
            {"between ranks", "sends and receives, or, with one device a rank, one call for all (mpi = ...)"},
            {"capturable", "no: the host drives MPI"},
            {"repeated within a graph", "no"}};
  }
  Facts execution() const override {
    return {{"host work in begin", "queues kernels, posts receives"},
            {"host work in end", "drives MPI until all have arrived"},
            {"holds while waiting", "the host"},
            {"in flight at once", "1"},
            {"fields rebindable", "yes, by Exchange::bind"},
            {"after a time-out", "old ghost values; the exchange is unusable"}};
  }
  std::string refusal(const Pair& pair) const override { return pair.gpu_mpi; }
  std::shared_ptr<RouteState> prepare(const RouteSetup& setup) const override { return all_to_all_mail(setup, false); }
  std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const override {
    return std::make_unique<HostSender>(message, site, false);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const override {
    return std::make_unique<HostReceiver>(message, site, false);
  }
};

const GpuMpiRoute gpu_mpi_route;
const KnownRoute gpu_mpi_is_known(gpu_mpi_route);

}  // namespace
}  // namespace slipstream
