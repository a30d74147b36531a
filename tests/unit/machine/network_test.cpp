#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "machine/network.hpp"

namespace slipstream {
namespace {

namespace fs = std::filesystem;
using detail::NetworkCards;

/// The files of a node in a folder, as /sys has them.
class Node {
 public:
  Node() { fs::create_directories(sys_ / "devices"); }
  ~Node() { fs::remove_all(sys_); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Adds a GPU. `path`: the PCI bridges above it, from the root.
  void gpu(const std::string& path, const std::string& address, int numa_node) {
    const fs::path device = add(path, address, numa_node);
    write(device / "class", "0x030200");
    write(device / "vendor", "0x10de");
  }
  void card(const std::string& path, const std::string& address, int numa_node, const std::string& name,
            const std::string& state = "4: ACTIVE", const std::string& layer = "InfiniBand", int gbit_per_s = 200) {
    const fs::path of_class = add(path, address, numa_node) / "infiniband" / name, port = of_class / "ports/1";
    write(port / "state", state);
    write(port / "link_layer", layer);
    write(port / "rate", std::to_string(gbit_per_s) + " Gb/sec (4X HDR)");
    fs::create_directory_symlink("../..", of_class / "device");
    link(of_class, "class/infiniband");
  }
  void ethernet(const std::string& path, const std::string& address, const std::string& name) {
    const fs::path of_class = add(path, address, 0) / "net" / name;
    write(of_class / "speed", "10000");
    fs::create_directory_symlink("../..", of_class / "device");
    link(of_class, "class/net");
  }

  NetworkCards cards() const { return NetworkCards(sys_); }

 private:
  fs::path add(const std::string& path, const std::string& address, int numa_node) {
    const fs::path device = sys_ / "devices" / path / address;
    write(device / "numa_node", std::to_string(numa_node));
    link(device, "bus/pci/devices");
    return device;
  }
  void link(const fs::path& target, const std::string& folder) {
    fs::create_directories(sys_ / folder);
    fs::create_directory_symlink(target, sys_ / folder / target.filename());
  }
  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }

  fs::path sys_ = fs::temp_directory_path() / ("slipstream-node-" + std::to_string(getpid()));
};

/// Builds a node like a DGX: each PCI root has a switch with a GPU and its card, and each socket a card for storage.
void build_dgx(Node& node) {
  for (int g = 0; g < 4; ++g) {
    const std::string number = std::to_string(g), root = "pci0000:" + number + "0";
    node.gpu(root + "/0000:" + number + "0:01.0/0000:" + number + "1:00.0/0000:" + number + "2:00.0",
             "0000:" + number + "3:00.0", g / 2);
    node.card(root + "/0000:" + number + "0:01.0/0000:" + number + "1:00.0/0000:" + number + "2:01.0",
              "0000:" + number + "4:00.0", g / 2, "mlx5_" + std::to_string(9 - g));
  }
  for (int socket = 0; socket < 2; ++socket)
    node.card("pci0000:f" + std::to_string(socket), "0000:f" + std::to_string(socket) + ":00.0", socket,
              "mlx5_" + std::to_string(socket));
}

TEST(NetworkCards, GpusOfADgxTakeTheCardOfTheirSwitch) {
  Node node;
  build_dgx(node);
  for (int g = 0; g < 4; ++g)
    EXPECT_EQ(node.cards().of_gpus({"00000000:" + std::to_string(g) + "3:00.0"}),
              "mlx5_" + std::to_string(9 - g) + ":1");
  EXPECT_EQ(node.cards().of_gpus({"0000:03:00.0", "0000:23:00.0"}), "mlx5_9:1,mlx5_7:1");
}

/// Builds a node like Summit's: a socket has two network cards on one PCI root, and three GPUs on another one.
void build_summit(Node& node) {
  for (int socket = 0; socket < 2; ++socket) {
    const std::string cards = socket == 0 ? "0003" : "0033", gpus = socket == 0 ? "0004" : "0035";
    for (int port = 0; port < 2; ++port)
      node.card("pci" + cards + ":00/" + cards + ":00:00.0", cards + ":01:00." + std::to_string(port), 8 * socket,
                "mlx5_" + std::to_string(2 * socket + port));
    for (int g = 3; g < 6; ++g)
      node.gpu("pci" + gpus + ":00/" + gpus + ":00:00.0", gpus + ":0" + std::to_string(g) + ":00.0", 8 * socket);
  }
}

TEST(NetworkCards, GpusOfSummitShareTheCardsOfTheirSocket) {
  Node node;
  build_summit(node);
  const NetworkCards cards = node.cards();
  std::vector<std::string> found;
  for (const char* gpu :
       {"0004:03:00.0", "0004:04:00.0", "0004:05:00.0", "0035:03:00.0", "0035:04:00.0", "0035:05:00.0"})
    found.push_back(cards.of_gpus({gpu}));
  EXPECT_EQ(found, (std::vector<std::string>{"mlx5_0:1", "mlx5_1:1", "mlx5_0:1", "mlx5_2:1", "mlx5_3:1", "mlx5_2:1"}));
  EXPECT_EQ(cards.of_gpus({"0004:03:00.0", "0004:05:00.0"}), "mlx5_0:1");
  EXPECT_EQ(cards.of_numa_node(8, 0), "mlx5_2:1");
  EXPECT_EQ(cards.of_numa_node(8, 1), "mlx5_3:1");
  EXPECT_DOUBLE_EQ(cards.gb_per_s("mlx5_3:1,mlx5_2:1"), 25);
}

TEST(NetworkCards, OneGpuTakesAllCardsThatNoOtherGpuIsNearer) {
  Node node;
  node.gpu("pci0000:00", "0000:00:05.0", -1);
  node.card("pci0000:00", "0000:00:06.0", -1, "mlx5_0");
  node.card("pci0000:00", "0000:00:07.0", -1, "mlx5_1");
  EXPECT_EQ(node.cards().of_gpus({"0000:00:05.0"}), "mlx5_0:1,mlx5_1:1");
}

TEST(NetworkCards, OfDifferentNetworksTheFastestInfiniBandCounts) {
  Node node;
  node.gpu("pci0000:00/0000:00:01.0", "0000:01:00.0", 0);
  node.card("pci0000:00/0000:00:01.0", "0000:01:01.0", 0, "mlx5_0", "1: DOWN");
  node.card("pci0000:00/0000:00:01.0", "0000:01:02.0", 0, "mlx5_1", "4: ACTIVE", "Ethernet", 400);
  node.card("pci0000:00/0000:00:01.0", "0000:01:03.0", 0, "mlx5_2", "4: ACTIVE", "InfiniBand", 100);
  node.card("pci0000:80/0000:80:01.0", "0000:81:00.0", 1, "mlx5_3");
  node.ethernet("pci0000:00", "0000:00:03.0", "eth0");
  EXPECT_EQ(node.cards().of_gpus({"0000:01:00.0"}), "mlx5_3:1");
}

TEST(NetworkCards, EthernetCountsWithoutOthers) {
  Node node;
  node.gpu("pci0000:00", "0000:00:05.0", 0);
  node.ethernet("pci0000:00", "0000:00:03.0", "eth0");
  EXPECT_EQ(node.cards().of_gpus({"0000:00:05.0"}), "eth0");
  EXPECT_EQ(node.cards().of_numa_node(-1, 3), "eth0");
  EXPECT_DOUBLE_EQ(node.cards().gb_per_s("eth0"), 1.25);
}

TEST(NetworkCards, WithoutACardOrAKnownGpuThereIsNone) {
  Node node;
  node.gpu("pci0000:00", "0000:00:05.0", 0);
  EXPECT_EQ(node.cards().of_gpus({"0000:00:05.0"}), "");
  EXPECT_EQ(node.cards().of_numa_node(0, 0), "");
  EXPECT_EQ(node.cards().gb_per_s(""), 0);
  node.card("pci0000:00", "0000:00:06.0", 0, "mlx5_0");
  EXPECT_EQ(node.cards().of_gpus({"", "0000:99:00.0"}), "");
  EXPECT_EQ(NetworkCards(fs::temp_directory_path() / "slipstream-nowhere").of_gpus({"0000:00:05.0"}), "");
}

}  // namespace
}  // namespace slipstream
