#include "solver/sem/kernels_of.hpp"

namespace slipstream::sem {

template OrderKernels kernels_of<5>();
template OrderKernels kernels_of<6>();

}  // namespace slipstream::sem
