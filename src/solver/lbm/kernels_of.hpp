#pragma once
// The kernels, as functors for both backends. Populations are stored as deviations from the weights, g_i = f_i - w_i,
// so that f32 keeps its digits where the flow is nearly at rest.
#include <slipstream/launch.hpp>

#include "solver/lbm/collision/trt.hpp"
#include "solver/lbm/kernels.hpp"
#include "solver/lbm/lattice.hpp"
#include "solver/lbm/moments.hpp"

namespace slipstream::lbm {

/// Strides that the compiler knows: with soa, neighbours in x are neighbours in memory.
template <class L, class T, Layout layout>
struct Access {
  T* origin;
  std::int64_t row, plane, component;

  explicit Access(const Place& place)
      : origin(reinterpret_cast<T*>(place.origin)),
        row(place.shape.stride[1]),
        plane(place.shape.stride[2]),
        component(layout == Layout::soa ? place.shape.component_stride : 1) {}
  SLIP_FN std::int64_t at(int i, int j, int k) const {
    return static_cast<std::int64_t>(i) * (layout == Layout::soa ? 1 : L::q) + j * row + k * plane;
  }
  template <int q>
  SLIP_FN T* population() const {
    return origin + (layout == Layout::soa ? q * component : q);
  }
};

/// Elements from a cell to its neighbour below and above on one axis. Where a block spans a periodic axis it is its
/// own neighbour: the step then wraps round, and no ghosts are stored or exchanged.
struct Step {
  std::int64_t below, above;
  SLIP_FN Step(std::int64_t stride, int at, int wrapped_extent)
      : below(wrapped_extent > 0 && at == 0 ? (wrapped_extent - 1) * stride : -stride),
        above(wrapped_extent > 0 && at == wrapped_extent - 1 ? (1 - wrapped_extent) * stride : stride) {}
};

/// Steps of a row of cells in y and z. In x only kernels made for it wrap: vector instructions could not.
template <class L>
struct Steps {
  Step y, z;
  /// From a cell to the one that population q comes from.
  template <int q>
  SLIP_FN std::int64_t upstream(const Step& x) const {
    constexpr int cx = L::velocity[q][0], cy = L::velocity[q][1], cz = L::velocity[q][2];
    return (cx == 0  ? 0
            : cx > 0 ? x.below
                     : x.above) +
           (cy == 0  ? 0
            : cy > 0 ? y.below
                     : y.above) +
           (cz == 0  ? 0
            : cz > 0 ? z.below
                     : z.above);
  }
};

template <class T>
struct Scalars {
  T* origin = nullptr;
  std::int64_t cell = 1, row = 0, plane = 0, component = 0;
  Scalars() = default;
  explicit Scalars(const Place& place)
      : origin(reinterpret_cast<T*>(place.origin)),
        cell(place.shape.stride[0]),
        row(place.shape.stride[1]),
        plane(place.shape.stride[2]),
        component(place.shape.component_stride) {}
  SLIP_FN std::int64_t at(int i, int j, int k) const { return i * cell + j * row + k * plane; }
};

/// Pulls the populations of a cell, collides them and writes them; a solid cell's are left at rest.
template <class L, class T, Layout layout, bool solids, bool wrap_x, class Collision>
struct StreamCollide {
  Access<L, const T, layout> in;
  Access<L, T, layout> out;
  Scalars<const std::uint8_t> flags;
  Wrap wrap;
  Collision collision;

  /// The cells of one row.
  struct Row {
    StreamCollide kernel;
    std::int64_t start, flags_start;
    Steps<L> steps;
    SLIP_FN void operator()(int i) const { kernel.cell(*this, i); }
  };
  SLIP_FN Row row(int j, int k) const {
    return {
        *this, in.at(0, j, k), flags.at(0, j, k), {Step(in.row, j, wrap.extent[1]), Step(in.plane, k, wrap.extent[2])}};
  }
  SLIP_FN void operator()(int i, int j, int k) const { row(j, k)(i); }

  SLIP_FN void cell(const Row& row, int i) const {
    const std::int64_t at = row.start + in.at(i, 0, 0);
    const Step x(in.at(1, 0, 0), i, wrap_x ? wrap.extent[0] : 0);
    T g[L::q];
    unrolled<0, L::q>(
        [&](auto q) { g[q()] = in.template population<q()>()[at + row.steps.template upstream<q()>(x)]; });
    collision(g);
    const bool solid = solids && flags.origin[row.flags_start + i] != 0;
    unrolled<0, L::q>([&](auto q) { out.template population<q()>()[at] = solids && solid ? T(0) : g[q()]; });
  }
};

/// Links are dealt out in rows, so that host threads can share them.
constexpr int links_per_row = 1024;

template <class T>
struct ApplyLinks {
  T* origin;
  const Link* links;
  std::int64_t count;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = static_cast<std::int64_t>(j) * links_per_row + i;
    if (n >= count) return;
    const Link link = links[n];
    origin[link.target] = origin[link.source] + static_cast<T>(link.term);
  }
};

template <class L, class T, Layout layout>
SLIP_FN Moments<T> cell_moments(const Access<L, const T, layout>& in, int i, int j, int k) {
  const std::int64_t at = in.at(i, j, k);
  T g[L::q];
  unrolled<0, L::q>([&](auto q) { g[q()] = in.template population<q()>()[at]; });
  return moments<L>(g);
}

/// The larger of two sizes; a NaN is kept, not lost.
SLIP_FN double larger(double a, double b) { return b > a || b != b ? b : a; }

/// Threads of a team that shares one row; each adds up every 64th cell, the first then adds the 64 in order.
constexpr int row_threads = 64;

template <class L, class T, Layout layout>
struct Macroscopic {
  Access<L, const T, layout> in;
  Scalars<T> velocity, density;
  Scalars<const std::uint8_t> flags;
  Box box;
  double* change;

  SLIP_FN double cell(int i, int j, int k) const {
    const bool solid = flags.origin[flags.at(i, j, k)] != 0;
    const Moments<T> m = cell_moments<L, T, layout>(in, i, j, k);
    const T inverse = T(1) / (T(1) + m.excess);
    const T u[3] = {solid ? T(0) : m.x * inverse, solid ? T(0) : m.y * inverse, solid ? T(0) : m.z * inverse};
    if (density.origin) density.origin[density.at(i, j, k)] = solid ? T(0) : T(1) + m.excess;
    double largest = 0;
    const std::int64_t at = velocity.at(i, j, k);
    for (int c = 0; c < 3; ++c) {
      const double moved =
          static_cast<double>(u[c]) - static_cast<double>(velocity.origin[at + c * velocity.component]);
      largest = larger(largest, moved < 0 ? -moved : moved);
      velocity.origin[at + c * velocity.component] = u[c];
    }
    return largest;
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const Macroscopic& self = *this;
    double* largest = team.template shared<double>();
    const int j = static_cast<int>(box.lo[1] + team.index() % box.extent(1));
    const int k = static_cast<int>(box.lo[2] + team.index() / box.extent(1));
    team.each([=, &self](int thread) {
      double mine = 0;
      for (int i = static_cast<int>(self.box.lo[0]) + thread; i < self.box.hi[0]; i += row_threads)
        mine = larger(mine, self.cell(i, j, k));
      largest[thread] = mine;
    });
    team.each([=, &self, &team](int thread) {
      if (thread != 0) return;
      double all = 0;
      for (int t = 0; t < row_threads; ++t) all = larger(all, largest[t]);
      self.change[team.index()] = all;
    });
  }
};

template <class L, class T, Layout layout>
struct ExcessMass {
  Access<L, const T, layout> in;
  Scalars<const std::uint8_t> flags;
  Box box;
  double* sum;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const ExcessMass& self = *this;
    double* part = team.template shared<double>();
    const int j = static_cast<int>(box.lo[1] + team.index() % box.extent(1));
    const int k = static_cast<int>(box.lo[2] + team.index() / box.extent(1));
    team.each([=, &self](int thread) {
      double mine = 0;
      for (int i = static_cast<int>(self.box.lo[0]) + thread; i < self.box.hi[0]; i += row_threads)
        if (self.flags.origin[self.flags.at(i, j, k)] == 0)
          mine += static_cast<double>(cell_moments<L, T, layout>(self.in, i, j, k).excess);
      part[thread] = mine;
    });
    team.each([=, &self, &team](int thread) {
      if (thread != 0) return;
      double all = 0;
      for (int t = 0; t < row_threads; ++t) all += part[t];
      self.sum[team.index()] = all;
    });
  }
};

template <class L, class T>
class KernelsOf final : public Kernels {
 public:
  void stream_collide(Stream& stream, const Box& box, const BlockArrays& b, Layout layout, double omega_plus,
                      double omega_minus) const override {
    const auto run = [&]<Layout order, bool solids, bool wrap_x>() {
      launch(stream, box,
             StreamCollide<L, T, order, solids, wrap_x, Trt<L, T>>{
                 Access<L, const T, order>(b.populations), Access<L, T, order>(b.populations_out),
                 Scalars<const std::uint8_t>(b.flags), b.wrap, Trt<L, T>(omega_plus, omega_minus)});
    };
    const auto with_solids = [&]<Layout order, bool wrap_x>() {
      b.has_solids ? run.template operator()<order, true, wrap_x>() : run.template operator()<order, false, wrap_x>();
    };
    if (layout == Layout::aos) {
      with_solids.template operator()<Layout::aos, false>();
    } else if (b.wrap.extent[0] > 0) {
      with_solids.template operator()<Layout::soa, true>();
    } else {
      with_solids.template operator()<Layout::soa, false>();
    }
  }

  void apply_links(Stream& stream, const Link* links, std::int64_t count, const BlockArrays& b) const override {
    launch(stream, Box{{0, 0, 0}, {links_per_row, (count + links_per_row - 1) / links_per_row, 1}},
           ApplyLinks<T>{reinterpret_cast<T*>(b.populations.origin), links, count});
  }

  void macroscopic(Stream& stream, const Box& box, const BlockArrays& b, Layout layout, double* change) const override {
    const auto run = [&]<Layout order>() {
      launch_teams(stream, rows(box), row_threads, row_threads * sizeof(double),
                   Macroscopic<L, T, order>{Access<L, const T, order>(b.populations), Scalars<T>(b.velocity),
                                            Scalars<T>(b.density), Scalars<const std::uint8_t>(b.flags), box, change});
    };
    layout == Layout::soa ? run.template operator()<Layout::soa>() : run.template operator()<Layout::aos>();
  }

  void excess_mass(Stream& stream, const Box& box, const BlockArrays& b, Layout layout, double* sum) const override {
    const auto run = [&]<Layout order>() {
      launch_teams(stream, rows(box), row_threads, row_threads * sizeof(double),
                   ExcessMass<L, T, order>{Access<L, const T, order>(b.populations),
                                           Scalars<const std::uint8_t>(b.flags), box, sum});
    };
    layout == Layout::soa ? run.template operator()<Layout::soa>() : run.template operator()<Layout::aos>();
  }
};

}  // namespace slipstream::lbm
