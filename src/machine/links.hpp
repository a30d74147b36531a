#pragma once
// Interface to properties of devices: identity without opening them, memory bandwidth, and links between them.
#include <algorithm>
#include <string>
#include <vector>

#include <slipstream/machine.hpp>

namespace slipstream::detail {

/// Identity of a device that all processes of its host agree on.
struct PhysicalDevice {
  Device local;  ///< the device's number in the process that listed it
  std::string
      uuid;  ///< UUID of the GPU. On the host backend: unique in the process; discovery then adds the host and the rank
  std::string bus_id;  ///< PCI address; empty on the host backend
};

class LinkProbe {
 public:
  virtual ~LinkProbe() = default;
  /// All devices visible to this process. Opens none of them.
  virtual std::vector<PhysicalDevice> devices() const = 0;
  /// Rated bandwidth of the device's memory in GB/s, reads and writes together; 0 if unknown.
  virtual double memory_gb_per_s(Device device) const = 0;
  /// Whether processes share the device by time slicing.
  virtual bool takes_turns(Device device) const = 0;
  /// Link from a device of this process to another one of the host, possibly of another process.
  virtual Link link(const PhysicalDevice& from, const PhysicalDevice& to) const = 0;
};

/// Index of a value in a list of distinct values, to which it is appended if it is new.
template <class T>
int place_among(std::vector<T>& values, const T& value) {
  const auto at = std::find(values.begin(), values.end(), value) - values.begin();
  if (at == std::ssize(values)) values.push_back(value);
  return static_cast<int>(at);
}

/// The probe for CUDA devices; null in a build without CUDA.
LinkProbe* cuda_links();
LinkProbe& links_of(Backend backend);

}  // namespace slipstream::detail
