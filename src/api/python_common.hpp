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

/// Python's other threads go on meanwhile, and numbers in messages and files have a decimal point.
struct Released {
  nb::gil_scoped_release interpreter;
  DecimalPoint point;
};

/// All ranks of the job; MPI starts at the first call.
const Communicator& world();
/// Whether MPI runs already, by whomever it was started.
bool mpi_started();
nb::dict block_dict(const Block& block);
ExchangeOptions exchange_options(const nb::dict& dict);
nb::list message_list(const std::vector<MessageInfo>& messages);

/// Begins a module beside _core, whose types and errors it shares. `build` is that of the library behind it; throws
/// Error where the engine is of another one.
void begin_module(nb::module_& module, const char* name, const char* build);

/// How something was found that may have been measured: the first entries of its dictionary.
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
