#pragma once
// The cores of this process on its host, and the devices near to them, by hwloc. All calls are local to the process.
#include <string>
#include <vector>

namespace slipstream::detail {

class Affinity {
 public:
  /// Inspects the host. `rebind`: first undo a binding that an earlier Affinity made.
  explicit Affinity(bool rebind);

  /// Whether a launcher or a container gave this process fewer cores than the host has.
  bool restricted() const;
  /// All cores of this process, by the numbers of this class.
  std::vector<int> cores() const;
  /// The cores nearest to any of these PCI addresses; all cores if the addresses are unknown.
  std::vector<int> cores_near(const std::vector<std::string>& bus_ids) const;
  /// Distance in the host's tree from this process's cores to a PCI address; 0 if near or unknown.
  int distance(const std::string& bus_id) const;

  /// Binds all threads of this process to the cores, and its new memory to their NUMA node. Returns false if the system
  /// refuses.
  bool bind(const std::vector<int>& cores);

  /// Hardware threads that this process may use, in the system's numbering: 0-3,8.
  std::string allowed() const;
  int allowed_count() const;
  /// The NUMA node nearest to the addresses, or else to this process's cores; -1 if there are several.
  int numa_node(const std::vector<std::string>& bus_ids) const;
};

}  // namespace slipstream::detail
