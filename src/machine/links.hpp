#pragma once
// What a backend knows of its devices beyond device/: identity without touching them, memory bandwidth, links.
#include <string>
#include <vector>

#include <slipstream/machine.hpp>

namespace slipstream::detail {

/// A device as any process of its host can tell it.
struct PhysicalDevice {
  Device local;        ///< in the process that listed it
  std::string uuid;    ///< on the host backend unique in its process only: discovery gives a longer one
  std::string bus_id;  ///< PCI address, empty on the host backend
};

class LinkProbe {
 public:
  virtual ~LinkProbe() = default;
  /// All devices that this process sees. Takes none of them in use.
  virtual std::vector<PhysicalDevice> devices() const = 0;
  /// Rated, read + write; 0 where not known.
  virtual double memory_gb_per_s(Device device) const = 0;
  /// Whether processes use it one at a time.
  virtual bool takes_turns(Device device) const = 0;
  /// From a device of this process to another one of the same host, whose process need not be this one.
  virtual Link link(const PhysicalDevice& from, const PhysicalDevice& to) const = 0;
};

LinkProbe& host_links();
/// Null where the build has no CUDA.
LinkProbe* cuda_links();
LinkProbe& links_of(Backend backend);

}  // namespace slipstream::detail
