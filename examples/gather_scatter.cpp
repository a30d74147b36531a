// Sums over points that elements share, on this program's own array. The elements form a ring, one a rank, with three
// points each. The last point of an element is the first of the next rank's.
#include <cstdio>

// The code for Slipstream begins here.
#include <slipstream/gather_scatter.hpp>
namespace slip = slipstream;
// The code for Slipstream ends here.

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool wrong = false;
  {
    // The code for Slipstream begins here.
    // MPI_COMM_WORLD may be another communicator of the program; the library uses a duplicate.
    const slip::Communicator comm(MPI_COMM_WORLD);
    const slip::Machine machine = slip::Machine::discover(comm, {slip::Backend::host, 1, 0, false, false});
    const std::int64_t rank = comm.rank(), first = 2 * rank + 1, last = 2 * ((rank + 1) % comm.size()) + 1;
    const std::vector<std::int64_t> ids{first, first + 1, last};  // global numbers of this rank's points, from 1
    std::vector<double> u{1, 1, 1};
    std::vector<slip::Stream> streams;
    streams.emplace_back(machine.device(machine.devices_of_rank(comm.rank())[0]).local);

    slip::GatherScatter sum(comm, machine,
                            {{ids, rank, 3}});  // this rank has one block of 3 points, with the number `rank`
    sum.run(streams, {{u.data()}});             // each point gets the sum of all its copies
    streams[0].synchronize();
    sum.check();  // check() and the next run() throw an error if another rank did not take part in this run()
    // The code for Slipstream ends here.
    std::printf("rank %d: %g %g %g\n", comm.rank(), u[0], u[1], u[2]);
    wrong = u != std::vector<double>{2, 1, 2};
  }  // the library's objects are destroyed before MPI ends
  MPI_Finalize();
  return wrong;
}
