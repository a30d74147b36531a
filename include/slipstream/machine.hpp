#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

/// How two devices are joined, nearest first.
enum class LinkKind : std::uint8_t { same, nvlink, pcie_switch, host_bridge, numa, system, memory, network };
std::string to_string(LinkKind kind);
LinkKind link_kind_from_string(const std::string& name);

struct Link {
  LinkKind kind = LinkKind::system;
  double gb_per_s = 0;  ///< each way, 1e9 bytes per second; stated or rated, not measured
  bool peer = false;    ///< kernels of one may load and store memory of the other
};

/// One device of a machine, real or described.
struct MachineDevice {
  int node = 0;
  int rank = 0;
  Device local;  ///< as its rank numbers it
  std::string name;
  std::string uuid;            ///< equal for two entries that share one physical device
  std::int64_t memory = 0;     ///< bytes
  double memory_gb_per_s = 0;  ///< read + write, rated; 0 where not known
  bool takes_turns = false;    ///< processes use it one at a time, for some milliseconds each: a GPU without MPS
};

/// What one rank was bound to.
struct Binding {
  int rank = 0;
  std::string host;
  std::string cores;   ///< as a list, 0-3,8
  int numa_node = -1;  ///< of pinned memory
  std::string network_card;
  bool bound = false;
};

/// Nodes, ranks and devices and the links between them: discovered, or described by a file.
class Machine {
 public:
  struct Options {
    Backend backend = Backend::host;
    int devices_per_rank = 0;  ///< 0: share the node's devices out (CUDA), 1 (host)
    int ranks_per_node = 0;    ///< 0: as found; k: each k ranks act as one node, routes on a node off between them
    bool cyclic = false;       ///< with ranks_per_node: ranks dealt to nodes in turn, not in blocks
    bool bind = false;         ///< bind this rank to cores, memory and network card near its devices
  };
  /// Collective. Finds nodes by shared memory (MPI), devices and links by the backend and NVML, distances by hwloc.
  /// Opens this rank's devices; where a rank cannot, all throw what it says.
  static Machine discover(const Communicator& comm, const Options& options);

  /// A machine that is not there: devices sorted by node then rank; links[a * devices + b].
  Machine(std::string name, std::vector<MachineDevice> devices, std::vector<Link> links);

  const std::string& name() const { return name_; }
  int nodes() const { return nodes_; }
  int ranks() const { return ranks_; }
  int devices() const { return static_cast<int>(devices_.size()); }
  const MachineDevice& device(int index) const { return devices_.at(index); }
  const Link& link(int from, int to) const { return links_->at(from * devices_.size() + to); }
  /// Global indices of a rank's devices, in its own order.
  std::vector<int> devices_of_rank(int rank) const;
  std::vector<int> devices_of_node(int node) const;
  /// True where all nodes have equally many devices, as the hierarchical partition needs.
  bool uniform() const;
  const std::vector<Binding>& bindings() const { return bindings_; }
  bool discovered() const { return discovered_; }

 private:
  std::string name_;
  std::vector<MachineDevice> devices_;
  std::shared_ptr<const std::vector<Link>> links_;  ///< shared by copies: thousands of devices have millions
  std::vector<Binding> bindings_;
  int nodes_ = 0;
  int ranks_ = 0;
  bool discovered_ = false;
};

/// How measure_rates measures.
struct MeasureOptions {
  std::size_t bytes = std::size_t{4} << 20;  ///< of the first copies
  /// Of the last ones, which grow until their rate settles. 0: 256 MiB, as far as a sixteenth of a device's free memory
  /// holds it; on the host backend no growth, because emulated copies take no time to start.
  std::size_t most_bytes = 0;
  int trials = 3;       ///< the fastest counts
  double seconds = 10;  ///< after that no further pair is measured
};
/// Collective. GB/s (1e9) from each device of a discovered machine to each other: rates[from * devices + to], the same
/// on all ranks. Each is that of one way while the other way is as busy, as in an exchange. Devices that reach each
/// other's memory copy into it, those of one node that do not go through the host, and of two nodes the first devices
/// stand for all. Copies grow until their rate changes by less than 2 %. Pairs of a node are measured one by one, nodes
/// beside one another. A pair that time did not allow gets the mean of the measured links of its kind, else the link's
/// own rate.
std::vector<double> measure_rates(const Communicator& comm, const Machine& machine, const MeasureOptions& options = {});

}  // namespace slipstream
