#include "solver/lbm/instances/collide_by_cumulants.hpp"

namespace slipstream::lbm {

template class KernelsOf<D3Q27, StoredF16>;

const Kernels& kernels_d3q27_f16() {
  static const KernelsOf<D3Q27, StoredF16> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
