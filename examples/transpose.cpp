// A transpose on this program's own arrays: slabs along z become slabs along x, with x and z swapped. Each rank then
// holds whole lines along the former z, contiguous in memory.
#include <complex>
#include <cstdio>

// The code for Slipstream begins here.
#include <slipstream/exchange.hpp>
#include <slipstream/transpose.hpp>
namespace slip = slipstream;
// The code for Slipstream ends here.

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool wrong = false;
  {
    // The code for Slipstream begins here.
    const slip::Communicator comm(MPI_COMM_WORLD);
    const slip::Machine machine = slip::Machine::discover(comm, {slip::Backend::host, 1, 0, false, false});
    slip::GridOptions slabs;
    slabs.partition.devices = {1, 1, machine.devices()};
    const slip::Grid from({16, 8, 24}, machine, comm.rank(), slabs), to({24, 8, 16}, machine, comm.rank(), slabs);
    const slip::Box mine = from.block(from.local()[0]).box, there = to.block(to.local()[0]).box;
    std::vector<std::complex<double>> u(mine.volume()), v(there.volume());  // packed arrays [z][y][x]
    // numbers each value by its x and z
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = {double(i % 16), double(mine.lo[2] + i / 128)};
    std::vector<slip::Stream> streams;
    streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank())[0]).local);

    slip::Field source = slip::Field::adopt(comm, from, {.name = "u", .type = slip::DType::c128}, {{u.data()}}),
                target = slip::Field::adopt(comm, to, {.name = "v", .type = slip::DType::c128}, {{v.data()}});
    const slip::Transpose transpose(from, to, {.axes = {2, 1, 0}, .kept = {}});  // x becomes z, y stays, z becomes x
    slip::Exchange exchange(comm, from, {{&transpose, &source, &target}});       // one set-up serves a million runs
    exchange.run(streams);
    streams[0].synchronize();
    exchange.check();  // check() throws an error if another rank did not run the exchange
    // The code for Slipstream ends here.
    for (std::size_t i = 0; i < v.size(); ++i) wrong |= v[i] != std::complex<double>(there.lo[2] + i / 192, i % 24);
    std::printf("rank %d: %s\n", comm.rank(), wrong ? "wrong" : "every line along z is here");
  }  // the library's objects are destroyed before MPI ends
  MPI_Finalize();
  return wrong;
}
