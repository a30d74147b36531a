#include "solver/lbm/collision/collide_by_model.hpp"

namespace slipstream::lbm {

template class KernelsOf<D2Q9, StoredF16>;
template void collide_by_model<D2Q9, StoredF16>(Stream&, const Box&, const BlockArrays&, Layout, const Model&);

const Kernels& kernels_d2q9_f16() {
  static const KernelsOf<D2Q9, StoredF16> kernels;
  return kernels;
}

}  // namespace slipstream::lbm
