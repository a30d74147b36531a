// Fourier transforms of arrays that Python programs own. The Python side (slipstream/fft/plan.py) describes the arrays
// by address.
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>

#include <optional>

#include <slipstream/fft.hpp>

#include "api/exchange/caller_streams.hpp"
#include "api/exchange/python_report.hpp"
#include "api/fft/python_fft.hpp"
#include "api/reading.hpp"
#include "api/solver/python_solver.hpp"

extern "C" const char* slipstream_fft_build();

namespace slipstream::python {
namespace {

using Addresses = std::vector<std::vector<std::uintptr_t>>;  // data pointers, [vector component][block]

template <class Pointer>
std::vector<std::vector<Pointer>> pointers(const Addresses& addresses) {
  std::vector<std::vector<Pointer>> found;
  for (const auto& component : addresses) {
    auto& of = found.emplace_back();
    for (const std::uintptr_t address : component) of.push_back(reinterpret_cast<Pointer>(address));
  }
  return found;
}

/// Reads the factor by which a convolution multiplies each Fourier mode. `real`, `complex`: arrays of factors by block.
FftFactor fft_factor(const nb::dict& dict) {
  FftFactor factor;
  std::vector<std::uintptr_t> real, complex;
  Reader reader(dict, "an operation between Fourier transforms");
  reader.read("constant", factor.constant);
  reader.read("derivative", factor.derivative);
  reader.read("laplacian", factor.laplacian);
  reader.read("gaussian", factor.gaussian);
  reader.read("sharp", factor.sharp);
  reader.read("edges", factor.edges);
  reader.read("real", real);
  reader.read("complex", complex);
  reader.finish();
  factor.real = pointers<const void*>({real})[0];
  factor.complex = pointers<const void*>({complex})[0];
  return factor;
}

class ArrayFft {
 public:
  ArrayFft(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options)
      : streams_(machine, comm.rank()), fft_(std::in_place, comm, machine, cells, std::move(options)) {}

  void run(bool forward, const Addresses& from, const Addresses& to, const std::vector<std::uintptr_t>& natives) {
    const auto sources = pointers<const void*>(from);
    const auto targets = pointers<void*>(to);
    if (forward) {
      fft().forward_components(sources, targets, streams_.of(natives));
    } else {
      fft().backward_components(sources, targets, streams_.of(natives));
    }
    if (streams_.finish()) fft().check();
  }
  void convolve(const Addresses& from, const Addresses& through, const Addresses& to, const FftFactor& factor,
                const std::vector<std::uintptr_t>& natives) {
    fft().convolve_components(pointers<const void*>(from), pointers<void*>(through), pointers<void*>(to), factor,
                              streams_.of(natives));
    if (streams_.finish()) fft().check();
  }

  Fft& fft() {
    if (!fft_.has_value())
      throw Error(ErrorCode::wrong_state, "the plan was closed: make another", {{"problem", "closed"}});
    return *fft_;
  }
  void close() { fft_.reset(); }
  std::int64_t bytes() {
    std::int64_t all = 0;
    for (const Device device : streams_.devices()) all += fft().bytes_on(device);
    return all;
  }

 private:
  CallerStreams streams_;
  std::optional<Fft> fft_;
};

nb::list memory_list(const Machine& machine, const Extent& cells, const nb::dict& options) {
  nb::list all;
  for (const FftMemory& m : Fft::memory(machine, cells, fft_options(options))) {
    nb::dict entry;
    entry["physical"] = m.physical;
    entry["spectral"] = m.spectral;
    entry["work"] = m.work;
    entry["messages"] = m.messages;
    entry["library"] = m.library;
    entry["total"] = m.total();
    all.append(entry);
  }
  return all;
}

nb::dict process_grids(const FftProcessGrids& found) {
  nb::list times, notes;
  for (const FftProcessGrids::Time& time : found.times)
    times.append(nb::make_tuple(nb::make_tuple(time.grid[0], time.grid[1]), time.microseconds));
  for (const std::string& note : found.notes) notes.append(nb::cast(note));
  nb::dict dict;
  dict["source"] = found.source;
  dict["times"] = times;
  dict["notes"] = notes;
  return dict;
}

void bind_fft(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  m.def("fft_memory", &memory_list, nb::arg("machine"), nb::arg("cells"), nb::arg("options"),
        "Bytes that each device of the machine needs.");
  nb::class_<ArrayFft>(m, "ArrayFft", "Fourier transforms of arrays that the caller owns.")
      .def(
          "__init__",
          [](ArrayFft* self, const Communicator& comm, const Machine& machine, const Extent& cells,
             const nb::dict& options) {
            FftOptions chosen = on_every_rank(comm, [&] { return fft_options(options); });
            Released release;
            new (self) ArrayFft(comm, machine, cells, std::move(chosen));
          },
          nb::arg("comm"), nb::arg("machine"), nb::arg("cells"), nb::arg("options"))
      .def("run", &ArrayFft::run, nb::arg("forward"), nb::arg("source"), nb::arg("target"), nb::arg("streams"),
           Release())
      .def(
          "convolve",
          [](ArrayFft& self, const Addresses& from, const Addresses& through, const Addresses& to,
             const nb::dict& factor, const std::vector<std::uintptr_t>& natives) {
            FftFactor chosen;
            const Problem problem = failure_of([&] { chosen = fft_factor(factor); });
            const Released release;
            if (!problem) return self.convolve(from, through, to, chosen, natives);
            // Collective: a convolve() without arguments makes the other ranks fail, too, instead of waiting.
            failure_of([&] { self.convolve({}, {}, {}, {}, natives); });
            throw Error(*problem);
          },
          nb::arg("source"), nb::arg("through"), nb::arg("target"), nb::arg("factor"), nb::arg("streams"))
      .def("describe", [](ArrayFft& self) { return self.fft().describe(); })
      .def(
          "check", [](ArrayFft& self) { self.fft().check(); }, Release())
      .def("close", &ArrayFft::close, Release())
      // The returned copies of grids share their data with the plan, and stay valid after the plan is closed.
      .def("physical", [](ArrayFft& self) { return Grid(self.fft().physical()); })
      .def("spectral", [](ArrayFft& self) { return Grid(self.fft().spectral()); })
      .def_prop_ro("spectral_axes", [](ArrayFft& self) { return self.fft().spectral_axes(); })
      .def_prop_ro("process_grid", [](ArrayFft& self) { return self.fft().process_grid(); })
      .def_prop_ro("process_grids", [](ArrayFft& self) { return process_grids(self.fft().process_grids()); })
      .def_prop_ro("stored_moves",
                   [](ArrayFft& self) {
                     const auto [stored, all] = self.fft().stored_moves();
                     return nb::make_tuple(stored, all);
                   })
      .def_prop_ro("capturable", [](ArrayFft& self) { return self.fft().capturable(); })
      .def_prop_ro("bytes", &ArrayFft::bytes)
      .def("messages", [](ArrayFft& self) { return message_list(self.fft().messages()); })
      .def("report", [](ArrayFft& self) {
        std::vector<ReportRow> rows;
        {
          Released release;
          rows = self.fft().report();
        }
        return report_list(rows);
      });
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_fft, m) {
  using namespace slipstream::python;
  begin_module(m, "fft", slipstream_fft_build());
  bind_fft(m);
}
