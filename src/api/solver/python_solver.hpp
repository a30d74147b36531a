#pragma once
// Functions and classes that the bindings of all solvers share.
#include <memory>
#include <utility>

#include <slipstream/error.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/solver.hpp>
#include <slipstream/vtkhdf.hpp>

#include "api/exchange/python_report.hpp"
#include "api/reading.hpp"
#include "grid/largest_extent.hpp"
#include "solver/common/memory_share.hpp"

namespace slipstream::python {

/// Reads the options of [machine] and [exchange] that all block-structured solvers share: partition, placement, routes
/// and tuning. `Options` has grid, exchange, coding, overlap and tune.
template <class Options>
void read_cut_and_exchange(Reader& reader, Options& o) {
  std::string overlap = "auto", placement = "theoretical", coding = "raw", throttle = "none";
  std::vector<std::string> routes;
  reader.read("blocks_per_device", o.grid.partition.blocks_per_device);
  reader.read("node_grid", o.grid.partition.nodes);
  reader.read("device_grid", o.grid.partition.devices);
  reader.read("placement", placement);
  reader.read("placement_seed", o.grid.placement_seed);
  reader.read("measured_gb_per_s", o.grid.measured_gb_per_s);
  reader.read("routes", routes);
  reader.read("overlap", overlap);
  reader.read("coding", coding);
  reader.read("throttle", throttle);
  reader.read("wait_limit", o.exchange.wait_limit);
  reader.read("measure_errors", o.exchange.measure_errors);
  reader.read("poison", o.exchange.poison);
  read_knobs(reader, o.exchange.knobs);
  o.tune = read_watched(reader).tune;
  o.overlap = one_of<Overlap>(overlap, {{"auto", Overlap::automatic}, {"off", Overlap::off}, {"on", Overlap::on}},
                              "overlap mode");
  o.grid.placement = placement_from_string(placement);
  o.coding = coding_from_string(coding);
  o.exchange.throttle = throttle_from_string(throttle);
  o.exchange.routes = routes_from(routes);
}

/// A Python function that a solver calls. It may be destroyed without the GIL.
class Asked {
 public:
  explicit Asked(const nb::object& function);
  /// Calls the function with the GIL held. A ValueError becomes an Error with its text, which other ranks get, too.
  template <class... Arguments>
  nb::object operator()(Arguments&&... arguments) const {
    try {
      return (*function_)(std::forward<Arguments>(arguments)...);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_ValueError)) throw;
      throw Error(ErrorCode::invalid_argument, nb::str(error.value()).c_str());
    }
  }

 private:
  std::shared_ptr<nb::object> function_;
};

nb::dict plan_dict(const Grid& grid, const std::vector<ArrayBytes>& needed, const std::vector<MessageInfo>& messages,
                   Layout layout, int bytes_per_cell);
/// Finds the largest grid that fits into memory, in the proportions of the options' `size`. `needed` computes the bytes
/// of arrays from options.
template <class Options, class Needed>
nb::tuple largest_of(const Machine& machine, Options o, Extent Options::*size, const Needed& needed) {
  const DecimalPoint point;
  return triple(largest_extent(machine, o.*size, [&](const Extent& extent) {
    o.*size = extent;
    return memory_share(machine, needed(o));
  }));
}
/// Gathers a box of a field on rank 0 as an array [z][y][x][component]; None on other ranks. Collective.
nb::object gathered(Solver& solver, const std::string& field, const Box& box);
/// This rank's blocks with their interiors [z][y][x][component], without copies: NumPy on the host, else DLPack.
nb::list block_arrays(const Field& field, nb::handle owner);
/// This rank's blocks as copies on the host, in the order of blocks.
nb::list block_copies(const Field& field);
nb::dict effort_dict(const krylov::Effort& effort);
/// Dictionary of measured times of one application of operator and preconditioner in microseconds, and asymmetries.
nb::dict fit_dict(const krylov::Fit& fit);

/// Writes fields of a solver over time to one VTKHDF file, in the solver's units.
class FieldSeries {
 public:
  using Item = std::pair<std::string, std::string>;  ///< name and unit of a field to write
  FieldSeries(Solver& solver, const std::string& path, const std::array<double, 3>& spacing,
              std::optional<double> up_to);
  void write(double time, const std::vector<Item>& items);
  double last_time() const { return series_.last_time(); }
  void close() { series_.close(); }

 private:
  Solver& solver_;
  VtkhdfSeries series_;
};

/// Binds the Python class of a solver, with its constructor. `read` converts a dictionary to the solver's options.
template <class Engine, class Base, class Read>
nb::class_<Engine, Base> solver_class(nb::module_& m, const char* name, const char* words, const Read& read) {
  nb::class_<Engine, Base> bound(m, name, words);
  bound.def(
      "__init__",
      [read](Engine* self, const Machine& machine, const nb::dict& given, Trace* trace, const Communicator* comm) {
        auto options = read(given);
        if (trace) options.exchange.trace = trace;
        Released release;
        new (self) Engine(comm ? *comm : world(), machine, std::move(options));
      },
      nb::arg("machine"), nb::arg("options"), nb::arg("trace") = nb::none(), nb::arg("comm").none() = nb::none(),
      nb::keep_alive<1, 4>());
  return bound;
}

}  // namespace slipstream::python
