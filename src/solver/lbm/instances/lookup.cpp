#include "solver/lbm/variants.hpp"

extern "C" const slipstream::lbm::Kernels* slipstream_lbm_variant(slipstream::lbm::Representation representation,
                                                                  slipstream::lbm::Lattice lattice,
                                                                  slipstream::DType precision) {
  using namespace slipstream;
  using namespace slipstream::lbm;
  const auto by_format = [&](auto f16, auto f32, auto f64) {
    return precision == DType::f16 ? &f16() : precision == DType::f32 ? &f32() : &f64();
  };
  if (representation == Representation::moments)
    return by_format(moment_kernels_f16, moment_kernels_f32, moment_kernels_f64);
  if (lattice == Lattice::d2q9) return by_format(kernels_d2q9_f16, kernels_d2q9_f32, kernels_d2q9_f64);
  if (lattice == Lattice::d3q27) return by_format(kernels_d3q27_f16, kernels_d3q27_f32, kernels_d3q27_f64);
  return precision == DType::f16 ? &kernels_d3q19_f16() : &kernels_d3q19_f64();
}
