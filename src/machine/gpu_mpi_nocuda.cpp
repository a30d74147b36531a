#include "machine/gpu_mpi.hpp"

namespace slipstream {

/// Memory of an emulated device is host memory, which every MPI supports.
std::string gpu_mpi_claim(Backend) { return {}; }

}  // namespace slipstream
