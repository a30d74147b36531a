#include "solver/lbm/by_moments/kernels_of.hpp"

namespace slipstream::lbm {

template class MomentKernelsOf<StoredMoments<double>>;

const Kernels& moment_kernels_f64() {
  static const MomentKernelsOf<StoredMoments<double>> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
