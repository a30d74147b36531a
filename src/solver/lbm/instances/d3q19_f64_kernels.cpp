#include "solver/lbm/instances/collide_by_model.hpp"

namespace slipstream::lbm {

template class KernelsOf<D3Q19, StoredF64>;

const Kernels& kernels_d3q19_f64() {
  static const KernelsOf<D3Q19, StoredF64> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
