#pragma once
// Kernels of links, and of the loads on walls and bodies.
#include <algorithm>

#include <slipstream/launch.hpp>

#include "device/rolled.hpp"
#include "device/together.hpp"
#include "solver/lbm/storage/populations.hpp"

namespace slipstream::lbm {

/// Runs a kernel over boundary links in rows of 1024, so that host threads can share the work.
template <class Work>
struct PerLink {
  static constexpr int per_row = 1024;
  Work work;
  std::int64_t count;
  Box rows() const { return {{0, 0, 0}, {std::min<std::int64_t>(count, per_row), (count + per_row - 1) / per_row, 1}}; }
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = static_cast<std::int64_t>(j) * per_row + i;
    if (n < count) work(n);
  }
};

template <class Work>
void launch_per_link(Stream& stream, std::size_t count, const Work& work) {
  const PerLink<Work> kernel{work, static_cast<std::int64_t>(count)};
  launch(stream, kernel.rows(), kernel);
}
/// Launches a kernel over boundary links, together with other small kernels if `together` is given.
template <class Work>
void launch_per_link(Stream& stream, std::size_t count, const Work& work, Together* together) {
  if (!together) return launch_per_link(stream, count, work);
  const PerLink<Work> kernel{work, static_cast<std::int64_t>(count)};
  together->add(kernel.rows(), kernel);
}

template <class Cells>
struct HalfWay {
  Cells cells;
  const Link* links;
  SLIP_FN void operator()(std::int64_t n) const {
    const Link link = links[n];
    cells.bring(link.cell, link.in,
                cells.sent(link.cell, opposite(link.in)) + static_cast<typename Cells::Number>(link.term));
  }
};

/// Adds corrections for a periodic pressure drop to populations that have just arrived. It must run once per step.
template <class Cells>
struct Added {
  Cells cells;
  const Link* links;
  SLIP_FN void operator()(std::int64_t n) const {
    const Link link = links[n];
    cells.bring(link.cell, link.in, cells.comes(link.cell, link.in) + static_cast<typename Cells::Number>(link.term));
  }
};

template <class Cells>
struct Copied {
  Cells cells;
  const CopiedLink* links;
  SLIP_FN void operator()(std::int64_t n) const {
    const CopiedLink link = links[n];
    cells.bring(link.cell, link.in,
                cells.sent(link.other_cell, link.other) + static_cast<typename Cells::Number>(link.term));
  }
};

/// Applies interpolated links, by cell. A body returns more or less than the cell sent. With `keep_mass` the population
/// at rest takes the difference, so that mass is conserved. The sum uses integers, so its order does not matter: mirror
/// images of a cell keep their bits.
template <class Cells>
struct Interpolated {
  using T = typename Cells::Number;
  Cells cells;
  const InterpolatedCell* list;
  const double* shares;
  bool keep_mass;
  SLIP_FN void operator()(std::int64_t n) const {
    const InterpolatedCell at = list[n];
    const double* share = shares + at.first;
    constexpr double unit = 0x1p60;
    std::int64_t lost = 0;
    cells.bring_each(at.cell, at.in, at.near, [&](T sent, T second) {
      const T returned = sent - static_cast<T>(*share++) * (sent - second);
      const T difference = sent - returned;
      // Mass lost by reflection at a wall. Changes of a population by 0.25 or more are left out: such a flow diverges.
      if (difference > T(-0.25) && difference < T(0.25)) lost += static_cast<std::int64_t>(unit * difference);
      return returned;
    });
    if (!keep_mass) return;
    cells.bring(at.cell, Heading{}, cells.comes(at.cell, Heading{}) + static_cast<T>(static_cast<double>(lost) / unit));
  }
};

/// Element of population 0 of a cell in the arrays of a convective side, which are one cell thick across the side.
template <class T>
SLIP_FN std::int64_t in_outlet(const Scalars<T>& array, int axis, const Cell& c) {
  return array.at(axis == 0 ? 0 : c.x, axis == 1 ? 0 : c.y, axis == 2 ? 0 : c.z);
}

/// Applies a convective (outflow) side: relaxes the last incoming populations, in one array, and writes them to
/// another. The arrays are not rounded to the storage format, because rounding would stop small changes too early.
template <class Cells>
struct Convective {
  using T = typename Cells::Number;
  Cells cells;
  Scalars<const T> before;
  Scalars<T> after;
  int axis;    ///< axis normal to the convective side
  bool first;  ///< whether this is the first step, which has no earlier populations
  const ConvectiveLink* links;
  SLIP_FN void operator()(std::int64_t n) const {
    const ConvectiveLink link = links[n];
    const std::int64_t at = in_outlet(before, axis, link.cell) + link.in.i * before.component;
    const T next = cells.sent(link.other_cell, link.other), last = before.origin[at];
    const T now = first ? next : last + static_cast<T>(link.share) * (next - last);
    after.origin[at] = now;
    cells.bring(link.cell, link.in, now);
  }
};

/// Draws the pressure at a convective side towards the given one far away. The convective condition lets normal waves
/// leave, so any pressure would persist. Poinsot & Lele (1992, after Rudy & Strikwerda 1980) add a weak incoming wave
/// of the amplitude L_1 = K (p - p_far). By this wave the density changes as d rho / dt = -K / 2 (rho - rho_far).
template <class Cells>
struct Held {
  using L = typename Cells::Lattice;
  using T = typename Cells::Number;
  Cells cells;
  Scalars<T> after;  ///< new incoming populations of the convective side, which this kernel changes
  int axis;
  const HeldCell* held;
  SLIP_FN void operator()(std::int64_t n) const {
    const HeldCell at = held[n];
    const T change = static_cast<T>(at.rate) * (static_cast<T>(at.excess) - cells.moments_of(at.cell).excess);
    T* const outlet = after.origin + in_outlet(after, axis, at.cell);
    SLIP_ROLLED
    for (int q = 1; q < L::q; ++q) {
      if ((at.in >> q & 1u) == 0) continue;
      T& now = outlet[q * after.component];
      now += T(L::weight(q)) * change;
      cells.bring(at.cell, heading_at<L>(q), now);
    }
  }
};

/// Completes populations that were copied across a side, as if they came from a cell of another density. The side's
/// density is the mean of both cells. Velocity and stress stay (as in the extrapolation of Guo, Zheng & Shi 2002). The
/// equilibrium w rho (1 + 3 c.u + 9/2 (c.u)^2 - 3/2 u^2) changes with rho by 2 (rho_side - rho).
template <class Cells>
struct Pressure {
  using L = typename Cells::Lattice;
  using T = typename Cells::Number;
  Cells cells;
  T half[3];  ///< half of the force: momentum includes all of the last force, velocity half
  const PressureCell* along;
  SLIP_FN void operator()(std::int64_t n) const {
    const PressureCell at = along[n];
    const Moments<T> m = cells.moments_of(at.cell);
    const T inverse = T(1) / (T(1) + m.excess);
    const T u[3] = {(m.x - half[0]) * inverse, (m.y - half[1]) * inverse, (m.z - half[2]) * inverse};
    const T uu = T(1.5) * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    const T change = T(2) * (static_cast<T>(at.excess) - m.excess);
    SLIP_ROLLED
    for (int q = 1; q < L::q; ++q) {
      if ((at.in >> q & 1u) == 0) continue;
      const Heading h = heading_at<L>(q);
      const T cu = T(h.x) * u[0] + T(h.y) * u[1] + T(h.z) * u[2];
      const T more = T(L::weight(q)) * change * (T(1) + T(3) * cu + T(4.5) * cu * cu - uu);
      cells.bring(at.cell, h, cells.comes(at.cell, h) + more);
    }
  }
};

/// Number of threads of a team that adds up loads; each takes every 64th link, then six add up the 64 sums in order.
constexpr int load_threads = 64;

/// Momentum that a step's populations hand to a surface, c_out f_out - c_in f_in a link (Ladd 1994), and its moment.
/// The pressure of the fluid at rest is left out, so that deviations from the weights stand for f.
template <class Cells>
struct Loads {
  Cells cells;
  const LoadLink* links;
  std::int64_t count;
  double corner[3];  ///< vector from the reference point of moments to the centre of the block's first cell
  double* sums;      ///< partial sums of force and moment on a surface, [thread block][3 of force, 3 of moment]

  SLIP_FN void add(double (&sum)[6], const LoadLink& link) const {
    const Heading out = opposite(link.in);
    const double sent = static_cast<double>(cells.sent(link.cell, out));
    const double back = static_cast<double>(cells.comes(link.cell, link.in));
    const double c[3] = {double(out.x), double(out.y), double(out.z)};
    const double x[3] = {double(link.cell.x), double(link.cell.y), double(link.cell.z)};
    double f[3], r[3];
    for (int a = 0; a < 3; ++a) {
      f[a] = c[a] * (sent + back);
      r[a] = corner[a] + x[a] + link.q * c[a];
      sum[a] += f[a];
    }
    for (int a = 0; a < 3; ++a) sum[3 + a] += r[(a + 1) % 3] * f[(a + 2) % 3] - r[(a + 2) % 3] * f[(a + 1) % 3];
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Loads& self = *this;
    double* part = team.template shared<double>();
    const std::int64_t first = team.index() * links_per_team;
    team.each([=, &self](int thread) {
      double mine[6] = {0, 0, 0, 0, 0, 0};
      for (std::int64_t n = first + thread; n < first + links_per_team && n < self.count; n += load_threads)
        self.add(mine, self.links[n]);
      for (int c = 0; c < 6; ++c) part[6 * thread + c] = mine[c];
    });
    team.each([=, &self, &team](int thread) {
      if (thread >= 6) return;
      double all = 0;
      for (int t = 0; t < load_threads; ++t) all += part[6 * t + thread];
      self.sums[6 * team.index() + thread] = all;
    });
  }
};

}  // namespace slipstream::lbm
