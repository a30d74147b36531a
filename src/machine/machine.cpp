#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/machine.hpp>

namespace slipstream {
namespace {

constexpr std::array<const char*, 8> kind_names = {"same", "nvlink", "pcie_switch", "host_bridge",
                                                   "numa", "system", "memory",      "network"};

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Checks a description, and says which entry is wrong.
class Checker {
 public:
  Checker(const std::string& machine, const std::vector<MachineDevice>& devices, const std::vector<Link>& links)
      : machine_(machine), devices_(devices), links_(links) {}

  void check() const {
    demand(!devices_.empty(), "devices", "it has no devices: describe at least one");
    for (std::size_t i = 0; i < devices_.size(); ++i) check_device(i);
    for (std::size_t i = 1; i < devices_.size(); ++i) check_order(i);
    check_ranks();
    const std::size_t n = devices_.size();
    demand(links_.size() == n * n, "links",
           plural(n, "device") + " need a matrix of " + std::to_string(n) + " x " + std::to_string(n) + " links, not " +
               plural(links_.size(), "entry"),
           {{"needed", n * n}, {"given", links_.size()}});
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to) check_link(from, to);
  }

 private:
  void demand(bool condition, const char* problem, const std::string& message, const Facts& facts = {}) const {
    if (condition) return;
    Facts all{{"machine", machine_}, {"problem", problem}};
    all.insert(all.end(), facts.begin(), facts.end());
    throw Error(ErrorCode::invalid_argument, "machine '" + machine_ + "': " + message, std::move(all));
  }

  static std::string name(std::size_t device) { return "device " + std::to_string(device); }

  void check_device(std::size_t i) const {
    const MachineDevice& d = devices_[i];
    demand(d.memory > 0, "memory",
           name(i) + " has " + std::to_string(d.memory) + " bytes of memory: give a positive number", {{"device", i}});
    demand(d.memory_gb_per_s >= 0 && std::isfinite(d.memory_gb_per_s), "memory_gb_per_s",
           name(i) + " has a memory bandwidth of " + std::to_string(d.memory_gb_per_s) +
               " GB/s: give a positive number, or 0 where it is not known",
           {{"device", i}});
    demand(d.node >= 0 && d.rank >= 0, "node", name(i) + " has a negative node or rank: both count from 0",
           {{"device", i}});
    demand(d.local.index >= 0, "index", name(i) + " has a negative index on its rank: it counts from 0",
           {{"device", i}});
  }

  void check_order(std::size_t i) const {
    const MachineDevice &a = devices_[i - 1], &b = devices_[i];
    demand(std::pair(a.node, a.rank) <= std::pair(b.node, b.rank), "order",
           name(i) + " (node " + std::to_string(b.node) + ", rank " + std::to_string(b.rank) + ") comes after " +
               name(i - 1) + " (node " + std::to_string(a.node) + ", rank " + std::to_string(a.rank) +
               "): sort devices by node, then by rank",
           {{"device", i}});
    demand(a.rank != b.rank || a.node == b.node, "order",
           "rank " + std::to_string(a.rank) + " has devices on nodes " + std::to_string(a.node) + " and " +
               std::to_string(b.node) + ": a rank lives on one node",
           {{"rank", a.rank}});
  }

  void check_ranks() const {
    std::vector<int> ranks, nodes;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (i == 0 || devices_[i].node != devices_[i - 1].node) nodes.push_back(devices_[i].node);
      if (i == 0 || devices_[i].rank != devices_[i - 1].rank) ranks.push_back(devices_[i].rank);
    }
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      demand(nodes[i] == static_cast<int>(i), "node",
             "node " + std::to_string(i) + " has no device: number nodes from 0 without gaps", {{"node", i}});
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      demand(i == 0 || ranks[i] != ranks[i - 1], "rank",
             "rank " + std::to_string(ranks[i]) + " is on two nodes: a rank lives on one", {{"rank", ranks[i]}});
      demand(ranks[i] == static_cast<int>(i), "rank",
             "rank " + std::to_string(i) + " has no device: number ranks from 0 without gaps", {{"rank", i}});
    }
  }

  void check_link(std::size_t from, std::size_t to) const {
    const Link &link = links_[from * devices_.size() + to], &back = links_[to * devices_.size() + from];
    if (good(link, back, from, to)) return;
    const std::string pair = "the link from " + name(from) + " to " + name(to);
    demand(link.gb_per_s > 0 && std::isfinite(link.gb_per_s), "gb_per_s",
           pair + " has " + std::to_string(link.gb_per_s) + " GB/s: give a positive number",
           {{"device", from}, {"peer", to}});
    demand(from != to || link.kind == LinkKind::same, "kind",
           pair + " is of kind " + to_string(link.kind) + ": say same", {{"device", from}, {"peer", to}});
    demand(link.kind == back.kind, "one_way",
           pair + " is of kind " + to_string(link.kind) + ", but the way back is of kind " + to_string(back.kind) +
               ": they must be equal",
           {{"device", from}, {"peer", to}});
    const bool apart = devices_[from].node != devices_[to].node;
    demand(apart == (link.kind == LinkKind::network), "network",
           pair + " is of kind " + to_string(link.kind) +
               (apart ? ", but they are on two nodes: say network"
                      : ", but they are on one node: say how they are joined there"),
           {{"device", from}, {"peer", to}});
    demand(!apart || !link.peer, "peer",
           pair + " is between nodes, where kernels of one cannot load memory of the other: peer is false",
           {{"device", from}, {"peer", to}});
  }

  /// Asked first, without making any words: there may be millions of links.
  bool good(const Link& link, const Link& back, std::size_t from, std::size_t to) const {
    const bool apart = devices_[from].node != devices_[to].node;
    return link.gb_per_s > 0 && std::isfinite(link.gb_per_s) && (from != to || link.kind == LinkKind::same) &&
           link.kind == back.kind && apart == (link.kind == LinkKind::network) && !(apart && link.peer);
  }

  const std::string& machine_;
  const std::vector<MachineDevice>& devices_;
  const std::vector<Link>& links_;
};

}  // namespace

std::string to_string(LinkKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

LinkKind link_kind_from_string(const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    if (name == kind_names[i]) return static_cast<LinkKind>(i);
    known += std::string(i ? ", " : "") + kind_names[i];
  }
  throw Error(ErrorCode::invalid_argument, "no kind of link is named '" + name + "': choose one of " + known,
              {{"option", "kind"}, {"given", name}, {"choices", known}});
}

Machine::Machine(std::string name, std::vector<MachineDevice> devices, std::vector<Link> links)
    : name_(std::move(name)),
      devices_(std::move(devices)),
      links_(std::make_shared<const std::vector<Link>>(std::move(links))) {
  Checker(name_, devices_, *links_).check();
  nodes_ = devices_.back().node + 1;
  for (const MachineDevice& device : devices_) ranks_ = std::max(ranks_, device.rank + 1);
}

std::vector<int> Machine::devices_of_rank(int rank) const {
  std::vector<int> result;
  for (int i = 0; i < devices(); ++i)
    if (devices_[i].rank == rank) result.push_back(i);
  return result;
}

std::vector<int> Machine::devices_of_node(int node) const {
  std::vector<int> result;
  for (int i = 0; i < devices(); ++i)
    if (devices_[i].node == node) result.push_back(i);
  return result;
}

bool Machine::uniform() const {
  std::vector<int> counts(nodes_, 0);
  for (const MachineDevice& device : devices_) ++counts[device.node];
  return std::all_of(counts.begin(), counts.end(), [&](int count) { return count == counts.front(); });
}

}  // namespace slipstream
