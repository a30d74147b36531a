#include "api/python_common.hpp"

namespace slipstream::python {

const Communicator& world() {
  static const Communicator comm = Communicator::world();
  return comm;
}

bool mpi_started() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended;
}

}  // namespace slipstream::python
