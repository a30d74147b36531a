#include "solver/lbm/by_moments/steps_of.hpp"

namespace slipstream::lbm {

template struct MomentSteps<StoredMoments<float>, false>;

}  // namespace slipstream::lbm
