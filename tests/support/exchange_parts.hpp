#pragma once
// Plan, memory and arrays of an exchange within one process, without an Exchange object.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/launches.hpp"
#include "machine_rig.hpp"

namespace slipstream {

/// Describes host devices that do not exist: `devices` on each of `ranks` ranks, two of which are a node.
inline Machine planned_machine(int ranks, int devices, Backend backend = Backend::host) {
  std::vector<MachineDevice> all;
  for (int rank = 0; rank < ranks; ++rank)
    for (int d = 0; d < devices; ++d) {
      MachineDevice& device = all.emplace_back();
      device.node = rank / 2;
      device.rank = rank;
      device.local = {backend, d};
      device.uuid = std::to_string(all.size());
      device.memory = std::int64_t{1} << 30;
    }
  std::vector<Link> links;
  for (const MachineDevice& a : all)
    for (const MachineDevice& b : all)
      links.push_back(a.uuid == b.uuid   ? Link{LinkKind::same, 1000, true}
                      : a.node == b.node ? Link{LinkKind::nvlink, 100, true}
                                         : Link{LinkKind::network, 10, false});
  return {"planned", std::move(all), links};
}

inline GridOptions all_periodic() {
  GridOptions options;
  options.periodic = {true, true, true};
  return options;
}

/// Options of a field of f64 with one layer of ghosts.
inline FieldOptions doubles(const std::string& name, int copies = 1) {
  FieldOptions options;
  options.name = name;
  options.type = DType::f64;
  options.ghost = {1, 1, 1};
  options.shared = true;
  options.copies = copies;
  return options;
}

inline Plan routed(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options = {}) {
  Plan plan(grid, items, options);
  plan.list_transfers();
  plan.choose_routes(false, "not asked for");
  return plan;
}

/// Plan, memory and arrays of an exchange within one process, with routes chosen and buffers allocated.
struct Parts {
  Parts(const Grid& grid, const std::vector<ExchangeItem>& items, const ExchangeOptions& options = {})
      : plan(grid, planned(items), options) {
    plan.list_transfers();
    plan.choose_routes(false, "not asked for");
    memory.emplace(plan, comm);
    arrays.emplace(plan, items, *memory);
    memory->make();
    arrays->publish();
  }

  Communicator comm = Communicator::world();
  Plan plan;
  std::optional<ExchangeMemory> memory;
  std::optional<ItemArrays> arrays;
};

/// State that sender and receiver of a route share. A test sets what its functions return.
struct FakeState final : RouteState {
  bool endless = false, ends = true, replays = true;
  int abandoned = 0;
  bool capturable(int, int) const override { return replays; }
  bool waits_for_ever() const override { return endless; }
  bool abandon() override {
    ++abandoned;
    return ends;
  }
  std::string remark(int, int) const override { return "as the test says"; }
};

}  // namespace slipstream
