#include "grid/placement.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include <slipstream/error.hpp>

#include "device/names.hpp"
#include "grid/box_index.hpp"

namespace slipstream {
namespace {

constexpr std::pair<const char*, PlacementMethod> method_names[] = {{"trivial", PlacementMethod::trivial},
                                                                    {"random", PlacementMethod::random},
                                                                    {"theoretical", PlacementMethod::theoretical},
                                                                    {"measured", PlacementMethod::measured}};

}  // namespace

std::string to_string(PlacementMethod method) { return name_in(method_names, method); }

PlacementMethod placement_from_string(const std::string& name) {
  return value_in(method_names, name, "no placement is named", "placement");
}

namespace detail {
namespace {

/// Number of cells of part `source` of a grid that part `reader` reads through a halo of width 1.
struct Flow {
  int source, reader;
  double cells;
};

std::vector<Flow> halo_flows(const std::vector<Box>& parts, const Extent& extent, const std::array<bool, 3>& periodic) {
  const BoxIndex index(parts);
  const Extent reach{periodic[0] ? 1 : 0, periodic[1] ? 1 : 0, periodic[2] ? 1 : 0};
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::map<int, double> cells;
    for (std::int64_t z = -reach[2]; z <= reach[2]; ++z)
      for (std::int64_t y = -reach[1]; y <= reach[1]; ++y)
        for (std::int64_t x = -reach[0]; x <= reach[0]; ++x) {
          const Box wide = shifted(grown(parts[i], {1, 1, 1}), {x * extent[0], y * extent[1], z * extent[2]});
          for (const std::int64_t other : index.overlapping(wide))
            cells[static_cast<int>(other)] += static_cast<double>(intersection(wide, parts[other]).volume());
        }
    for (const auto& [other, count] : cells)
      if (other != static_cast<int>(i)) flows.push_back({other, static_cast<int>(i), count});
  }
  return flows;
}

/// Shuffles in the same order with every standard library, unlike std::shuffle.
void shuffle(std::vector<int>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
}

class Placer {
 public:
  Placer(const Machine& machine, const Partition& partition, const Extent& extent, const GridOptions& options)
      : machine_(machine), options_(options), random_(options.placement_seed) {
    const std::size_t devices = machine.devices();
    require(
        options.measured_gb_per_s.empty() || options.measured_gb_per_s.size() == devices * devices, ErrorCode::mismatch,
        "the measured rates are " + std::to_string(options.measured_gb_per_s.size()) + " figures for " +
            std::to_string(devices) + " devices: give one for each pair, as measure_rates does",
        {{"option", "measured_gb_per_s"}, {"given", options.measured_gb_per_s.size()}, {"needed", devices * devices}});
    require(options.placement != PlacementMethod::measured || !options.measured_gb_per_s.empty(),
            "placement 'measured' needs measured rates: call measure_rates on the machine that was found; a machine "
            "that is described by a file has none, take 'theoretical' there",
            {{"option", "measured_gb_per_s"}});
    flows_ = halo_flows(partition.device_boxes, extent, options.periodic);
    const int nodes = machine.uniform() ? machine.nodes() : 1;
    members_.resize(nodes);
    for (int d = 0; d < machine.devices(); ++d) members_[nodes == 1 ? 0 : machine.device(d).node].push_back(d);
  }

  Placement place() {
    std::vector<int> trivial;
    for (const auto& devices : members_) trivial.insert(trivial.end(), devices.begin(), devices.end());
    Placement result{trivial, 0, cost(trivial)};
    result.cost = result.trivial_cost;
    if (options_.placement == PlacementMethod::trivial) return result;
    std::vector<int> devices = place_devices(place_nodes());
    const double found = cost(devices);
    // Nodes are placed by mean distances. If that gives a worse result, the order of the machine is kept.
    if (options_.placement != PlacementMethod::random && found > result.trivial_cost) return result;
    result.devices = std::move(devices);
    result.cost = found;
    return result;
  }

 private:
  double distance(int from, int to) const {
    const auto& measured = options_.measured_gb_per_s;
    const double rate = measured.empty() ? machine_.link(from, to).gb_per_s : measured[from * machine_.devices() + to];
    return 1e-9 / std::max(1e-3, rate);
  }

  double cost(const std::vector<int>& devices) const {
    double sum = 0;
    for (const Flow& flow : flows_) sum += flow.cells * distance(devices[flow.source], devices[flow.reader]);
    return sum;
  }

  std::vector<int> ordered(int count) {
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (options_.placement == PlacementMethod::random) shuffle(order, random_);
    return order;
  }

  /// Mean distance between the devices of two nodes: seconds per byte.
  double node_distance(int a, int b) const {
    double sum = 0;
    for (const int from : members_[a])
      for (const int to : members_[b]) sum += distance(from, to);
    return sum / static_cast<double>(members_[a].size() * members_[b].size());
  }

  /// Chooses a node for each group of parts that the partition made for one node.
  std::vector<int> place_nodes() {
    const int nodes = static_cast<int>(members_.size());
    std::vector<int> order = ordered(nodes);
    const bool alike = options_.measured_gb_per_s.empty() && machine_.links().between.size == 1;
    if (nodes == 1 || alike || options_.placement == PlacementMethod::random) return order;
    std::vector<double> flow(nodes * nodes, 0.0), far(nodes * nodes, 0.0);
    double least = 0, most = 0;
    for (int a = 0; a < nodes; ++a)
      for (int b = 0; b < nodes; ++b) {
        if (a == b) continue;
        const double d = far[a * nodes + b] = node_distance(a, b);
        least = most == 0 ? d : std::min(least, d);
        most = std::max(most, d);
      }
    if (most - least <= 1e-9 * most) return order;
    const int per_node = static_cast<int>(members_[0].size());
    for (const Flow& f : flows_) {
      const int from = f.source / per_node, to = f.reader / per_node;
      if (from != to) flow[from * nodes + to] += f.cells;
    }
    return quadratic_assignment(flow, far, nodes);
  }

  std::vector<int> place_devices(const std::vector<int>& node_of) {
    const int per_node = static_cast<int>(members_[0].size());
    std::vector<std::vector<double>> flow(members_.size(), std::vector<double>(per_node * per_node, 0.0));
    for (const Flow& f : flows_) {
      const int node = f.source / per_node;
      if (node == f.reader / per_node) flow[node][f.source % per_node * per_node + f.reader % per_node] += f.cells;
    }
    std::vector<int> devices;
    for (std::size_t part = 0; part < members_.size(); ++part) {
      const std::vector<int>& there = members_[node_of[part]];
      for (const int index :
           options_.placement == PlacementMethod::random ? ordered(per_node) : assigned(flow[part], there))
        devices.push_back(there[index]);
    }
    return devices;
  }

  /// Devices for the parts on a node. Most nodes pose the same assignment problem, so solutions are cached.
  const std::vector<int>& assigned(const std::vector<double>& flow, const std::vector<int>& devices) {
    std::vector<double> far;
    for (const int from : devices)
      for (const int to : devices) far.push_back(from == to ? 0 : distance(from, to));
    const auto [entry, fresh] = solved_.try_emplace({flow, far});
    if (fresh) entry->second = quadratic_assignment(flow, far, static_cast<int>(devices.size()));
    return entry->second;
  }

  const Machine& machine_;
  const GridOptions& options_;
  std::mt19937_64 random_;
  std::vector<Flow> flows_;
  std::vector<std::vector<int>> members_;  ///< numbers of devices by node; one group if nodes differ in size
  std::map<std::pair<std::vector<double>, std::vector<double>>, std::vector<int>> solved_;
};

}  // namespace

Placement place(const Machine& machine, const Partition& partition, const Extent& extent, const GridOptions& options) {
  return Placer(machine, partition, extent, options).place();
}

}  // namespace detail
}  // namespace slipstream
