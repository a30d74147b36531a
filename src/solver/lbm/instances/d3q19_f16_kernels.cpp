#include "solver/lbm/instances/collide_by_model.hpp"

namespace slipstream::lbm {

template class KernelsOf<D3Q19, StoredF16>;

const Kernels& kernels_d3q19_f16() {
  static const KernelsOf<D3Q19, StoredF16> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
