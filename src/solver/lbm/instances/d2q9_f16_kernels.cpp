#include "solver/lbm/step/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, StoredF16>;

const Kernels& kernels_d2q9_f16() {
  static const KernelsOf<D2Q9, StoredF16> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
