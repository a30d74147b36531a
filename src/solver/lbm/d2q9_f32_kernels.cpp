#include "solver/lbm/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, float>;

const Kernels& kernels_d2q9_f32() {
  static const KernelsOf<D2Q9, float> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
