#pragma once
// A lattice Boltzmann run on one host device, its results, and bodies given by equations.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include <slipstream/gather.hpp>
#include <slipstream/lbm.hpp>

#include "machine_rig.hpp"
#include "solver/lbm/lattice/fields.hpp"
#include "stored_numbers.hpp"

namespace slipstream::lbm {

using Vector = std::array<double, 3>;

struct HostRun {
  explicit HostRun(const Options& o)
      : machine(machine_here(Backend::host, 1)), lbm(Communicator::world(), machine, o) {}

  std::vector<double> numbers(const std::string& field) {
    const auto bytes = gather(Communicator::world(), lbm.field(field), lbm.grid().box());
    std::vector<double> all;
    const auto append = [&]<class T>(T) {
      const auto* first = reinterpret_cast<const T*>(bytes.data());
      all.assign(first, first + bytes.size() / sizeof(T));
    };
    arithmetic(lbm.options().precision) == DType::f32 ? append(0.0f) : append(0.0);
    return all;
  }

  /// Sets each cell to the equilibrium of velocity(x) at density 1; moments also get its viscous stress.
  template <class F>
  void start_from(const F& velocity) {
    if (lbm.options().representation == Representation::moments) return start_moments(velocity);
    with_lattice(lbm.options().lattice, [&]<class L>(L) {
      with_storage(lbm.options().precision, [&]<class S>(S) { write<L, S>(velocity); });
    });
  }

  Machine machine;
  Lbm lbm;

 private:
  template <class F>
  void start_moments(const F& velocity) {
    lbm.start_from([&](const Box& box) {
      std::vector<std::array<double, 4>> flow;
      for_each_cell(box, [&](const Extent& p) {
        const Vector u = velocity(Vector{1.0 * p[0], 1.0 * p[1], 1.0 * p[2]});
        flow.push_back({0, u[0], u[1], u[2]});
      });
      return flow;
    });
  }
  template <class L, class S, class F>
  void write(const F& velocity) {
    std::vector<typename S::Word> values;
    const Extent& e = lbm.grid().extent();
    for (std::int64_t z = 0; z < e[2]; ++z)
      for (std::int64_t y = 0; y < e[1]; ++y)
        for (std::int64_t x = 0; x < e[0]; ++x) {
          const Vector u = velocity(Vector{1.0 * x, 1.0 * y, 1.0 * z});
          const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
          for (int i = 0; i < L::q; ++i) {
            const double cu = L::velocity[i][0] * u[0] + L::velocity[i][1] * u[1] + L::velocity[i][2] * u[2];
            const double g = L::weight(i) * (3 * cu + 4.5 * cu * cu - 1.5 * uu);
            values.push_back(S::store(static_cast<typename S::Number>(g)));
          }
        }
    lbm.state()["populations"].write(lbm.grid().box(), values.data());
  }
};

/// Runs until no velocity changes by more than `part` times `speed`.
inline void settle(HostRun& run, double speed, double part = 1e-10) {
  double change = 1;
  for (int s = 0; s < 600 && change > part * speed; ++s) {
    run.lbm.advance(100);
    change = run.lbm.update_macroscopic();
  }
  ASSERT_LE(change, part * speed);
}

/// How a flow is stored: populations on a lattice, or moments with a collision.
struct Method {
  const char* name;
  Lattice lattice;
  Collision collision = Collision::trt;

  bool flat() const { return lattice == Lattice::d2q9; }
  bool moments() const { return collision == Collision::regularised || collision == Collision::recursive; }
  Options options() const {
    Options o;
    o.lattice = lattice;
    o.collision = collision;
    if (moments()) o.representation = Representation::moments;
    return o;
  }
  /// Extents of a grid: D2Q9 has one layer of cells in z, other lattices at least two.
  Extent cells(std::int64_t x, std::int64_t y, std::int64_t z = 2) const { return {x, y, flat() ? 1 : z}; }
};
/// D2Q9 represents all population methods, because it is the fastest.
constexpr Method populations_held{"D2Q9", Lattice::d2q9},
    moments_held{"recursive", Lattice::d3q19, Collision::recursive};

/// Options of a flow in f64 on each lattice, and by moments.
class FlowByMethod : public testing::TestWithParam<Method> {
 public:
  static constexpr std::array all{populations_held, Method{"D3Q19", Lattice::d3q19}, Method{"D3Q27", Lattice::d3q27},
                                  Method{"regularised", Lattice::d3q19, Collision::regularised}, moments_held};

 protected:
  bool flat() const { return GetParam().flat(); }
  bool moments() const { return GetParam().moments(); }
  Options options(const Extent& cells) const {
    Options o = GetParam().options();
    o.precision = DType::f64;
    o.viscosity = 0.1;
    o.cells = {cells[0], cells[1], flat() ? 1 : cells[2]};
    return o;
  }
};

/// A round body: a cylinder along z through `centre`, or a sphere if `ball`; with `hollow` the complement is solid. It
/// repeats along axes with a period.
struct Round {
  Vector centre;
  double radius;
  bool ball = false, hollow = false;
  Vector period{0, 0, 0};

  double beyond(const Vector& p) const {
    double sum = -radius * radius;
    for (int a = 0; a < (ball ? 3 : 2); ++a) {
      double apart = p[a] - centre[a];
      if (period[a] > 0) apart -= period[a] * std::nearbyint(apart / period[a]);
      sum += apart * apart;
    }
    return hollow ? -sum : sum;
  }
  static Vector middle(const Extent& c) { return {c[0] + 0.5, c[1] + 0.5, c[2] + 0.5}; }
  bool holds(const Extent& c) const { return beyond(middle(c)) < 0; }

  /// Intersection of a link from the fluid with the surface, by bisection.
  double cut(const Extent& from, const Direction& d) const {
    double low = 0, high = 1;
    for (int s = 0; s < 40; ++s) {
      const double q = (low + high) / 2;
      Vector p = middle(from);
      for (int a = 0; a < 3; ++a) p[a] += q * d[a];
      (beyond(p) < 0 ? high : low) = q;
    }
    return high;
  }

  Surfaces surfaces(const std::string& name, bool with_cuts) const {
    Surfaces s;
    s.names = {name};
    s.solid = [*this](const Box& box) {
      std::vector<std::uint16_t> all;
      each(box, [&](const Extent& c) { all.push_back(holds(c) ? 1 : 0); });
      return all;
    };
    if (!with_cuts) return s;
    s.cuts = [*this](const Box& box, const std::vector<Direction>& directions) {
      std::vector<Cut> all;
      each(box, [&](const Extent& c) {
        if (holds(c)) return;
        for (std::size_t n = 0; n < directions.size(); ++n) {
          const Direction& d = directions[n];
          if (!holds({c[0] + d[0], c[1] + d[1], c[2] + d[2]})) continue;
          Cut found;
          for (int a = 0; a < 3; ++a) found.cell[a] = static_cast<std::int32_t>(c[a]);
          found.direction = static_cast<std::uint16_t>(n);
          found.q = static_cast<float>(cut(c, d));
          all.push_back(found);
        }
      });
      return all;
    };
    return s;
  }

 private:
  template <class F>
  static void each(const Box& box, F f) {
    for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
      for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) f(Extent{x, y, z});
  }
};

}  // namespace slipstream::lbm
