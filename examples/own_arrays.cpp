// The same as own_arrays.cu without a GPU: ghost cells of a std::vector, on this program's communicator and boxes.
#include <cstdio>

// <slipstream>
#include <slipstream/exchange.hpp>
namespace slip = slipstream;
// </slipstream>

constexpr int n = 16, g = 2, wide = n + 2 * g;  // cells a side, ghost layers, both

/// Prints the ghost left of the first interior cell. Returns true if it is not the left rank's value.
bool wrong_ghost(const std::vector<float>& u, int rank, int ranks) {
  const float ghost = u[(g * wide + g) * wide];
  std::printf("rank %d: ghosts on the left hold %g\n", rank, ghost);
  return ghost != static_cast<float>((rank + ranks - 1) % ranks);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool wrong = false;
  {
    // <slipstream>
    const slip::Communicator comm(MPI_COMM_WORLD);  // or any other that the program has; a duplicate is used
    const slip::Machine machine = slip::Machine::discover(comm, {slip::Backend::host, 1, 0, false, false});
    slip::GridOptions cut{.periodic = {true, true, true}};
    for (int r = 0; r < comm.size(); ++r)  // own boxes: rank r holds a cube, in a row along x
      cut.boxes.push_back({r, {{r * n, 0, 0}, {(r + 1) * n, n, n}}, machine.devices_of_rank(r)[0]});
    const slip::Grid grid({comm.size() * n, n, n}, machine, comm.rank(), cut);

    std::vector<float> u(wide * wide * wide, static_cast<float>(comm.rank()));  // own array [z][y][x], with ghosts
    slip::Field field = slip::Field::adopt(comm, grid, {.name = "u", .ghost = {g, g, g}}, {{u.data()}});
    std::vector<slip::Stream> streams;
    streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank())[0]).local);
    const slip::Halo halo({.reach = slip::Reach::all, .low = {g, g, g}, .high = {g, g, g}});
    slip::Exchange exchange(comm, grid, {{&halo, &field}});

    exchange.begin(streams);  // work on the interior goes here
    exchange.end(streams);
    streams[0].synchronize();
    exchange.check();  // throws where a neighbour did not come; the next begin does it too
    // </slipstream>
    wrong = wrong_ghost(u, comm.rank(), comm.size());
  }  // the library's objects end before MPI and the array do
  MPI_Finalize();
  return wrong;
}
