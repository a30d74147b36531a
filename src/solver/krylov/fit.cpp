// Tests whether operator and preconditioner satisfy the assumptions of a method.
#include <chrono>
#include <cmath>

#include <slipstream/krylov.hpp>

#include "solver/krylov/messages.hpp"
#include "solver/krylov/several_sums.hpp"
#include "solver/krylov/timed.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {
namespace {

/// Relative asymmetry of a matrix that still counts as symmetric; single precision causes about 1e-5.
constexpr double most_asymmetry = 1e-3;

Values constant(const Vectors& vectors) { return {vectors.begin(), vectors.end()}; }

struct Products {
  double asymmetry = 0;
  bool positive = true;
};

struct Trial {
  std::vector<Stream>& streams;
  const System& system;
  std::vector<Range> ranges;
  Basis of;  ///< two random vectors, then results of the tested operator on them; only one component is used
  SeveralSums sums;

  Trial(const Communicator& c, const Machine& machine, const Layout& layout, std::vector<Stream>& s, const System& sys)
      : streams(s), system(sys), of(devices_of(c, machine), layout, 4), sums(c, machine, layout, 2) {
    for (const std::int64_t points : layout.points) ranges.push_back({points, layout.block});
  }

  void scaled(const Vectors& r, const Vectors& z) {
    for (std::size_t d = 0; d < ranges.size(); ++d)
      scale(streams[d], ranges[d], system.inverse_diagonal[d], r[d], z[d]);
  }
  void precondition(const Vectors& r, const Vectors& z) {
    if (system.precondition) return system.precondition(r, z);
    scaled(r, z);
  }
  /// Creates two random vectors in the operator's range: equal in all copies of a point, orthogonal to the null space.
  void begin(const Layout& layout) {
    for (int k = 0; k < 2; ++k) {
      const Vectors noisy = of.at(k), image = of.at(k + 2);
      for (std::size_t d = 0; d < ranges.size(); ++d)
        noise(streams[d], ranges[d], layout.first_block[d] * layout.block + k * (std::int64_t{1} << 40), noisy[d]);
      system.apply(noisy, image);
      for (std::size_t d = 0; d < ranges.size(); ++d)
        if (ranges[d].points > 0)
          copy(streams[d], noisy[d], image[d], static_cast<std::size_t>(ranges[d].points) * sizeof(double));
    }
  }
  template <class Apply>
  Products products(const Apply& apply) {
    double table[2][2];
    for (int k = 0; k < 2; ++k) apply(of.at(k), of.at(k + 2));
    for (int k = 0; k < 2; ++k) {
      sums.find(streams, system.weights, constant(of.at(k + 2)), of, 2);
      const std::vector<double> found = sums.read(streams);
      for (std::size_t i = 0; i < 2; ++i) table[k][i] = found[i];
    }
    const double size = std::sqrt(std::abs(table[0][0] * table[1][1]));
    return {size > 0 ? std::abs(table[0][1] - table[1][0]) / size : 0,
            table[0][0] >= 0 && table[1][1] >= 0 && std::isfinite(size)};
  }
};

}  // namespace

double time_us(const Communicator& comm, std::vector<Stream>& streams, const std::function<void()>& work) {
  constexpr int times = 3;
  const auto wait = [&] {
    for (Stream& stream : streams) stream.synchronize();
  };
  wait();
  const auto begun = std::chrono::steady_clock::now();
  for (int n = 0; n < times; ++n) work();
  wait();
  return comm.max(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count() / times);
}

Fit fit(const Communicator& comm, const Machine& machine, const Layout& layout, std::vector<Stream>& streams,
        const System& system) {
  Trial trial(comm, machine, layout, streams, system);
  const auto preconditioned = [&](const Vectors& r, const Vectors& z) { trial.precondition(r, z); };
  trial.begin(layout);
  Fit found;
  const Products of_preconditioner = trial.products(preconditioned);
  found.preconditioner_us = time_us(comm, streams, [&] { preconditioned(trial.of.at(0), trial.of.at(2)); });
  // The operator is tested on vectors that are zero at fixed points, as the inverse diagonal is.
  for (int k = 0; k < 2; ++k) trial.scaled(trial.of.at(k), trial.of.at(k));
  const Products of_operator = trial.products(system.apply);
  found.operator_us = time_us(comm, streams, [&] { system.apply(trial.of.at(0), trial.of.at(2)); });
  found.operator_asymmetry = of_operator.asymmetry;
  found.operator_positive = of_operator.positive;
  found.preconditioner_asymmetry = of_preconditioner.asymmetry;
  found.preconditioner_positive = of_preconditioner.positive;
  return found;
}

void require_fit(const Fit& fit) {
  require_solved(fit.operator_positive && fit.operator_asymmetry <= most_asymmetry,
                 "conjugate gradients need a symmetric and positive operator, and this one is not (asymmetry " +
                     show(fit.operator_asymmetry) + "): take flexible GMRES",
                 {{"problem", "indefinite"}, {"asymmetry", fit.operator_asymmetry}});
  require_solved(fit.preconditioner_positive && fit.preconditioner_asymmetry <= most_asymmetry,
                 "conjugate gradients need a symmetric and positive preconditioner, and this one is not (asymmetry " +
                     show(fit.preconditioner_asymmetry) + "): take flexible GMRES",
                 {{"problem", "pair"}, {"asymmetry", fit.preconditioner_asymmetry}, {"limit", most_asymmetry}});
}

}  // namespace slipstream::krylov
