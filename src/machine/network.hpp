#pragma once
// Network cards of a node, and which of them are nearest to a GPU, from the files of /sys.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace slipstream::detail {

class NetworkCards {
 public:
  /// Reads the cards with a port that is up, and the NVIDIA GPUs of the node. InfiniBand cards hide Ethernet ones, and
  /// fast cards slower ones, which may belong to another network.
  explicit NetworkCards(std::filesystem::path sys = "/sys");

  /// Names of the network cards nearest to GPUs with these PCI addresses. Their PCI paths have most bridges in common,
  /// or else their NUMA node is the same. GPUs with the same nearest cards share these evenly, so the result for a GPU
  /// depends on its node alone. Example: mlx5_0:1,mlx5_1:1, with ports; empty without a card or a known GPU.
  std::string of_gpus(const std::vector<std::string>& bus_ids) const;
  /// Name of a network card of this NUMA node, or of any if it has none. `index` distributes the ranks of a host over
  /// equally near cards.
  std::string of_numa_node(int numa_node, int index) const;

  /// Rated GB/s of the first of the named network cards; 0 if unknown.
  double gb_per_s(const std::string& names) const;

 private:
  struct Place {
    std::vector<std::string> path;  ///< path of a device in /sys: PCI root, bridges, device
    int numa_node = -1;
  };
  struct Card {
    std::string name;
    Place place;
    bool infiniband = false;
    double gb_per_s = 0;
  };

  Place place_of(const std::filesystem::path& device) const;
  void find_fabric_cards();
  void find_ethernet_cards();
  void find_gpus();
  std::vector<int> nearest(const Place& place) const;
  std::map<std::string, std::vector<int>> shared() const;

  std::filesystem::path sys_;
  std::vector<Card> cards_;
  std::map<std::string, Place> gpus_;  ///< path and NUMA node of each GPU, by PCI address
};

}  // namespace slipstream::detail
