// Checks the factors by which convolutions multiply modes.
#include <bit>
#include <cmath>

#include "fft/make_factor.hpp"
#include "machine/hash.hpp"

namespace slipstream::fft {

void check_factor(const FftFactor& factor, bool real, std::size_t blocks) {
  const std::complex<double> constant = factor.constant;
  const std::string number = std::to_string(constant.real()) + " + " + std::to_string(constant.imag()) + " i";
  if (!(std::isfinite(constant.real()) && std::isfinite(constant.imag())))
    throw Error(ErrorCode::invalid_argument,
                "the constant factor of a convolution is " + number + ": it must be finite",
                {{"option", "constant"}, {"given", number}});
  if (real && constant.imag() != 0)
    throw Error(ErrorCode::unsupported,
                "the constant factor of a convolution of real values is " + number +
                    ": it must be real, as the result is; for a derivative give its order",
                {{"option", "constant"}, {"given", number}});
  for (std::size_t a = 0; a < 3; ++a) {
    if (factor.derivative[a] < 0)
      throw Error(ErrorCode::invalid_argument,
                  "a derivative of order " + std::to_string(factor.derivative[a]) + " was asked for along axis " +
                      std::to_string(a) + ": it is 0 or more",
                  {{"option", "derivative"}, {"axis", a}, {"given", factor.derivative[a]}});
    if (!(std::isfinite(factor.edges[a]) && factor.edges[a] > 0))
      throw Error(ErrorCode::invalid_argument,
                  "the edge of a box along axis " + std::to_string(a) + " is " + std::to_string(factor.edges[a]) +
                      ": it must be above 0",
                  {{"option", "edges"}, {"axis", a}, {"given", factor.edges[a]}});
  }
  if (!(std::isfinite(factor.gaussian) && factor.gaussian >= 0))
    throw Error(ErrorCode::invalid_argument,
                "a Gaussian filter of the width " + std::to_string(factor.gaussian) + " was asked for: it is 0 or more",
                {{"option", "gaussian"}, {"given", factor.gaussian}});
  if (!(factor.sharp >= 0))
    throw Error(ErrorCode::invalid_argument,
                "a sharp filter was asked for that cuts at the wave number " + std::to_string(factor.sharp) +
                    ": it is 0 or more, or infinite for none",
                {{"option", "sharp"}, {"given", factor.sharp}});
  for (const auto& [arrays, name] : {std::pair{&factor.real, "real"}, {&factor.complex, "complex"}})
    if (!arrays->empty() && arrays->size() != blocks)
      throw Error(ErrorCode::mismatch,
                  std::string("a factor of modes has ") + std::to_string(arrays->size()) + ' ' + name +
                      " arrays, and the spectrum " + std::to_string(blocks) + " blocks on this rank: give one for each",
                  {{"option", name}, {"given", arrays->size()}, {"needed", blocks}});
}

std::uint64_t number_of(const FftFactor& factor) {
  Hash hash;
  for (const double number : {factor.constant.real(), factor.constant.imag(), factor.gaussian, factor.sharp,
                              factor.edges[0], factor.edges[1], factor.edges[2]})
    hash.add(std::bit_cast<std::uint64_t>(number));
  hash.add(factor.derivative, factor.laplacian);
  return hash.value();
}

}  // namespace slipstream::fft
