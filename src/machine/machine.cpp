#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/machine.hpp>

#include "device/names.hpp"
#include "machine/links.hpp"

namespace slipstream {
namespace {

constexpr std::pair<const char*, LinkKind> kind_names[] = {{"same", LinkKind::same},
                                                           {"nvlink", LinkKind::nvlink},
                                                           {"pcie_switch", LinkKind::pcie_switch},
                                                           {"host_bridge", LinkKind::host_bridge},
                                                           {"numa", LinkKind::numa},
                                                           {"system", LinkKind::system},
                                                           {"memory", LinkKind::memory},
                                                           {"network", LinkKind::network}};

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Validates the description of a machine and names the invalid entry.
class Checker {
 public:
  Checker(const std::string& machine, const std::vector<MachineDevice>& devices)
      : machine_(machine), devices_(devices) {}

  void check_devices() const {
    demand(!devices_.empty(), "devices", "it has no devices: describe at least one");
    for (std::size_t i = 0; i < devices_.size(); ++i) check_device(i);
    for (std::size_t i = 1; i < devices_.size(); ++i) check_order(i);
    check_ranks();
  }

  void check_size(std::size_t links) const {
    const std::size_t n = devices_.size();
    demand(links == n * n, "links",
           plural(n, "device") + " need a matrix of " + std::to_string(n) + " x " + std::to_string(n) + " links, not " +
               plural(links, "entry"),
           {{"needed", n * n}, {"given", links}});
  }

  void check_classes(const Links& links, const std::vector<int>& first_of_node) const {
    const auto whole = [](const LinkTable& table) {
      return table.links.size() == static_cast<std::size_t>(table.size) * table.size;
    };
    const auto each_below = [](const std::vector<int>& values, int limit) {
      return std::all_of(values.begin(), values.end(), [&](int value) { return value >= 0 && value < limit; });
    };
    bool fit = links.group.size() == devices_.size() && links.kind.size() + 1 == first_of_node.size() &&
               whole(links.between) && std::all_of(links.within.begin(), links.within.end(), whole) &&
               each_below(links.group, links.between.size) &&
               each_below(links.kind, static_cast<int>(links.within.size()));
    for (std::size_t node = 0; fit && node < links.kind.size(); ++node)
      fit = links.within[links.kind[node]].size == first_of_node[node + 1] - first_of_node[node];
    demand(fit, "links", "its classes of links do not fit its " + plural(devices_.size(), "device"));
  }

  /// Checks all links. Classes of links come first, because there may be very many pairs.
  void check_links(const Machine& machine) const {
    if (good(machine.links())) return;
    for (int from = 0; from < machine.devices(); ++from)
      for (int to = 0; to < machine.devices(); ++to) check_link(machine, from, to);
  }

 private:
  void demand(bool condition, const char* problem, const std::string& message, const Facts& facts = {}) const {
    if (condition) return;
    throw Error(ErrorCode::invalid_argument, "machine '" + machine_ + "': " + message,
                joined({{"machine", machine_}, {"problem", problem}}, facts));
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

  struct Flaw {
    const char* problem;
    std::string words;
  };

  /// Tells what is wrong with a link, given the link `back` in the opposite direction; empty if nothing. `apart`: it
  /// joins two nodes; `own`: it leads from a device to itself.
  static std::optional<Flaw> flaw_of(const Link& link, const Link& back, bool apart, bool own) {
    const auto kind = [&] { return " is of kind " + to_string(link.kind); };
    if (!(link.gb_per_s > 0 && std::isfinite(link.gb_per_s)))
      return Flaw{"gb_per_s", " has " + std::to_string(link.gb_per_s) + " GB/s: give a positive number"};
    if (own && link.kind != LinkKind::same) return Flaw{"kind", kind() + ": say same"};
    if (link.kind != back.kind)
      return Flaw{"one_way", kind() + ", but the way back is of kind " + to_string(back.kind) + ": they must be equal"};
    if (apart != (link.kind == LinkKind::network))
      return Flaw{"network", kind() + (apart ? ", but they are on two nodes: say network"
                                             : ", but they are on one node: say how they are joined there")};
    if (apart && link.peer)
      return Flaw{"peer", " is between nodes, where kernels of one cannot load memory of the other: peer is false"};
    return {};
  }

  void check_link(const Machine& machine, int from, int to) const {
    const bool apart = devices_[from].node != devices_[to].node;
    if (const auto flaw = flaw_of(machine.link(from, to), machine.link(to, from), apart, from == to))
      demand(false, flaw->problem, "the link from " + name(from) + " to " + name(to) + flaw->words,
             {{"device", from}, {"peer", to}});
  }

  static bool good(const LinkTable& table, bool apart) {
    for (int from = 0; from < table.size; ++from)
      for (int to = 0; to < table.size; ++to)
        if (flaw_of(table.at(from, to), table.at(to, from), apart, !apart && from == to)) return false;
    return true;
  }

  static bool good(const Links& links) {
    return good(links.between, true) &&
           std::all_of(links.within.begin(), links.within.end(), [](const auto& kind) { return good(kind, false); });
  }

  const std::string& machine_;
  const std::vector<MachineDevice>& devices_;
};

/// Index of the first device of each node; the last entry is the number of devices.
std::vector<int> beginnings(const std::vector<MachineDevice>& devices) {
  std::vector<int> first;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (i == 0 || devices[i].node != devices[i - 1].node) first.push_back(static_cast<int>(i));
  first.push_back(static_cast<int>(devices.size()));
  return first;
}

/// Links between nodes whose devices form these groups. Empty if a pair of groups has different links.
std::optional<LinkTable> links_of_groups(const std::vector<MachineDevice>& devices,
                                         const std::function<Link(int, int)>& link, const std::vector<int>& group,
                                         int groups) {
  // Each pair of groups begins with a network link of 1 GB/s. The loop replaces it where devices are on two nodes.
  LinkTable between{groups,
                    std::vector<Link>(static_cast<std::size_t>(groups) * groups, {LinkKind::network, 1, false})};
  std::vector<bool> known(between.links.size());
  const int n = static_cast<int>(devices.size());
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      if (devices[from].node == devices[to].node) continue;
      const std::size_t at = static_cast<std::size_t>(group[from]) * groups + group[to];
      const Link found = link(from, to);
      if (known[at] && between.links[at] != found) return {};
      between.links[at] = found;
      known[at] = true;
    }
  return between;
}

/// Whether two devices have equal links to and from all devices outside of their nodes.
bool alike(const std::vector<MachineDevice>& devices, const std::function<Link(int, int)>& link, int a, int b) {
  for (int c = 0; c < static_cast<int>(devices.size()); ++c) {
    if (devices[c].node == devices[a].node || devices[c].node == devices[b].node) continue;
    if (link(a, c) != link(b, c) || link(c, a) != link(c, b)) return false;
  }
  return true;
}

}  // namespace

Links links_by_class(const std::vector<MachineDevice>& devices, const std::function<Link(int, int)>& link) {
  Links links;
  const std::vector<int> first = beginnings(devices);
  for (std::size_t node = 0; node + 1 < first.size(); ++node) {
    LinkTable within{first[node + 1] - first[node], {}};
    for (int from = first[node]; from < first[node + 1]; ++from)
      for (int to = first[node]; to < first[node + 1]; ++to) within.links.push_back(link(from, to));
    links.kind.push_back(detail::place_among(links.within, within));
  }
  constexpr std::size_t most_groups = 64;
  std::vector<int> of_group;  // a representative device of each group of equally linked ones
  for (int d = 0; d < static_cast<int>(devices.size()) && of_group.size() <= most_groups; ++d) {
    const auto known =
        std::find_if(of_group.begin(), of_group.end(), [&](int other) { return alike(devices, link, d, other); });
    links.group.push_back(static_cast<int>(known - of_group.begin()));
    if (known == of_group.end()) of_group.push_back(d);
  }
  if (of_group.size() <= most_groups)
    if (auto between = links_of_groups(devices, link, links.group, static_cast<int>(of_group.size()))) {
      links.between = std::move(*between);
      return links;
    }
  // If links are irregular, each device forms its own group.
  links.group.resize(devices.size());
  std::iota(links.group.begin(), links.group.end(), 0);
  links.between = *links_of_groups(devices, link, links.group, static_cast<int>(devices.size()));
  return links;
}

std::string to_string(LinkKind kind) { return name_in(kind_names, kind); }
LinkKind link_kind_from_string(const std::string& name) {
  return value_in(kind_names, name, "no kind of link is named", "kind");
}

Machine::Machine(std::string name, std::vector<MachineDevice> devices, Links links)
    : name_(std::move(name)), found_(std::make_shared<Found>()) {
  Found& all = *found_;
  all.devices = std::move(devices);
  all.links = std::move(links);
  const Checker checker(name_, all.devices);
  checker.check_devices();
  all.first_of_node = beginnings(all.devices);
  checker.check_classes(all.links, all.first_of_node);
  std::map<std::string, int> users;
  for (int d = 0; d < this->devices(); ++d) {
    const MachineDevice& device = all.devices[d];
    ++users[device.uuid];
    if (device.rank >= ranks()) all.of_rank.resize(device.rank + 1);
    auto& [first, count] = all.of_rank[device.rank];
    if (count++ == 0) first = d;
    all.most_devices_of_rank = std::max(all.most_devices_of_rank, count);
  }
  for (const MachineDevice& device : all.devices) {
    all.shared.push_back(!device.uuid.empty() && users[device.uuid] > 1);
    all.any_shared |= all.shared.back();
  }
  checker.check_links(*this);
}

Machine::Machine(std::string name, std::vector<MachineDevice> devices, const std::vector<Link>& links)
    : Machine(name, devices, [&] {
        const Checker checker(name, devices);
        checker.check_devices();
        checker.check_size(links.size());
        return links_by_class(devices, [&](int from, int to) { return links[from * devices.size() + to]; });
      }()) {}

const Link& Machine::link(int from, int to) const {
  const int node = device(from).node;
  const Links& links = found_->links;
  if (node != device(to).node) return links.between.at(links.group[from], links.group[to]);
  const int first = found_->first_of_node[node];
  return links.within[links.kind[node]].at(from - first, to - first);
}

std::vector<int> Machine::devices_of_rank(int rank) const {
  if (rank < 0 || rank >= ranks()) return {};
  std::vector<int> result(found_->of_rank[rank].second);
  std::iota(result.begin(), result.end(), found_->of_rank[rank].first);
  return result;
}

std::vector<int> Machine::devices_of_node(int node) const {
  if (node < 0 || node >= nodes()) return {};
  std::vector<int> result(found_->first_of_node[node + 1] - found_->first_of_node[node]);
  std::iota(result.begin(), result.end(), found_->first_of_node[node]);
  return result;
}

bool Machine::uniform() const {
  const std::vector<int>& first = found_->first_of_node;
  for (int node = 0; node < nodes(); ++node)
    if (first[node + 1] - first[node] != first[1]) return false;
  return true;
}

}  // namespace slipstream
