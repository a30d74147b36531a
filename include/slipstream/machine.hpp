#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

/// Kind of connection between two devices, nearest first.
enum class LinkKind : std::uint8_t { same, nvlink, pcie_switch, host_bridge, numa, system, memory, network };
std::string to_string(LinkKind kind);
LinkKind link_kind_from_string(const std::string& name);

struct Link {
  LinkKind kind = LinkKind::system;
  double gb_per_s = 0;  ///< rate in each direction in 1e9 bytes per second; stated or rated, not measured
  bool peer = false;    ///< whether kernels of one device may load and store memory of the other
  bool operator==(const Link&) const = default;
};

/// One device of a machine, real or described.
struct MachineDevice {
  int node = 0;
  int rank = 0;
  Device local;  ///< the device as its rank numbers it
  std::string name;
  std::string uuid;            ///< unique name, equal for two entries that share one physical device
  std::int64_t memory = 0;     ///< size of the memory in bytes
  double memory_gb_per_s = 0;  ///< rated bandwidth of the memory, read + write; 0 where not known
  bool takes_turns = false;    ///< whether processes are time-sliced, for some milliseconds each: a GPU without MPS
};

/// Table of the links between all pairs of some devices, or of some groups of devices.
struct LinkTable {
  int size = 0;
  std::vector<Link> links;  ///< the link between two devices or two groups, at [from * size + to]
  const Link& at(int from, int to) const { return links[static_cast<std::size_t>(from) * size + to]; }
  bool operator==(const LinkTable&) const = default;
};

/// Links by class: within a node by the kind of the node, between nodes by groups of devices. So memory grows with
/// devices and classes, not with pairs of devices.
struct Links {
  std::vector<LinkTable> within;  ///< links between the devices of a node, for each kind of node
  std::vector<int> kind;          ///< kind of each node, which selects the table of links between the node's devices
  LinkTable between;              ///< links between nodes, for each pair of groups of equally linked devices
  std::vector<int> group;         ///< group of each device: index in the table of links between groups
};
/// Compresses the links that `link` returns for each pair of devices into classes. The devices are sorted by node.
Links links_by_class(const std::vector<MachineDevice>& devices, const std::function<Link(int from, int to)>& link);

/// The cores, memory and network card that a rank is bound to.
struct Binding {
  int rank = 0;
  std::string host;
  std::string cores;         ///< list of cores, such as 0-3,8
  int numa_node = -1;        ///< NUMA node of pinned memory
  std::string network_card;  ///< network cards, such as mlx5_0:1 with its port, or eth0; several, separated by commas
  bool bound = false;
};

/// Nodes, ranks and devices and the links between them: discovered, or described by a file.
class Machine {
 public:
  struct Options {
    Backend backend = Backend::host;
    /// number of devices per rank; 0: all devices of the node are distributed over its ranks (CUDA), 1 (host)
    int devices_per_rank = 0;
    /// number of ranks that act as a node, without node-local routes to others; 0: nodes as found
    int ranks_per_node = 0;
    bool cyclic = false;  ///< whether ranks_per_node assigns ranks to nodes round-robin, not in blocks
    bool bind = false;    ///< whether to bind this rank to cores and memory near its devices
  };
  /// Discovers the machine. Collective. Finds nodes by shared memory (MPI), devices and links by the backend and NVML,
  /// distances by hwloc. Opens this rank's devices. Where a rank cannot, all ranks throw its error.
  static Machine discover(const Communicator& comm, const Options& options);
  /// Names of the network cards for Binding, before MPI starts, of rank number `place` of `ranks` on its host. Empty
  /// without GPUs or cards. A rank that its launcher bound to cores gets the cards of all GPUs near to these cores.
  static std::string network_cards(const Options& options, int place, int ranks);

  /// Makes a machine from a description; it need not exist. `devices` are sorted by node, then by rank. A vector
  /// `links` has the link from device a to device b at index a * (number of devices) + b.
  Machine(std::string name, std::vector<MachineDevice> devices, Links links);
  Machine(std::string name, std::vector<MachineDevice> devices, const std::vector<Link>& links);

  const std::string& name() const { return name_; }
  int nodes() const { return static_cast<int>(found_->links.kind.size()); }
  int ranks() const { return static_cast<int>(found_->of_rank.size()); }
  int devices() const { return static_cast<int>(found_->devices.size()); }
  const MachineDevice& device(int index) const { return found_->devices.at(index); }
  const Link& link(int from, int to) const;
  const Links& links() const { return found_->links; }
  /// Global indices of a rank's devices, in its own order. The cost does not grow with the number of ranks.
  std::vector<int> devices_of_rank(int rank) const;
  std::vector<int> devices_of_node(int node) const;
  /// Largest number of devices that any rank has.
  int most_devices_of_rank() const { return found_->most_devices_of_rank; }
  /// Whether another rank uses the same physical device. any_shared() tells whether this holds for any device.
  bool shared(int device) const { return found_->shared.at(device); }
  bool any_shared() const { return found_->any_shared; }
  /// True where all nodes have equally many devices, as the hierarchical partition needs.
  bool uniform() const;
  const std::vector<Binding>& bindings() const { return found_->bindings; }
  bool discovered() const { return discovered_; }

 private:
  /// Data that all copies of a Machine share, because thousands of devices take megabytes.
  struct Found {
    std::vector<MachineDevice> devices;
    Links links;
    /// index of the first device of each node; the last entry is the number of devices
    std::vector<int> first_of_node;
    std::vector<std::pair<int, int>> of_rank;  ///< first device of each rank, and its number of devices
    std::vector<bool> shared;
    std::vector<Binding> bindings;
    int most_devices_of_rank = 0;
    bool any_shared = false;
  };
  std::string name_;
  std::shared_ptr<Found> found_;
  bool discovered_ = false;
};

/// Options of measure_rates(), which measures transfer rates between devices.
struct MeasureOptions {
  std::size_t bytes = std::size_t{4} << 20;  ///< size in bytes of the first copies that are timed between two devices
  /// Size of the last copies in bytes. Copies grow up to this size until their rate settles. 0: 256 MiB, but at most a
  /// sixteenth of a device's free memory. On the host backend copies do not grow, because emulated copies take no time
  /// to start.
  std::size_t most_bytes = 0;
  int trials = 3;       ///< number of trials of each copy, of which the fastest counts
  double seconds = 10;  ///< time limit in seconds, after which no further pair is measured
};
/// Collective. GB/s (1e9) from each device of a discovered machine to each other: rates[from * devices + to], the same
/// on all ranks. Each is the rate of one direction while the other direction is equally busy, as in an exchange.
/// Devices copy directly where they reach each other's memory, else through the host. Between two nodes the first
/// devices stand for all. Copies grow until their rate changes by less than 2 %. Pairs of a node are measured one by
/// one, nodes concurrently. A pair without time gets the mean of the measured links of its kind, else the link's own
/// rate.
std::vector<double> measure_rates(const Communicator& comm, const Machine& machine, const MeasureOptions& options = {});

}  // namespace slipstream
