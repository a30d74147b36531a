#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <slipstream/bodies.hpp>
#include <slipstream/fft.hpp>
#include <slipstream/lbm.hpp>

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
lbm::Options options_from(const nb::dict& options);
/// Asks the bodies, which must outlive it. `links`: "interpolated" or "half-way" for each body; empty: interpolated.
lbm::Surfaces surfaces_of(const Bodies& bodies, const std::vector<std::string>& links);
nb::dict block_dict(const Block& block);
ExchangeOptions exchange_options(const nb::dict& dict);
FftOptions fft_options(const nb::dict& dict);
nb::list message_list(const std::vector<MessageInfo>& messages);

void bind_machine(nb::module_& module);
void bind_checkpoint(nb::module_& module);  ///< before the solvers, whose base it binds
void bind_lbm(nb::module_& module);
void bind_stencil(nb::module_& module);
void bind_series(nb::module_& module);
void bind_bodies(nb::module_& module);
void bind_placement(nb::module_& module);
void bind_exchange(nb::module_& module);
void bind_allreduce(nb::module_& module);
void bind_gather_scatter(nb::module_& module);
void bind_fft(nb::module_& module);
void bind_dns(nb::module_& module);
void bind_sem_solver(nb::module_& module);
void bind_doctor(nb::module_& module);

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
