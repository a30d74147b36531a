#include "solver/lbm/instances/collide_by_model.hpp"

namespace slipstream::lbm {

template void collide_by_model<D3Q19, StoredF32>(Stream&, const Box&, const BlockArrays&, Layout, const Model&);

}  // namespace slipstream::lbm
