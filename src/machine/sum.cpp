#include "machine/sum.hpp"

namespace slipstream {

namespace {

void reduce_over_ranks(const Communicator& comm, std::span<double> values, MPI_Op op, const char* what) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op, comm.mpi()),
            what);
}

}  // namespace

void sum_over_ranks(const Communicator& comm, std::span<double> values) {
  reduce_over_ranks(comm, values, MPI_SUM, "add up numbers of all ranks");
}

std::uint64_t sum_over_ranks(const Communicator& comm, std::uint64_t value) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, comm.mpi()), "add up numbers of all ranks");
  return value;
}

void largest_over_ranks(const Communicator& comm, std::span<double> values) {
  reduce_over_ranks(comm, values, MPI_MAX, "take the maximum over ranks");
}

}  // namespace slipstream
