#include "solver/lbm/by_moments/kernels_of.hpp"

namespace slipstream::lbm {

template class MomentKernelsOf<StoredMomentsF16>;

const Kernels& moment_kernels_f16() {
  static const MomentKernelsOf<StoredMomentsF16> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
