#include "solver/krylov/chebyshev.hpp"

#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

#include "solver/krylov/several_sums.hpp"

namespace slipstream::krylov {

namespace {

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
  std::vector<double> diagonal, beside;

  Tridiagonal(const std::vector<double>& alpha, const std::vector<double>& beta) {
    for (std::size_t k = 0; k < alpha.size(); ++k) {
      diagonal.push_back(1 / alpha[k] + (k > 0 ? beta[k - 1] / alpha[k - 1] : 0));
      beside.push_back(k + 1 < alpha.size() ? std::sqrt(beta[k]) / alpha[k] : 0);
    }
  }
  /// Gershgorin's bound: no eigenvalue exceeds the largest sum of a row's absolute values.
  double bound() const {
    double most = 0;
    for (std::size_t k = 0; k < diagonal.size(); ++k)
      most = std::max(most, diagonal[k] + beside[k] + (k > 0 ? beside[k - 1] : 0));
    return most;
  }
  /// Whether all eigenvalues of this matrix T are below x (sign 1) or above (-1): pivots of x I - T have that sign.
  bool all_beyond(double x, int sign) const {
    double pivot = 1;
    for (std::size_t k = 0; k < diagonal.size(); ++k) {
      pivot = sign * (x - diagonal[k]) - (k > 0 ? beside[k - 1] * beside[k - 1] / pivot : 0);
      if (!(pivot > 0)) return false;
    }
    return true;
  }
};

}  // namespace

double largest_seen(const std::vector<double>& alpha, const std::vector<double>& beta) {
  const Tridiagonal t(alpha, beta);
  double low = 0, most = t.bound();
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + most);
    (t.all_beyond(middle, 1) ? most : low) = middle;
  }
  return most;
}

double smallest_seen(const std::vector<double>& alpha, const std::vector<double>& beta) {
  const Tridiagonal t(alpha, beta);
  double least = 0, high = t.bound();
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (least + high);
    (t.all_beyond(middle, -1) ? least : high) = middle;
  }
  return least;
}

ChebyshevPolynomial::ChebyshevPolynomial(const Communicator& comm, const Machine& machine, const Layout& layout,
                                         int degree)
    : degree_(degree), layout_(layout) {
  require(degree >= 1, "Chebyshev's polynomial has degree 1 or more", {{"option", "degree"}, {"given", degree}});
  const std::vector<Device> devices = devices_of(comm, machine);
  for (std::size_t d = 0; d < devices.size(); ++d)
    for (auto* const made : {&change_, &image_})
      made->emplace_back(devices[d], static_cast<std::size_t>(layout.components * layout.points[d]));
}

void ChebyshevPolynomial::apply(std::vector<Stream>& streams, const System& system, double largest, const Vectors& r,
                                const Vectors& z) {
  // Beyond the end of its interval the polynomial may be negative. Lanczos's method estimates from below, hence 1.1.
  Chebyshev numbers(1.1 * largest);
  const auto range = [&](std::size_t d) { return Range{layout_.points[d], layout_.block, layout_.components}; };
  const double first = numbers.first();
  Vectors image;
  for (std::size_t d = 0; d < streams.size(); ++d) {
    chebyshev_begin(streams[d], range(d), system.inverse_diagonal[d], r[d], first, change_[d].data(), z[d]);
    image.push_back(image_[d].data());
  }
  for (int step = 1; step < degree_; ++step) {
    system.apply(z, image);
    const auto [a, b] = numbers.next();
    for (std::size_t d = 0; d < streams.size(); ++d)
      chebyshev_next(streams[d], range(d), system.inverse_diagonal[d], r[d], image[d], a, b, change_[d].data(), z[d]);
  }
}

}  // namespace slipstream::krylov
