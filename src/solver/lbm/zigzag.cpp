#include "solver/lbm/zigzag.hpp"

#include <cmath>

#include "solver/lbm/impl.hpp"

namespace slipstream::lbm {

Zigzag Lbm::zigzag() {
  field("velocity");
  Impl& me = *impl_;
  const auto each = [&](const auto& run) {
    for (std::size_t device = 0; device < me.waited.size(); ++device) {
      Together together(me.waited[device]);
      for (const BlockWork& work : me.blocks)
        if (work.device == device) run(together, work.cells, me.arrays(work));
      together.launch();
    }
  };
  Halo::Options halo;
  halo.low = halo.high = me.density->options().ghost;
  const Halo pattern(halo);
  ExchangeOptions options = me.tuning.options;
  options.trace = nullptr;
  Exchange exchange(me.comm, me.grid, {{&pattern, &*me.density}}, options);

  std::vector<std::array<Partial, 4>> parts;  // by block, sums of: oscillations along x, y and z; flow speeds
  for (const BlockWork& work : me.blocks)
    parts.push_back({Partial{work.id, 0}, Partial{work.id, 1}, Partial{work.id, 2}, Partial{work.id, 3}});
  const auto speeds = me.per_row([](Together& together, const Box& cells, const BlockArrays& block, double* out) {
    sum_speeds(together, cells, block, out);
  });
  for (std::size_t b = 0; b < speeds.size(); ++b)
    for (const double row : speeds[b]) parts[b][3].values[0] += row;

  me.macroscopic_step.first = -1;  // velocity and density serve as workspace from here on
  each(mark_solids);
  exchange.run(me.waited);
  each(mark_margins);
  for (int component = 0; component < 3; ++component) {
    each([&](Together& together, const Box& cells, const BlockArrays& block) {
      take_component(together, cells, block, component);
    });
    exchange.run(me.waited);
    const auto sums = me.per_row([](Together& together, const Box& cells, const BlockArrays& block,
                                    double* out) { sum_zigzags(together, cells, block, out); },
                                 zigzag_sums);
    exchange.check();
    for (std::size_t b = 0; b < sums.size(); ++b)
      for (std::size_t n = 0; n < sums[b].size(); ++n) {
        const std::size_t axis = n % 3, terms = n % zigzag_sums / 3;
        if (terms == 0) parts[b][axis].values[component] += sums[b][n];
        if (terms == 1 && component == 0) parts[b][axis].values[3] += sums[b][n];
      }
  }
  update_macroscopic();

  std::vector<Partial> mine;
  for (const auto& block : parts) mine.insert(mine.end(), block.begin(), block.end());
  std::array<Partial, 4> total{};
  for (const Partial& part : by_block(me.comm, me.grid, mine))
    for (std::size_t n = 0; n < part.values.size(); ++n) total[part.quantity].values[n] += part.values[n];
  Zigzag found;
  const std::int64_t cells = fluid_cells();
  found.mean_speed = cells > 0 ? total[3].values[0] / static_cast<double>(cells) : 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double terms = total[axis].values[3];
    found.cells[axis] = static_cast<std::int64_t>(terms);
    for (int c = 0; c < 3; ++c) found.amplitude[axis][c] = terms > 0 ? std::sqrt(total[axis].values[c] / terms) : 0;
  }
  return found;
}

}  // namespace slipstream::lbm
