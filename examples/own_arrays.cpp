// A version of own_arrays.cu without a GPU: ghost cells of a std::vector, on this program's communicator and boxes.
#include <cstdio>

// The code for Slipstream begins here.
#include <slipstream/exchange.hpp>
namespace slip = slipstream;
// The code for Slipstream ends here.

constexpr int n = 16, g = 2, wide = n + 2 * g;  // cells per side, ghost layers, cells per side with ghosts

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
    // The code for Slipstream begins here.
    // MPI_COMM_WORLD may be another communicator of the program; the library uses a duplicate.
    const slip::Communicator comm(MPI_COMM_WORLD);
    const slip::Machine machine = slip::Machine::discover(comm, {slip::Backend::host, 1, 0, false, false});
    slip::GridOptions cut{.periodic = {true, true, true}};
    for (int r = 0; r < comm.size(); ++r)  // this program's boxes: each rank has a cube, in a row along x
      cut.boxes.push_back({r, {{r * n, 0, 0}, {(r + 1) * n, n, n}}, machine.devices_of_rank(r)[0]});
    const slip::Grid grid({comm.size() * n, n, n}, machine, comm.rank(), cut);

    // this program's array [z][y][x], with ghosts
    std::vector<float> u(wide * wide * wide, static_cast<float>(comm.rank()));
    slip::Field field = slip::Field::adopt(comm, grid, {.name = "u", .ghost = {g, g, g}}, {{u.data()}});
    std::vector<slip::Stream> streams;
    streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank())[0]).local);
    const slip::Halo halo({.reach = slip::Reach::all, .low = {g, g, g}, .high = {g, g, g}});
    slip::Exchange exchange(comm, grid, {{&halo, &field}});

    exchange.begin(streams);  // compute on interior cells here
    exchange.end(streams);
    streams[0].synchronize();
    exchange.check();  // check() throws if a neighbour took no part in the exchange; so does the next begin()
    // The code for Slipstream ends here.
    wrong = wrong_ghost(u, comm.rank(), comm.size());
  }  // the library's objects are destroyed before MPI ends and the array is freed
  MPI_Finalize();
  return wrong;
}
