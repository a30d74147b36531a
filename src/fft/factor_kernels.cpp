#include "fft/factor.hpp"
#include "fft/make_factor.hpp"

#include <limits>
#include <numbers>

namespace slipstream::fft {
namespace {

template <class T>
std::shared_ptr<const Pointwise> factor_of(const FftFactor& f, const ModeBlock& block, const void* real,
                                           const void* complex, double times) {
  Factor<T> factor{};
  factor.real = static_cast<const T*>(real);
  factor.complex = static_cast<const Pair<T>*>(complex);
  std::complex<double> constant = f.constant;
  for (std::size_t a = 0; a < 3; ++a) {
    factor.unit[a] = static_cast<T>(2 * std::numbers::pi / f.edges[a]);
    factor.order[a] = f.derivative[a];
    const bool alone = f.derivative[a] % 2 == 1 && block.cells[a] % 2 == 0;  // a mode that is its own conjugate
    factor.last[a] = alone ? block.cells[a] / 2 : std::numeric_limits<std::int32_t>::min();
    for (int n = 0; n < f.derivative[a]; ++n) constant = {-constant.imag(), constant.real()};
  }
  factor.constant = {static_cast<T>(constant.real()), static_cast<T>(constant.imag())};
  factor.laplacian = f.laplacian;
  factor.decay = static_cast<T>(f.gaussian * f.gaussian / 24);
  factor.most = static_cast<T>(f.sharp * f.sharp);
  return std::make_shared<PointwiseOf<T, Factor<T>, AllLengths>>(block, factor, times);
}

}  // namespace

std::shared_ptr<const Pointwise> make_factor(const FftFactor& factor, const ModeBlock& block, bool twice,
                                             const void* real, const void* complex, double times) {
  return twice ? factor_of<double>(factor, block, real, complex, times)
               : factor_of<float>(factor, block, real, complex, times);
}

}  // namespace slipstream::fft
