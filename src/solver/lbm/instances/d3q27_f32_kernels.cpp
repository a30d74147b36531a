#include "solver/lbm/instances/collide_by_cumulants.hpp"

namespace slipstream::lbm {

template class KernelsOf<D3Q27, StoredF32>;

const Kernels& kernels_d3q27_f32() {
  static const KernelsOf<D3Q27, StoredF32> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
