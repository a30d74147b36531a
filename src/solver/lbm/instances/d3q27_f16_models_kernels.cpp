#include "solver/lbm/collision/collide_by_cumulants.hpp"

namespace slipstream::lbm {

template void collide_by_model<D3Q27, StoredF16>(Stream&, const Box&, const BlockArrays&, Layout, const Model&);
template void collide_by_cumulants<D3Q27, StoredF16>(Stream&, const Box&, const BlockArrays&, Layout, const Model&);

}  // namespace slipstream::lbm
