#include "solver/lbm/by_moments/steps_of.hpp"

namespace slipstream::lbm {

template struct MomentSteps<StoredMoments<float>, true>;

}  // namespace slipstream::lbm
