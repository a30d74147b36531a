#include "solver/lbm/collision/collide_by_model.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, StoredF64>;
template void collide_by_model<D2Q9, StoredF64>(Stream&, const Box&, const BlockArrays&, Layout, const Model&);

const Kernels& kernels_d2q9_f64() {
  static const KernelsOf<D2Q9, StoredF64> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
