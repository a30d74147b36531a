#pragma once
#include <span>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// Replaces each value by its sum over ranks, in MPI's order: the last bits depend on the number of ranks. Collective.
void sum_over_ranks(const Communicator& comm, std::span<double> values);

}  // namespace slipstream
