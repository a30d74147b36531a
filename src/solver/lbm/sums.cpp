// Reproducible sums and extremes over cells and links, with the same bits on any number of ranks.
#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "machine/sum.hpp"
#include "solver/lbm/impl.hpp"

namespace slipstream::lbm {

std::vector<Partial> by_block(const Communicator& comm, const Grid& grid, const std::vector<Partial>& mine) {
  std::vector<Partial> all;
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(Partial));
  for (const std::string& text : comm.all_gather(bytes)) {
    const std::size_t before = all.size();
    all.resize(before + text.size() / sizeof(Partial));
    std::memcpy(all.data() + before, text.data(), text.size());
  }
  const auto place = [&](const Partial& part) {
    const Extent& lo = grid.block(part.block).box.lo;
    return std::tuple(lo[2], lo[1], lo[0], part.quantity);
  };
  std::sort(all.begin(), all.end(), [&](const Partial& a, const Partial& b) { return place(a) < place(b); });
  return all;
}

std::vector<Load> Lbm::loads(const std::array<double, 3>& about) {
  std::vector<Load> loads;
  std::map<int, std::size_t> place;
  for (int side = 0; side < 2 * impl_->grid.dimensions(); ++side)
    if (is_wall(impl_->options, side)) {
      place[side] = loads.size();
      loads.push_back({to_string(static_cast<Side>(side)), {}, {}});
    }
  for (const std::string& name : impl_->surfaces.names) {
    const int number = static_cast<int>(&name - impl_->surfaces.names.data());
    place[first_body + number] = loads.size();
    loads.push_back({name, {}, {}});
  }
  impl_->bring();
  // A partial sum has the links of one block to one wall or body: force and moment from each thread block.
  std::vector<std::pair<const BlockWork*, const Buffer<LoadLink>*>> borne;
  std::vector<PartSums::Part> parts;
  std::vector<Partial> mine;
  for (const BlockWork& work : impl_->blocks)
    for (const auto& [bearer, links] : work.loads) {
      borne.emplace_back(&work, &links);
      parts.push_back({work.device, static_cast<std::size_t>(6 * load_teams(links.size()))});
      mine.push_back({work.id, bearer});
    }
  const auto sums =
      impl_->sums.of(impl_->loop->streams(), parts, [&](std::size_t n, Together& together, double* place) {
        const auto& [work, links] = borne[n];
        std::array<double, 3> corner;
        for (int a = 0; a < 3; ++a)
          corner[a] = static_cast<double>(impl_->grid.block(work->id).box.lo[a]) + 0.5 - about[a];
        impl_->kernel.loads(together, {links->data(), links->size()}, corner, impl_->arrays(*work), place);
      });
  for (std::size_t n = 0; n < sums.size(); ++n)
    for (std::size_t i = 0; i < sums[n].size(); ++i) mine[n].values[i % 6] += sums[n][i];
  for (const Partial& part : by_block(impl_->comm, impl_->grid, mine)) {
    Load& load = loads[place.at(static_cast<int>(part.quantity))];
    for (int a = 0; a < 3; ++a) {
      load.force[a] += part.values[a];
      load.moment[a] += part.values[3 + a];
    }
  }
  return loads;
}

std::vector<std::int64_t> Lbm::links_through_bodies() const {
  std::vector<std::int64_t> counts;
  for (std::size_t body = 0; body < impl_->surfaces.names.size(); ++body) {
    std::int64_t mine = 0;
    for (const BlockWork& work : impl_->blocks) mine += work.through[body];
    counts.push_back(static_cast<std::int64_t>(sum_over_ranks(impl_->comm, static_cast<std::uint64_t>(mine))));
  }
  return counts;
}

double Lbm::update_macroscopic() {
  const bool first = !impl_->velocity;
  if (first) impl_->make_macroscopic();
  impl_->macroscopic_step = impl_->now();
  double change = 0;
  const auto changes = impl_->per_row([&](Together& together, const Box& cells, const BlockArrays& block, double* out) {
    impl_->kernel.macroscopic(together, cells, block, impl_->model, out);
  });
  for (const auto& block : changes)
    for (const double row : block) change = row > change || row != row ? row : change;
  // A NaN on one rank must give NaN on all ranks.
  const bool sound = impl_->comm.all(change == change);
  const double all = impl_->comm.max(sound ? change : 0);
  if (!sound) return std::numeric_limits<double>::quiet_NaN();
  return first ? std::numeric_limits<double>::infinity() : all;
}

double Lbm::excess_mass() {
  const auto sums = impl_->per_row([&](Together& together, const Box& cells, const BlockArrays& block, double* out) {
    impl_->kernel.excess_mass(together, cells, block, out);
  });
  std::vector<Partial> mine;
  for (std::size_t b = 0; b < sums.size(); ++b) {
    mine.push_back({impl_->blocks[b].id});
    for (const double row : sums[b]) mine.back().values[0] += row;
  }
  double total = 0;
  for (const Partial& part : by_block(impl_->comm, impl_->grid, mine)) total += part.values[0];
  return total;
}

Energy Lbm::energy() {
  impl_->bring();
  for (Stream& stream : impl_->loop->streams()) stream.synchronize();
  const auto sums =
      impl_->per_row([&](Together& together, const Box& cells, const BlockArrays& block,
                         double* out) { impl_->kernel.energy(together, cells, block, impl_->model, out); },
                     2);
  std::vector<Partial> mine;
  for (std::size_t b = 0; b < sums.size(); ++b) {
    mine.push_back({impl_->blocks[b].id});
    for (std::size_t n = 0; n < sums[b].size(); ++n) mine.back().values[n % 2] += sums[b][n];
  }
  Energy total;
  for (const Partial& part : by_block(impl_->comm, impl_->grid, mine)) {
    total.kinetic += part.values[0];
    total.dissipation += part.values[1];
  }
  return total;
}

std::int64_t Lbm::fluid_cells() const {
  std::int64_t mine = 0;
  for (const auto& work : impl_->blocks) mine += work.fluid_cells;
  return static_cast<std::int64_t>(sum_over_ranks(impl_->comm, static_cast<std::uint64_t>(mine)));
}

}  // namespace slipstream::lbm
