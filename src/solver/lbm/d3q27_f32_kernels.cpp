#include "solver/lbm/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D3Q27, float>;

const Kernels& kernels_d3q27_f32() {
  static const KernelsOf<D3Q27, float> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
