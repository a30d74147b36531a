#include "machine/sum.hpp"

#include "machine/collect.hpp"

namespace slipstream {

void sum_over_ranks(const Communicator& comm, std::span<double> values) {
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, comm.mpi()),
      "add up numbers of all ranks");
}

std::uint64_t sum_over_ranks(const Communicator& comm, std::uint64_t value) {
  std::uint64_t sum = 0;
  collect(
      [&](MPI_Request* request) { return MPI_Iallreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, comm.mpi(), request); },
      "add up numbers of all ranks");
  return sum;
}

void largest_over_ranks(const Communicator& comm, std::span<double> values) {
  collect(
      [&](MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                              comm.mpi(), request);
      },
      "take the maximum over ranks");
}

}  // namespace slipstream
