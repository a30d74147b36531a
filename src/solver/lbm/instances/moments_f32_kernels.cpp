#include "solver/lbm/by_moments/kernels_of.hpp"

namespace slipstream::lbm {

template class MomentKernelsOf<StoredMoments<float>>;

const Kernels& moment_kernels_f32() {
  static const MomentKernelsOf<StoredMoments<float>> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
