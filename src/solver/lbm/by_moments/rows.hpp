#pragma once
// Fused step in ten moments on the host. A thread takes some rows of a block and marches along z. It buffers the
// populations of three planes by rows. So populations are computed once per cell, except for rows at the edges, and
// loops along rows vectorise.
#include <algorithm>

#include <slipstream/launch.hpp>

#include "solver/lbm/by_moments/step.hpp"

namespace slipstream::lbm {

template <class S, class Collision>
struct MarchRows {
  using T = typename S::Number;
  using Word = typename S::Word;
  StepCells<S, Collision> step;
  int low[3], high[3];  ///< corners of the box to update
  int rows, depth;      ///< number of rows and of planes that one thread advances
  int slabs;            ///< number of groups of rows along y; a thread advances one group through some planes
  std::int64_t cost;

  /// Buffer sizes in values: a row with the cells beyond both ends, a plane of one population, a plane of all.
  SLIP_FN int row() const { return high[0] - low[0] + 2; }
  SLIP_FN int population() const { return (rows + 2) * row(); }
  SLIP_FN int plane() const { return D3Q19::q * population(); }

  /// Calls `what(first, end)` for the range of a row that contains all of its fluid cells; for the whole row if no
  /// cells are skipped.
  template <class F>
  void each_part(int begin, int end, int y, int z, const F& what) const {
    if (!step.skips()) return what(begin, end);
    constexpr int length = 32;
    for (int first = begin; first < end; first += length) {
      const int next = std::min(first + length, end);
      bool solid = true;
      for (int x = first; x < next && solid; ++x) solid = step.solid(x, y, z);
      if (!solid) what(first, next);
    }
  }

  void send(T* to, int y, int z) const {
    each_part(low[0] - 1, high[0] + 1, step.in.wrapped(y, 1), step.in.wrapped(z, 2),
              [&](int first, int end) { send_cells(to + (first - low[0] + 1), first, end - first, y, z); });
  }
  [[gnu::flatten]] void send_cells(T* to, int first, int n, int y, int z) const {
    const auto& in = step.in;
    const Word* const from = in.origin + in.wrapped(y, 1) * in.row + in.wrapped(z, 2) * in.plane + first;
    const std::int64_t component = in.component;
    const int apart = population();
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) {
      const Sending<T> s(load_moments<S>(from + i, component), Collision::third_order);
      unrolled<0, D3Q19::q>([&](auto q) { to[i + q() * apart] = s.template population<q()>(); });
    }
  }

  /// Collects the populations that arrive in a row. The pointers are starts of rows in the planes below, of the row
  /// itself and above, for populations that move up, stay in the plane and move down.
  void receive(const T* down, const T* same, const T* up, int y, int z) const {
    each_part(low[0], high[0], y, z, [&](int first, int end) {
      const int skipped = first - low[0];
      receive_cells(down + skipped, same + skipped, up + skipped, first, end - first, y, z);
    });
  }
  [[gnu::flatten]] void receive_cells(const T* const down, const T* const same, const T* const up, int first, int n,
                                      int y, int z) const {
    const auto& in = step.in;
    Word* const out = step.out + y * in.row + z * in.plane + first;
    const std::int64_t component = in.component;
    const Collision collision = step.collision;
    const int along = row(), apart = population();
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) {
      T g[D3Q19::q];
      unrolled<0, D3Q19::q>([&](auto q) {
        constexpr int cx = D3Q19::velocity[q()][0], cy = D3Q19::velocity[q()][1], cz = D3Q19::velocity[q()][2];
        const int at = i - cx - cy * along + q() * apart;
        if constexpr (cz < 0) g[q()] = down[at];
        if constexpr (cz == 0) g[q()] = same[at];
        if constexpr (cz > 0) g[q()] = up[at];
      });
      TenMoments<T> m = moments_arrived(g);
      collision(m);
      store_moments<S>(out + i, component, m);
    }
  }

  template <class Team>
  void operator()(const Team& team) const {
    T* const memory = team.template shared<T>();
    const int slab = static_cast<int>(team.index() % slabs), layer = static_cast<int>(team.index() / slabs);
    const int y0 = low[1] + slab * rows, y1 = std::min(y0 + rows, high[1]);
    const int z0 = low[2] + layer * depth, z1 = std::min(z0 + depth, high[2]);
    const auto place = [&](int y, int z) { return memory + (z - z0 + 3) % 3 * plane() + (y - y0 + 1) * row(); };
    for (int z = z0 - 1; z <= z1; ++z) {
      for (int y = y0 - 1; y <= y1; ++y) send(place(y, z), y, z);
      if (z <= z0) continue;
      for (int y = y0; y < y1; ++y) receive(place(y, z) + 1, place(y, z - 1) + 1, place(y, z - 2) + 1, y, z - 1);
    }
  }
};

/// Advances cells on host threads. `height`: rows a thread; 0: what a cache holds. `deepest`: planes a thread; 0: 32.
template <class S, class Collision>
void launch_rows(Stream& stream, const Box& box, const StepCells<S, Collision>& step, int height, int deepest) {
  using T = typename S::Number;
  constexpr std::int64_t cache = 512 << 10;  // assumed size of the private cache of a core
  const std::int64_t row = 3 * D3Q19::q * (box.extent(0) + 2) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t suited = std::clamp<std::int64_t>(cache / row - 2, 2, 16);
  const auto rows = static_cast<int>(std::min(height > 0 ? height : suited, box.extent(1)));
  const int depth = static_cast<int>(std::min<std::int64_t>(deepest > 0 ? deepest : 32, box.extent(2)));
  const int slabs = static_cast<int>((box.extent(1) + rows - 1) / rows);
  const auto corner = [](const Extent& p, int axis) { return static_cast<int>(p[axis]); };
  launch_teams_on_host(stream, slabs * ((box.extent(2) + depth - 1) / depth), 1,
                       static_cast<std::size_t>(row * (rows + 2)),
                       MarchRows<S, Collision>{step,
                                               {corner(box.lo, 0), corner(box.lo, 1), corner(box.lo, 2)},
                                               {corner(box.hi, 0), corner(box.hi, 1), corner(box.hi, 2)},
                                               rows,
                                               depth,
                                               slabs,
                                               box.extent(0) * rows * depth});
}

}  // namespace slipstream::lbm
