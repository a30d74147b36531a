// Running means of a flow, averages of these over planes, and forces on sides.
#include <algorithm>

#include <slipstream/error.hpp>

#include "device/upload.hpp"
#include "machine/agree.hpp"
#include "solver/sem/flow/impl.hpp"
#include "solver/sem/impl.hpp"

namespace slipstream::sem {

void Flow::Impl::add_means() {
  past.averaged += past.last;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    MeansCall call{};
    for (std::size_t c = 0; c < 3; ++c) {
      call.u[c] = part_of(velocity, c)[d];
      call.mean_u[c] = part_of(means->velocity, c)[d];
      call.squares[c] = part_of(means->squares, c)[d];
      call.products[c] = part_of(means->products, c)[d];
    }
    call.p = part_of(pressure, 0)[d];
    call.mean_p = part_of(means->pressure, 0)[d];
    call.share = past.last / past.averaged;
    call.points = space.points(d);
    add_to_means(space.streams()[d], call);
  }
}

void Flow::Impl::list_walls() {
  const Rule rule = gauss_lobatto(options.order);
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t end = 0; end < 2; ++end) {
      if (options.sides[axis][end].condition == FlowCondition::periodic) continue;
      std::vector<Wall> parts_of_side;
      for (std::size_t d = 0; d < devices.size(); ++d) {
        const std::int64_t first = space.first_element(d), last = first + space.elements(d);
        const auto axis_number = static_cast<int>(axis), end_number = static_cast<int>(end);
        const std::vector<std::int64_t> points =
            space.box().points_on(axis_number, end_number, first, last, options.order);
        std::vector<double> areas(3 * points.size());
        const std::vector<Point> each = side_areas(space.box(), rule, axis_number, end_number, first, last);
        for (std::size_t n = 0; n < points.size(); ++n)
          for (std::size_t c = 0; c < 3; ++c) areas[c * points.size() + n] = each[n][c];
        Stream& stream = space.streams()[d];
        parts_of_side.push_back({d, upload(stream, points), upload(stream, areas),
                                 Buffer<double>(stream.device(), 6 * points.size()),
                                 Buffer<double>(stream.device(), 6 * points.size(), Memory::pinned)});
        stream.synchronize();
      }
      walls.emplace_back(SideForce{axis, end}, std::move(parts_of_side));
    }
}

std::vector<SideForce> Flow::forces() {
  Impl& s = *impl_;
  if (s.walls.empty()) on_all_ranks(s.comm, [&] { s.list_walls(); });
  const std::array<Triple*, 3> gradients = s.gradients();
  for (auto& [side, parts] : s.walls)
    for (Impl::Wall& wall : parts) {
      const std::size_t d = wall.device, count = wall.points.size();
      if (count == 0) continue;
      TractionCall call{wall.points.data(),  wall.areas.data(),     s.part_of(s.pressure, 0)[d],     {},
                        s.options.viscosity, wall.tractions.data(), static_cast<std::int64_t>(count)};
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t a = 0; a < 3; ++a) call.gradients[c][a] = (*gradients[c])[a][d].data();
      traction(s.space.streams()[d], call);
      copy(s.space.streams()[d], wall.read.data(), wall.tractions.data(), wall.read.bytes());
    }
  s.wait();
  std::vector<SideForce> found;
  for (const auto& [side, parts] : s.walls) {
    SideForce force = side;
    for (std::size_t c = 0; c < 6; ++c) {
      double sum = 0;
      for (const Impl::Wall& wall : parts)
        for (std::size_t n = 0; n < wall.points.size(); ++n) sum += wall.read.data()[c * wall.points.size() + n];
      (c < 3 ? force.pressure : force.viscous)[c % 3] = s.comm.sum_in_rank_order(sum);
    }
    found.push_back(force);
  }
  return found;
}

std::vector<PlaneMeans> Flow::planes(std::size_t axis) {
  Impl& s = *impl_;
  require(axis < 3, "an axis is 0, 1 or 2", {{"option", "axis"}, {"given", axis}});
  const std::int64_t n = s.options.order + 1, cube = n * n * n;
  const std::int64_t step = axis == 0 ? 1 : axis == 1 ? n : n * n;
  const std::array<std::int64_t, 3>& elements = s.options.elements;
  const auto levels = static_cast<std::size_t>(elements[axis] * s.options.order + 1);
  constexpr std::size_t columns = 12;  // sums per plane: the weight, then the members of PlaneMeans
  std::vector<double> sums(levels * columns, 0.0);
  const auto mass = s.get(pointers(s.space.mass_matrix()));
  std::vector<std::vector<std::vector<double>>> fields;
  const bool averaged = s.means && s.past.averaged > 0;
  for (std::size_t c = 0; c < 3; ++c) fields.push_back(s.get(s.part_of(averaged ? s.means->velocity : s.velocity, c)));
  fields.push_back(s.get(s.part_of(averaged ? s.means->pressure : s.pressure, 0)));
  for (std::size_t c = 0; averaged && c < 6; ++c)
    fields.push_back(s.get(s.part_of(c < 3 ? s.means->squares : s.means->products, c % 3)));
  for (std::size_t d = 0; d < mass.size(); ++d)
    for (std::size_t p = 0; p < mass[d].size(); ++p) {
      const auto point = static_cast<std::int64_t>(p);
      const std::int64_t e = s.space.first_element(d) + point / cube;
      const std::int64_t along = axis == 0   ? e % elements[0]
                                 : axis == 1 ? e / elements[0] % elements[1]
                                             : e / (elements[0] * elements[1]);
      double* const to = &sums[static_cast<std::size_t>(along * s.options.order + point % cube / step % n) * columns];
      const double w = mass[d][p], u = fields[0][d][p], v = fields[1][d][p], z = fields[2][d][p];
      to[0] += w;
      to[1] += w * s.space.places(d)[p][axis];
      for (std::size_t c = 0; c < 4; ++c) to[2 + c] += w * fields[c][d][p];
      const double now[] = {u * u, v * v, z * z, u * v, u * z, v * z};
      for (std::size_t c = 0; c < 6; ++c) to[6 + c] += w * (averaged ? fields[4 + c][d][p] : now[c]);
    }
  std::vector<PlaneMeans> found(levels);
  for (double& sum : sums) sum = s.comm.sum_in_rank_order(sum);
  for (std::size_t level = 0; level < levels; ++level) {
    const double *const from = &sums[level * columns], weight = from[0];
    PlaneMeans& plane = found[level];
    plane.place = from[1] / weight;
    for (std::size_t c = 0; c < 3; ++c) {
      plane.velocity[c] = from[2 + c] / weight;
      plane.squares[c] = from[6 + c] / weight;
      plane.products[c] = from[9 + c] / weight;
    }
    plane.pressure = from[5] / weight;
  }
  return found;
}

}  // namespace slipstream::sem
