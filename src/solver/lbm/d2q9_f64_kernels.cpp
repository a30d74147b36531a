#include "solver/lbm/kernels_of.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, double>;

const Kernels& kernels_d2q9_f64() {
  static const KernelsOf<D2Q9, double> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
