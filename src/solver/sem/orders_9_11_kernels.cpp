#include "solver/sem/kernels_of.hpp"

namespace slipstream::sem {

template OrderKernels kernels_of<9>();
template OrderKernels kernels_of<10>();
template OrderKernels kernels_of<11>();

}  // namespace slipstream::sem
