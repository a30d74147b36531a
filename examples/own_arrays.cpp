// The same as own_arrays.cu without a GPU: ghost cells of a std::vector, on this program's communicator and boxes.
#include <cstdio>

#include <slipstream/exchange.hpp>

namespace ss = slipstream;
constexpr int n = 16, g = 2, wide = n + 2 * g;  // cells a side, ghost layers, both

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = 0;
  {
    const ss::Communicator comm(MPI_COMM_WORLD);  // or any other that the program has; a duplicate is used
    const ss::Machine machine = ss::Machine::discover(comm, {ss::Backend::host, 1, 0, false, false});

    ss::GridOptions cut;
    cut.periodic = {true, true, true};
    for (int r = 0; r < comm.size(); ++r)  // own boxes: rank r holds a cube, in a row along x
      cut.boxes.push_back({r, {{r * n, 0, 0}, {(r + 1) * n, n, n}}, machine.devices_of_rank(r)[0]});
    const ss::Grid grid({comm.size() * n, n, n}, machine, comm.rank(), cut);

    std::vector<float> u(wide * wide * wide, static_cast<float>(comm.rank()));  // own array [z][y][x], with ghosts
    ss::Field field = ss::Field::adopt(comm, grid, {.name = "u", .ghost = {g, g, g}}, {{u.data()}});

    const ss::Halo halo({.reach = ss::Reach::all, .low = {g, g, g}, .high = {g, g, g}});
    ss::Exchange exchange(comm, grid, {{&halo, &field}});
    std::vector<ss::Stream> streams;
    streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank())[0]).local);
    exchange.begin(streams);  // work on the interior goes here
    exchange.end(streams);
    streams[0].synchronize();
    exchange.check();  // throws where a neighbour did not send in time

    const float ghost = u[(g * wide + g) * wide];  // left of the first interior cell
    const int left = (comm.rank() + comm.size() - 1) % comm.size();
    std::printf("rank %d: ghosts on the left hold %g\n", comm.rank(), ghost);
    wrong = ghost != static_cast<float>(left);
  }  // the library's objects end before MPI and the array do
  MPI_Finalize();
  return wrong;
}
