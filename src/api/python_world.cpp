#include <slipstream/build_info.hpp>

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

void begin_module(nb::module_& module, const char* name, const char* build) {
  nb::module_::import_("slipstream._core");
  nb::set_leak_warnings(false);
  module.attr("build") = build;
  require_build(name, build);
}

}  // namespace slipstream::python
