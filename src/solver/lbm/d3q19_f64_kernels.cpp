#include "solver/lbm/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D3Q19, double>;

const Kernels& kernels_d3q19_f64() {
  static const KernelsOf<D3Q19, double> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
