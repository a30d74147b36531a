#include "solver/sem/kernels_of.hpp"

namespace slipstream::sem {

template OrderKernels kernels_of<11>();

}  // namespace slipstream::sem
