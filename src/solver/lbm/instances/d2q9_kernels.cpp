#include "solver/lbm/instances/collide_by_model.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, StoredF16>;
template class KernelsOf<D2Q9, StoredF32>;
template class KernelsOf<D2Q9, StoredF64>;

const Kernels& kernels_d2q9_f16() {
  static const KernelsOf<D2Q9, StoredF16> kernels;
  return kernels;
}

const Kernels& kernels_d2q9_f32() {
  static const KernelsOf<D2Q9, StoredF32> kernels;
  return kernels;
}

const Kernels& kernels_d2q9_f64() {
  static const KernelsOf<D2Q9, StoredF64> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
