// A transpose on this program's own arrays: slabs along z become slabs along x, with x and z exchanged, so that each
// rank then holds whole lines along what was z, side by side in memory.
#include <complex>
#include <cstdio>

// <slipstream>
#include <slipstream/exchange.hpp>
#include <slipstream/transpose.hpp>
namespace ss = slipstream;
// </slipstream>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool wrong = false;
  {
    // <slipstream>
    const ss::Communicator comm(MPI_COMM_WORLD);
    const ss::Machine machine = ss::Machine::discover(comm, {ss::Backend::host, 1, 0, false, false});
    ss::GridOptions slabs;
    slabs.partition.devices = {1, 1, machine.devices()};
    const ss::Grid from({16, 8, 24}, machine, comm.rank(), slabs), to({24, 8, 16}, machine, comm.rank(), slabs);
    const ss::Box mine = from.block(from.local()[0]).box, there = to.block(to.local()[0]).box;
    std::vector<std::complex<double>> u(mine.volume()), v(there.volume());  // [z][y][x], packed
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = {double(i % 16), double(mine.lo[2] + i / 128)};  // (x, z)
    std::vector<ss::Stream> streams;
    streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank())[0]).local);

    ss::Field source = ss::Field::adopt(comm, from, {.name = "u", .type = ss::DType::c128}, {{u.data()}}),
              target = ss::Field::adopt(comm, to, {.name = "v", .type = ss::DType::c128}, {{v.data()}});
    const ss::Transpose transpose(from, to, {.axes = {2, 1, 0}, .kept = {}});  // x goes to z, y to y, z to x
    ss::Exchange exchange(comm, from, {{&transpose, &source, &target}});       // once; runs a million times
    exchange.run(streams);
    streams[0].synchronize();
    exchange.check();  // throws where another rank did not come
    // </slipstream>
    for (std::size_t i = 0; i < v.size(); ++i) wrong |= v[i] != std::complex<double>(there.lo[2] + i / 192, i % 24);
    std::printf("rank %d: %s\n", comm.rank(), wrong ? "wrong" : "every line along z is here");
  }  // the library's objects end before MPI does
  MPI_Finalize();
  return wrong;
}
