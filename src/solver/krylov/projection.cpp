// Initial guesses by projection onto earlier solutions.
#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>
#include <slipstream/krylov.hpp>

#include "solver/krylov/several_sums.hpp"
#include "solver/krylov/workspace.hpp"

namespace slipstream::krylov {

struct Projection::Impl : Workspace {
  int most, count = 0;
  /// Vectors u, orthonormal in (u, A v). The first k span the last k corrections, solutions less their first guesses.
  Basis kept;
  Basis added;  ///< improved first guess of the solution; later the solution less this guess
  SeveralSums sums;

  Impl(const Communicator& c, const Machine& machine, Layout l, int m, const Vectors& memory)
      : Workspace(c, machine, std::move(l)),
        most(m),
        kept(devices_of(c, machine), layout, m, memory),
        added(devices_of(c, machine), layout, 1),
        sums(c, machine, layout, m) {
    require_one_component("a projection onto earlier solutions");
  }
  ~Impl() { finish(); }

  static Values constant(const Vectors& vectors) { return {vectors.begin(), vectors.end()}; }

  void improve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x) {
    if (count > 0) {
      system.apply(x, images());
      for (std::size_t d = 0; d < sides.size(); ++d)
        residual(streams[d], sides[d].range, b[d], sides[d].q.data(), 1, sides[d].r.data());
      sums.find(streams, system.weights, constant(residuals()), kept, count);
      for (std::size_t d = 0; d < sides.size(); ++d)
        add_several(streams[d], sides[d].range, sums.on(d), 1, kept.first(d, count), x[d]);
    }
    const Vectors before = added.at(0);
    for (std::size_t d = 0; d < sides.size(); ++d)
      if (sides[d].range.points > 0) copy(streams[d], before[d], x[d], sides[d].r.bytes());
  }

  void keep(std::vector<Stream>& streams, const System& system, const Vectors& x) {
    const Vectors e = added.at(0);
    // Coefficients of the initial guess in the basis of earlier solutions; improve() left them in device memory.
    const std::vector<double> along = count > 0 ? sums.read(streams) : std::vector<double>{};
    for (std::size_t d = 0; d < sides.size(); ++d) difference(streams[d], sides[d].range, x[d], e[d], e[d]);
    system.apply(e, images());
    sums.find(streams, system.weights, constant(images()), kept, count);
    const std::vector<double> since = sums.read(streams);
    for (std::size_t d = 0; d < sides.size(); ++d)
      add_several(streams[d], sides[d].range, sums.on(d), -1, kept.first(d, count), e[d]);
    // (e, A e) for operator A and the correction e after Gram-Schmidt. The A e from before it gives the same product.
    summed(streams, one, square_sum, [&](Side& side, std::size_t d) {
      dot(streams[d], side.range, system.weights[d], e[d], side.q.data(), side.parts.data());
    });
    const double square = read(streams).single(square_sum, 0);
    double whole = square;
    for (int k = 0; k < count; ++k) whole += since[static_cast<std::size_t>(k)] * since[static_cast<std::size_t>(k)];
    // A vector that is nearly dependent contains mostly rounding errors.
    constexpr double least_share = 1e-14;
    if (!(square > least_share * whole) || !std::isfinite(square)) return;
    // Makes the last correction, the solution less its first guess, the first of the orthonormal vectors kept for later
    // guesses. If there is no room, the last vector is dropped: only the oldest correction has a part along it.
    Rotations rotations{{}, {}, count};
    double rest = std::sqrt(square);
    for (int k = count - 1; k >= 0; --k) {
      const auto n = static_cast<std::size_t>(k);
      const double with = std::hypot(along[n] + since[n], rest);
      rotations.cosines[n] = (along[n] + since[n]) / with;
      rotations.sines[n] = rest / with;
      rest = with;
    }
    const Vectors to = kept.at(0);
    for (std::size_t d = 0; d < sides.size(); ++d)
      rotate_in(streams[d], sides[d].range, rotations, e[d], std::sqrt(square), to[d], most);
    count = std::min(count + 1, most);
  }
};

Projection::Projection(const Communicator& comm, const Machine& machine, Layout layout, int most,
                       const Vectors& memory) {
  require(most >= 1 && most < krylov::most_vectors,
          "a projection keeps 1 to " + std::to_string(krylov::most_vectors - 1) + " solutions",
          {{"option", "projection"}, {"given", most}, {"least", 1}, {"most", krylov::most_vectors - 1}});
  impl_ = std::make_unique<Impl>(comm, machine, std::move(layout), most, memory);
}
Projection::~Projection() = default;
Projection::Projection(Projection&&) noexcept = default;

void Projection::improve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x) {
  impl_->improve(streams, system, b, x);
}
void Projection::keep(std::vector<Stream>& streams, const System& system, const Vectors& x) {
  impl_->keep(streams, system, x);
}
int Projection::vectors() const { return impl_->count; }
void Projection::set_vectors(int count) { impl_->count = count; }

}  // namespace slipstream::krylov
