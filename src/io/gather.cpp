#include <slipstream/gather.hpp>

#include <algorithm>
#include <cstring>

namespace slipstream {
namespace {

constexpr std::size_t largest_message = std::size_t{1} << 30;
constexpr int tag = 71;

void copy_part(const Box& part, const std::byte* from, const Box& box, std::byte* to, std::size_t cell) {
  const std::size_t row = part.extent(0) * cell;
  for (std::int64_t z = part.lo[2]; z < part.hi[2]; ++z)
    for (std::int64_t y = part.lo[1]; y < part.hi[1]; ++y, from += row) {
      const std::int64_t at =
          ((z - box.lo[2]) * box.extent(1) + (y - box.lo[1])) * box.extent(0) + (part.lo[0] - box.lo[0]);
      std::memcpy(to + at * cell, from, row);
    }
}

}  // namespace

std::vector<std::byte> gather(const Communicator& comm, const Field& field, const Box& box) {
  const Grid& grid = field.grid();
  require(intersection(box, grid.box()) == box && !box.empty(), "a box to gather is empty or leaves the grid");
  const std::size_t cell = size_of(field.options().type) * field.options().components;
  std::vector<std::byte> all(comm.rank() == 0 ? box.volume() * cell : 0), part_values;
  for (const std::int64_t id : grid.overlapping(box)) {
    const Block& block = grid.block(id);
    if (comm.rank() != 0 && block.rank != comm.rank()) continue;
    const Box part = intersection(block.box, box);
    part_values.resize(part.volume() * cell);
    if (block.rank == comm.rank()) field.read(part, part_values.data());
    for (std::size_t at = 0; at < part_values.size() && block.rank != 0; at += largest_message) {
      const int count = static_cast<int>(std::min(largest_message, part_values.size() - at));
      if (comm.rank() == 0) {
        check_mpi(MPI_Recv(part_values.data() + at, count, MPI_BYTE, block.rank, tag, comm.mpi(), MPI_STATUS_IGNORE),
                  "gather a block");
      } else {
        check_mpi(MPI_Send(part_values.data() + at, count, MPI_BYTE, 0, tag, comm.mpi()), "gather a block");
      }
    }
    if (comm.rank() == 0) copy_part(part, part_values.data(), box, all.data(), cell);
  }
  return all;
}

}  // namespace slipstream
