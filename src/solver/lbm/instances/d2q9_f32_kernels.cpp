#include "solver/lbm/step/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, StoredF32>;

const Kernels& kernels_d2q9_f32() {
  static const KernelsOf<D2Q9, StoredF32> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
