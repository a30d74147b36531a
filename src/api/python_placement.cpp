// Bindings to plan the placement of blocks: data that a halo moves between devices, and measured rates of links.
#include <map>
#include <utility>

#include <slipstream/pattern.hpp>

#include "api/python_core.hpp"

namespace slipstream::python {
namespace {

/// Number of halo cells that each device sends to each device, including itself.
std::map<std::pair<int, int>, std::int64_t> halo_cells(const Grid& grid, std::int64_t radius) {
  Halo::Options options;
  options.low = options.high = {radius, radius, grid.dimensions() == 2 ? 0 : radius};
  const Halo halo(options);
  std::map<std::pair<int, int>, std::int64_t> cells;
  for (int rank = 0; rank < grid.machine().ranks(); ++rank)
    for (const Transfer& t : halo.transfers(grid, 1, options.low, rank)) {
      const Block &source = grid.block(t.source_block), &target = grid.block(t.target_block);
      if (source.rank == rank) cells[{source.device, target.device}] += t.source.box.volume();
    }
  return cells;
}

nb::dict place(const Machine& machine, const Extent& cells, const std::array<bool, 3>& periodic, std::int64_t radius,
               const std::string& method, std::uint64_t seed, const std::vector<double>& measured) {
  GridOptions options;
  options.periodic = periodic;
  options.dimensions = cells[2] == 1 ? 2 : 3;
  options.placement = placement_from_string(method);
  options.placement_seed = seed;
  options.measured_gb_per_s = measured;
  const Grid grid(cells, machine, 0, options);
  nb::list blocks, traffic;
  for (const Block& block : grid.blocks()) blocks.append(block_dict(block));
  for (const auto& [pair, count] : halo_cells(grid, radius))
    traffic.append(nb::make_tuple(pair.first, pair.second, count));
  nb::dict result;
  result["blocks"] = blocks;
  result["traffic"] = traffic;
  result["placement_cost"] = grid.placement_cost();
  result["trivial_cost"] = grid.trivial_cost();
  return result;
}

}  // namespace

void bind_placement(nb::module_& m) {
  m.def("place", &place, nb::arg("machine"), nb::arg("cells"), nb::arg("periodic"), nb::arg("radius"),
        nb::arg("placement") = "theoretical", nb::arg("seed") = 0, nb::arg("measured_gb_per_s") = std::vector<double>{},
        "Cuts and places a grid; `traffic` lists (from, to, cells) of a halo of this radius, devices to themselves "
        "included.");
  m.def(
      "measure_rates",
      [](const Machine& machine, std::size_t bytes, std::size_t most_bytes, double seconds, const Communicator* comm) {
        MeasureOptions options;
        options.bytes = bytes;
        options.most_bytes = most_bytes;
        options.seconds = seconds;
        return measure_rates(comm ? *comm : world(), machine, options);
      },
      nb::arg("machine"), nb::arg("bytes") = std::size_t{4} << 20, nb::arg("most_bytes") = 0, nb::arg("seconds") = 10.0,
      nb::arg("comm").none() = nb::none(), nb::call_guard<Released>(),
      "Collective, over the ranks that the machine was discovered with. GB/s from each device to each other, while the "
      "other way is as busy, as one list: "
      "rates[source * devices + target].");
}

}  // namespace slipstream::python
