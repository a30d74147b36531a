#include "machine/sum.hpp"

namespace slipstream {

void sum_over_ranks(const Communicator& comm, std::span<double> values) {
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, comm.mpi()),
      "add up numbers of all ranks");
}

}  // namespace slipstream
