#pragma once
// The cores of this process on its host, and the devices near to them, by hwloc. All calls are local to the process.
#include <string>
#include <vector>

namespace slipstream::detail {

class Affinity {
 public:
  /// Inspects the host. `rebind`: first undo a binding to cores that an earlier Affinity made.
  explicit Affinity(bool rebind);

  /// Whether a launcher or a container gave this process fewer cores than the host has.
  bool restricted() const;
  /// Indices of all cores that hwloc shows to this process.
  std::vector<int> cores() const;
  /// The cores nearest to any of the devices with these PCI addresses; all cores if the addresses are unknown.
  std::vector<int> cores_near(const std::vector<std::string>& bus_ids) const;
  /// Distance in hwloc's tree of the host from this process's cores to a PCI address; 0 if near or unknown.
  int distance(const std::string& bus_id) const;

  /// Binds all threads of this process to the cores, and its new memory to their NUMA node. Returns false if the system
  /// refuses.
  bool bind(const std::vector<int>& cores);

  /// Text of the hardware threads that this process may use, in the system's numbering: 0-3,8.
  std::string allowed() const;
  int allowed_count() const;
  /// The NUMA node nearest to these PCI addresses, or else to this process's cores; -1 if there are several.
  int numa_node(const std::vector<std::string>& bus_ids) const;
};

}  // namespace slipstream::detail
