#include "machine/links.hpp"

#include <slipstream/error.hpp>

namespace slipstream::detail {
namespace {

/// Typical copy rate of one core through memory, in GB/s. A constant, because a measured rate would make plans differ
/// between runs.
constexpr double host_copy_gb_per_s = 10;

class HostLinks final : public LinkProbe {
 public:
  std::vector<PhysicalDevice> devices() const override {
    std::vector<PhysicalDevice> result;
    for (int i = 0; i < device_count(Backend::host); ++i)
      result.push_back({Device{Backend::host, i}, "emulated-" + std::to_string(i), ""});
    return result;
  }
  double memory_gb_per_s(Device) const override { return 0; }
  bool takes_turns(Device) const override { return false; }
  Link link(const PhysicalDevice& from, const PhysicalDevice& to) const override {
    return {from.uuid == to.uuid ? LinkKind::same : LinkKind::memory, host_copy_gb_per_s, true};
  }
};

}  // namespace

LinkProbe& links_of(Backend backend) {
  static HostLinks host_links;
  if (backend == Backend::host) return host_links;
  require(cuda_links() != nullptr, ErrorCode::unavailable,
          "this build of Slipstream has no CUDA backend: configure with the preset cuda", {{"backend", "cuda"}});
  return *cuda_links();
}

}  // namespace slipstream::detail
