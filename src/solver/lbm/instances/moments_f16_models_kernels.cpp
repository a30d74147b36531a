#include "solver/lbm/by_moments/steps_of.hpp"

namespace slipstream::lbm {

template struct MomentSteps<StoredMomentsF16, false>;

}  // namespace slipstream::lbm
