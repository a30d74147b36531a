#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <slipstream/communicator.hpp>
#include <slipstream/exchange.hpp>

#include "device/decimal_point.hpp"

namespace slipstream::python {

namespace nb = nanobind;

/// While this object lives, other Python threads run (GIL released), and numbers have a decimal point in any locale.
struct Released {
  nb::gil_scoped_release interpreter;
  DecimalPoint point;
};

/// All ranks of the job; MPI starts at the first call.
const Communicator& world();
/// Whether MPI runs already, started by this library or by another one.
bool mpi_started();
nb::dict block_dict(const Block& block);
ExchangeOptions exchange_options(const nb::dict& dict);
nb::list message_list(const std::vector<MessageInfo>& messages);

/// Begins a module beside _core, whose types and errors it shares. `build`: the build of the library behind the module;
/// throws Error if the engine comes from another build.
void begin_module(nb::module_& module, const char* name, const char* build);

/// Makes a dictionary of a tuned choice: whether it was measured, read from the cache or made by rules.
template <class Tuned>
nb::dict source_of(const Tuned& tuned) {
  nb::dict found;
  found["source"] = tuned.source;
  found["file"] = tuned.file;
  if constexpr (requires { tuned.seconds; }) found["seconds"] = tuned.seconds;
  found["notes"] = nb::cast(tuned.notes);
  return found;
}

inline nb::tuple triple(const Extent& e) { return nb::make_tuple(e[0], e[1], e[2]); }

}  // namespace slipstream::python
