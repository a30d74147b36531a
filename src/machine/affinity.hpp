#pragma once
// Where this process runs on its host, and what is near to it, by hwloc. Everything here is local to the process.
#include <memory>
#include <string>
#include <vector>

struct hwloc_topology;

namespace slipstream::detail {

class Affinity {
 public:
  /// Looks at the host. With `rebind`, a binding that an earlier Affinity made is undone first.
  explicit Affinity(bool rebind);
  ~Affinity();
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;

  /// True where a launcher or a container has left this process fewer cores than the host has.
  bool restricted() const;
  /// All cores, by number of this class.
  std::vector<int> cores() const;
  /// The cores nearest to any of these PCI addresses; all where they are not known.
  std::vector<int> cores_near(const std::vector<std::string>& bus_ids) const;
  /// Steps in the tree of the host from this process's cores to a PCI address; 0 where near or not known.
  int distance(const std::string& bus_id) const;

  /// Binds all threads of this process to the cores, and its new memory to their NUMA node. False where refused.
  bool bind(const std::vector<int>& cores);

  /// Hardware threads that this process may use, as the system numbers them: 0-3,8.
  std::string allowed() const;
  int allowed_count() const;
  /// The NUMA node nearest to the addresses, else to this process's cores; -1 where there are several.
  int numa_node(const std::vector<std::string>& bus_ids) const;
  /// The nearest network card; `index` spreads the ranks of a host over cards that are equally near.
  std::string network_card(const std::vector<std::string>& bus_ids, int index) const;

 private:
  struct Tree;
  static std::shared_ptr<const Tree> host();
  std::shared_ptr<const Tree> tree_;
};

/// Rated GB/s of a network card, from /sys; 0 where it does not say.
double network_gb_per_s(const std::string& card);

}  // namespace slipstream::detail
