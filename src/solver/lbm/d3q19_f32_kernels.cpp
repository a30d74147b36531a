#include "solver/lbm/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D3Q19, float>;

const Kernels& kernels_d3q19_f32() {
  static const KernelsOf<D3Q19, float> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
