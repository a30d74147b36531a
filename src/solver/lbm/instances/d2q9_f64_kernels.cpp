#include "solver/lbm/step/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, StoredF64>;

const Kernels& kernels_d2q9_f64() {
  static const KernelsOf<D2Q9, StoredF64> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
