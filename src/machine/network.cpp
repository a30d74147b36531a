#include "machine/network.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <utility>

namespace slipstream::detail {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

double number_in(const fs::path& file) {
  double number = 0;
  std::ifstream(file) >> number;
  return std::max(number, 0.0);
}

/// Entries of a folder, sorted, so that all processes of a node see the same order. Empty if the folder does not exist.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Converts NVML's form of a PCI address, 00000000:17:00.0, to that of /sys, 0000:17:00.0.
std::string address(std::string bus_id) {
  for (char& letter : bus_id) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return bus_id.substr(bus_id.size() - std::min<std::size_t>(bus_id.size(), 12));
}

}  // namespace

NetworkCards::NetworkCards(fs::path sys) : sys_(std::move(sys)) {
  find_fabric_cards();
  if (cards_.empty()) find_ethernet_cards();
  const auto rank = [](const Card& card) { return std::pair(card.infiniband, card.gb_per_s); };
  std::pair<bool, double> best{};
  for (const Card& card : cards_) best = std::max(best, rank(card));
  std::erase_if(cards_, [&](const Card& card) { return rank(card) < best; });
  std::stable_sort(cards_.begin(), cards_.end(),
                   [](const Card& a, const Card& b) { return a.place.path < b.place.path; });
  find_gpus();
}

NetworkCards::Place NetworkCards::place_of(const fs::path& device) const {
  Place place;
  std::error_code unknown;
  const fs::path real = fs::canonical(device, unknown), root = fs::canonical(sys_ / "devices", unknown);
  for (const fs::path& part : real.lexically_relative(root)) place.path.push_back(part.string());
  if (!(std::ifstream(device / "numa_node") >> place.numa_node)) place.numa_node = -1;
  return place;
}

void NetworkCards::find_fabric_cards() {
  for (const fs::path& card : entries(sys_ / "class/infiniband"))
    for (const fs::path& port : entries(card / "ports")) {
      if (line_of(port / "state").find("ACTIVE") == std::string::npos) continue;
      cards_.push_back({card.filename().string() + ":" + port.filename().string(), place_of(card / "device"),
                        line_of(port / "link_layer") == "InfiniBand",
                        number_in(port / "rate") / 8});  // converts the file's Gbit/s to GB/s
      break;
    }
}

void NetworkCards::find_ethernet_cards() {
  for (const fs::path& card : entries(sys_ / "class/net"))
    if (fs::exists(card / "device"))
      cards_.push_back({card.filename().string(), place_of(card / "device"), false,
                        number_in(card / "speed") / 8000});  // converts the file's Mbit/s to GB/s
}

void NetworkCards::find_gpus() {
  for (const fs::path& device : entries(sys_ / "bus/pci/devices")) {
    const std::string kind = line_of(device / "class").substr(0, 6);
    const bool shows = kind == "0x0300", computes = kind == "0x0302";
    if ((shows || computes) && line_of(device / "vendor") == "0x10de")
      gpus_[device.filename().string()] = place_of(device);
  }
}

std::vector<int> NetworkCards::nearest(const Place& place) const {
  std::map<std::pair<int, bool>, std::vector<int>> by_nearness;
  for (int c = 0; c < static_cast<int>(cards_.size()); ++c) {
    const Place& other = cards_[c].place;
    const auto ends = std::mismatch(place.path.begin(), place.path.end(), other.path.begin(), other.path.end());
    const bool same_node = place.numa_node >= 0 && place.numa_node == other.numa_node;
    by_nearness[{static_cast<int>(ends.first - place.path.begin()), same_node}].push_back(c);
  }
  return by_nearness.empty() ? std::vector<int>{} : by_nearness.rbegin()->second;
}

/// Indices of the network cards that each GPU uses, by PCI address of the GPU.
std::map<std::string, std::vector<int>> NetworkCards::shared() const {
  std::map<std::vector<int>, std::vector<std::string>> sharers;
  for (const auto& [gpu, place] : gpus_) sharers[nearest(place)].push_back(gpu);
  std::map<std::string, std::vector<int>> result;
  for (const auto& [cards, gpus] : sharers)
    for (std::size_t i = 0; !cards.empty() && i < std::max(cards.size(), gpus.size()); ++i)
      result[gpus[i % gpus.size()]].push_back(cards[i % cards.size()]);
  return result;
}

std::string NetworkCards::of_gpus(const std::vector<std::string>& bus_ids) const {
  auto cards = shared();
  std::set<int> mine;
  for (const std::string& bus_id : bus_ids) {
    const auto& of_gpu = cards[address(bus_id)];
    mine.insert(of_gpu.begin(), of_gpu.end());
  }
  std::string names;
  for (const int card : mine) names += (names.empty() ? "" : ",") + cards_[card].name;
  return names;
}

std::string NetworkCards::of_numa_node(int numa_node, int index) const {
  const auto near = nearest({{}, numa_node});
  return near.empty() ? "" : cards_[near[index % near.size()]].name;
}

double NetworkCards::gb_per_s(const std::string& names) const {
  for (const Card& card : cards_)
    if (card.name == names.substr(0, names.find(','))) return card.gb_per_s;
  return 0;
}

}  // namespace slipstream::detail
