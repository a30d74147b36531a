// Kernels that encode and decode single values. They are compiled apart because each cast instantiates every form of a
// work.
#include "mover/program_kernel.hpp"

namespace slipstream {

ProgramKernels kernels_by_value() { return program_kernels_of<Coded::by_value>(); }

}  // namespace slipstream
