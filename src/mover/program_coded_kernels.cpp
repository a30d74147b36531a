// Kernels that encode and decode single values. They are compiled apart because each number format instantiates every
// form of a copy.
#include "mover/program_kernel.hpp"

namespace slipstream {

ProgramKernels kernels_by_value() { return program_kernels_of<Coded::by_value>(); }

}  // namespace slipstream
