#pragma once
#include <cstdint>
#include <span>

#include <slipstream/communicator.hpp>

namespace slipstream {

/// Replaces each value by its sum over ranks, in MPI's order: the last bits depend on the number of ranks. Collective.
void sum_over_ranks(const Communicator& comm, std::span<double> values);
/// The sum of whole numbers over ranks, modulo 2^64. Collective.
std::uint64_t sum_over_ranks(const Communicator& comm, std::uint64_t value);
/// Replaces each value by its maximum over ranks. No value may be NaN. Collective.
void largest_over_ranks(const Communicator& comm, std::span<double> values);

}  // namespace slipstream
