#include "solver/lbm/by_moments/steps_of.hpp"

namespace slipstream::lbm {

template struct MomentSteps<StoredMoments<double>, true>;

}  // namespace slipstream::lbm
