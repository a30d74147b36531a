// Links between GPUs by NVML, which is loaded if present. Without it all links are `system`, at the rate of PCIe.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>

#include "device/cuda/common.hpp"
#include "device/cuda/nvml.hpp"
#include "machine/links.hpp"

namespace slipstream::detail {
namespace {

int attribute(int device, cudaDeviceAttr name) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, name, device) == cudaSuccess ? value : (cudaGetLastError(), 0);
}

/// A PCI address as numbers, because CUDA and NVML print it with different widths.
struct Address {
  unsigned domain = 0, bus = 0, device = 0;
  bool operator==(const Address&) const = default;
};

Address address_of(const std::string& bus_id) {
  Address a;
  std::sscanf(bus_id.c_str(), "%x:%x:%x", &a.domain, &a.bus, &a.device);
  return a;
}

/// Queries of links and PCIe rates through NVML.
class Nvml {
 public:
  using Handle = void*;

  /// NVML's handle of a device. Null if NVML is missing or does not know the device.
  Handle handle(const std::string& bus_id) const {
    Handle device = nullptr;
    return library_.started() && by_bus_id_ && by_bus_id_(bus_id.c_str(), &device) == success ? device : nullptr;
  }

  /// Number of active NVLinks of a device; with `peer`, only those that lead directly to that device.
  int nvlinks(Handle device, const Address* peer = nullptr) const {
    constexpr unsigned most_links = 36;
    if (!link_state_ || !link_remote_) return 0;
    int count = 0;
    for (unsigned link = 0; link < most_links; ++link) {
      int active = 0;
      if (link_state_(device, link, &active) != success || !active) continue;
      PciInfo remote{};
      if (peer && (link_remote_(device, link, &remote) != success ||
                   Address{remote.domain, remote.bus, remote.device} != *peer))
        continue;
      ++count;
    }
    return count;
  }

  enum Capability { read = 0, write = 1, nvlink = 2 };
  bool p2p(Handle from, Handle to, Capability capability) const {
    int status = 0;
    return p2p_status_ && p2p_status_(from, to, capability, &status) == success && status == p2p_ok;
  }

  LinkKind path(Handle from, Handle to) const {
    int level = 0;
    if (!common_ancestor_ || common_ancestor_(from, to, &level) != success) return LinkKind::system;
    if (level <= 20) return LinkKind::pcie_switch;  // both GPUs are on one board, or joined by PCIe switches
    if (level <= 30) return LinkKind::host_bridge;
    return level <= 40 ? LinkKind::numa : LinkKind::system;
  }

  /// Rated GB/s of a device's PCIe link per direction; 0 if unknown.
  double pcie_gb_per_s(Handle device) const {
    unsigned generation = 0, width = 0;
    if (!pcie_generation_ || !pcie_width_ || pcie_generation_(device, &generation) != success ||
        pcie_width_(device, &width) != success)
      return 0;
    constexpr double per_lane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    return per_lane[std::min<unsigned>(generation, 6)] * width;
  }

 private:
  static constexpr int success = cuda::NvmlLibrary::success;
  static constexpr int p2p_ok = 0;

  struct PciInfo {
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
  };

  const cuda::NvmlLibrary& library_ = cuda::NvmlLibrary::get();
  int (*by_bus_id_)(const char*, Handle*) = library_["nvmlDeviceGetHandleByPciBusId_v2"];
  int (*link_state_)(Handle, unsigned, int*) = library_["nvmlDeviceGetNvLinkState"];
  int (*link_remote_)(Handle, unsigned, PciInfo*) = library_["nvmlDeviceGetNvLinkRemotePciInfo_v2"];
  int (*common_ancestor_)(Handle, Handle, int*) = library_["nvmlDeviceGetTopologyCommonAncestor"];
  int (*p2p_status_)(Handle, Handle, int, int*) = library_["nvmlDeviceGetP2PStatus"];
  int (*pcie_generation_)(Handle, unsigned*) = library_["nvmlDeviceGetMaxPcieLinkGeneration"];
  int (*pcie_width_)(Handle, unsigned*) = library_["nvmlDeviceGetMaxPcieLinkWidth"];
};

/// Rated GB/s of one NVLink per direction, by compute capability: the version that NVML reports does not determine the
/// rate.
double nvlink_gb_per_s(int major, int minor) {
  if (major >= 10) return 50;
  if (major == 8 && minor != 0) return 14.0625;
  return major == 6 ? 20 : 25;
}

class CudaLinks final : public LinkProbe {
 public:
  std::vector<PhysicalDevice> devices() const override {
    std::vector<PhysicalDevice> result;
    for (int i = 0; i < device_count(Backend::cuda); ++i) {
      cudaDeviceProp properties{};
      char bus_id[32] = {};
      const Device device{Backend::cuda, i};
      cuda::check(cudaGetDeviceProperties(&properties, i), device, "reading the GPU's properties");
      cuda::check(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, i), device, "reading the GPU's PCI address");
      result.push_back({device, cuda::uuid_string(properties.uuid), bus_id});
    }
    return result;
  }

  double memory_gb_per_s(Device device) const override {
    const double kilohertz = attribute(device.index, cudaDevAttrMemoryClockRate);
    const double bits = attribute(device.index, cudaDevAttrGlobalMemoryBusWidth);
    return 2 * kilohertz * 1e3 * bits / 8 / 1e9;  // memory transfers two words per clock cycle (double data rate)
  }

  bool takes_turns(Device device) const override { return attribute(device.index, cudaDevAttrMpsEnabled) == 0; }

  Link link(const PhysicalDevice& from, const PhysicalDevice& to) const override {
    constexpr double unknown_gb_per_s = 16;
    if (from.uuid == to.uuid) {
      const double memory = memory_gb_per_s(from.local);
      return {LinkKind::same, memory > 0 ? memory / 2 : unknown_gb_per_s, true};
    }
    const Nvml::Handle a = nvml_.handle(from.bus_id), b = nvml_.handle(to.bus_id);
    Link link{LinkKind::system, unknown_gb_per_s, peer(from, to, a, b)};
    if (!a || !b) return link;
    if (const int links = nvlinks(a, b, to); links > 0) {
      link.kind = LinkKind::nvlink;
      link.gb_per_s = links * nvlink_gb_per_s(attribute(from.local.index, cudaDevAttrComputeCapabilityMajor),
                                              attribute(from.local.index, cudaDevAttrComputeCapabilityMinor));
      return link;
    }
    link.kind = nvml_.path(a, b);
    const double pcie = std::min(nvml_.pcie_gb_per_s(a), nvml_.pcie_gb_per_s(b));
    if (pcie > 0) link.gb_per_s = pcie;
    return link;
  }

 private:
  /// Number of NVLinks between two GPUs: direct ones if there are any, else all that lead to a common switch.
  int nvlinks(Nvml::Handle a, Nvml::Handle b, const PhysicalDevice& to) const {
    const Address peer = address_of(to.bus_id);
    if (const int direct = nvml_.nvlinks(a, &peer); direct > 0) return direct;
    return nvml_.p2p(a, b, Nvml::nvlink) ? std::min(nvml_.nvlinks(a), nvml_.nvlinks(b)) : 0;
  }

  /// Whether two GPUs are peers. Asks CUDA if this process sees both, which creates no context; otherwise asks NVML.
  bool peer(const PhysicalDevice& from, const PhysicalDevice& to, Nvml::Handle a, Nvml::Handle b) const {
    for (const PhysicalDevice& seen : devices()) {
      if (seen.uuid != to.uuid) continue;
      int possible = 0;
      cuda::check(cudaDeviceCanAccessPeer(&possible, from.local.index, seen.local.index), from.local,
                  "asking for peer access");
      return possible != 0;
    }
    return a && b && nvml_.p2p(a, b, Nvml::read) && nvml_.p2p(a, b, Nvml::write);
  }

  Nvml nvml_;
};

}  // namespace

LinkProbe* cuda_links() {
  static CudaLinks links;
  return &links;
}

}  // namespace slipstream::detail
