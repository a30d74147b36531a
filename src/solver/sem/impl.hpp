#pragma once
// What a Sem holds.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include <slipstream/sem_solver.hpp>

namespace slipstream::sem {

/// Values of a function; throws Error where their number is another one.
std::vector<double> asked(const Function& function, std::span<const Point> places, double time);

struct Sem::Impl {
  Impl(const Communicator& comm, const Machine& machine, Options options);

  /// Points of a side on one device of this rank.
  struct SidePoints {
    std::vector<std::int64_t> points;
    std::vector<Point> places;
    std::vector<double> weights;  ///< of its quadrature, where a flux is given
  };

  void list_sides();
  void list_tasks();
  void start();
  /// Sets f, the flux and the lifted values for a time, as far as they change.
  void take_given(double time);
  /// Values at all points, zero but where the sides of a condition have some.
  std::vector<std::vector<double>> of_sides(Condition condition, double time);
  /// Whether a side's values are listed: those that are zero count where they meet others.
  bool counts(const Side& side) const { return side.given.at || (lifted && side.condition == Condition::value); }
  /// Of Poisson's equation without a Dirichlet side: refuses what has no solution. What the quadrature alone leaves,
  /// as a finer one shows, is taken out, with a caution.
  void balance();
  /// What the source and the fluxes bring in, by a rule.
  struct Supply {
    double source = 0, fluxes = 0;
  };
  Supply supply(const Rule& rule);
  /// b of the step to come, without the lifted values.
  void right_side();
  void solve();
  krylov::Options options_for(std::string field) const;
  /// Mean of all copies of a point: places that are one and the same may differ in their last digits.
  void make_continuous(const std::vector<double*>& u);
  /// Work that asks what is given at this time; throws NotSolved on all ranks where one fails.
  void ask(double time, const std::function<void()>& work);
  void put(const std::vector<double*>& to, const Function& function, double time);
  void put(const std::vector<double*>& to, const std::vector<std::vector<double>>& values);
  std::vector<std::vector<double>> get(const std::vector<double*>& from);
  /// to = sum of factor times vector.
  struct Term {
    double factor;
    std::vector<double*> vector;
  };
  void combine(const std::vector<double*>& to, const std::vector<Term>& terms);
  void wait();
  /// The field's values, of each device of this rank.
  std::vector<double*> pointers_of(const Field& field) const;

  bool steps() const { return options.equation == Equation::diffusion; }
  bool has_value_side() const {
    bool any = false;
    for (const auto& axis : options.sides)
      for (const Side& side : axis) any |= side.condition == Condition::value;
    return any;
  }
  int time_order_now() const {
    return options.exact_start ? options.time_order
                               : static_cast<int>(std::min<std::int64_t>(state.step + 1, options.time_order));
  }
  /// h2 of the step to come.
  double shift() const {
    return steps() ? backward_differences(time_order_now()).now / options.time_step : options.reaction;
  }

  Communicator comm;
  Options options;
  Machine machine;
  Space space;
  Grid grid;
  HelmholtzSolver solver;
  Field u, u1, u2;
  std::vector<Device> devices;
  Vector f, b, x, flux, lift, share;
  bool lifted = false, flows = false;  ///< whether some value, some flux is given
  bool taken = false;                  ///< whether what is steady is there
  std::array<std::array<std::vector<SidePoints>, 2>, 3> sides;
  State state;
  Tasks tasks;
  krylov::Effort effort;
  std::vector<std::string> cautions;
  std::optional<TimeLoop> loop;
};

}  // namespace slipstream::sem
