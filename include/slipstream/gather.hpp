#pragma once
#include <cstddef>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>

namespace slipstream {

/// Collects a box of global cells on rank 0 as [z][y][x][component]; empty on the other ranks. Collective.
std::vector<std::byte> gather(const Communicator& comm, const Field& field, const Box& box);

}  // namespace slipstream
