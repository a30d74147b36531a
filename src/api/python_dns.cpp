// Pseudo-spectral flows from Python.
#include <nanobind/stl/array.h>

#include <slipstream/dns.hpp>
#include <slipstream/gather.hpp>

#include "api/python_common.hpp"
#include "api/reading.hpp"
#include "api/timed_loops.hpp"

namespace slipstream::python {
namespace {

using dns::Dns;

dns::Options dns_options(const nb::dict& dict) {
  dns::Options options;
  std::string type = "f64", scheme = "rk4";
  nb::dict exchange;
  Reader reader(dict, "a pseudo-spectral flow");
  reader.read("cells", options.cells);
  reader.read("type", type);
  reader.read("viscosity", options.viscosity);
  reader.read("time_step", options.time_step);
  reader.read("scheme", scheme);
  reader.read("forcing_power", options.forcing.power);
  reader.read("forcing_shells", options.forcing.shells);
  reader.read("largest_courant", options.largest_courant);
  reader.read("process_grid", options.process_grid);
  reader.read("overlap", options.overlap);
  reader.read("exchange", exchange);
  reader.finish();
  options.type = dtype_from_string(type);
  options.scheme = dns::scheme_from_string(scheme);
  options.exchange = exchange_options(exchange);
  return options;
}

nb::dict statistics_dict(Dns& self) {
  dns::Statistics s;
  {
    nb::gil_scoped_release release;
    s = self.statistics();
  }
  nb::dict found;
  found["time"] = s.time;
  found["energy"] = s.energy;
  found["dissipation"] = s.dissipation;
  found["enstrophy"] = s.enstrophy;
  found["power"] = s.power;
  found["velocity"] = s.velocity;
  found["taylor_scale"] = s.taylor_scale;
  found["taylor_reynolds"] = s.taylor_reynolds;
  found["kolmogorov_scale"] = s.kolmogorov_scale;
  found["largest_mode_eta"] = s.largest_mode_eta;
  found["courant"] = s.courant;
  found["spectrum"] = s.spectrum;
  return found;
}

template <class T>
nb::object array_of(std::vector<std::byte> values, const Extent& cells) {
  auto* kept = new std::vector<std::byte>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
  const std::size_t shape[4] = {static_cast<std::size_t>(cells[2]), static_cast<std::size_t>(cells[1]),
                                static_cast<std::size_t>(cells[0]), 3};
  return nb::cast(nb::ndarray<nb::numpy, T>(reinterpret_cast<T*>(kept->data()), 4, shape, owner));
}

nb::object velocity_of(Dns& self) {
  std::vector<std::byte> values;
  {
    nb::gil_scoped_release release;
    const Field& velocity = self.velocity();
    values = gather(world(), velocity, velocity.grid().box());
  }
  if (world().rank() != 0) return nb::none();
  const Extent& cells = self.options().cells;
  if (self.options().type == DType::f64) return array_of<double>(std::move(values), cells);
  return array_of<float>(std::move(values), cells);
}

/// Microseconds of one step by the host's clock, `steps` queued at a time.
double step_us(Dns& self, int steps, int repeats) {
  return host_us(repeats, [&] { self.step(steps); }) / steps;
}

}  // namespace

void bind_dns(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Dns>(m, "Dns",
                  "Incompressible flow in a periodic box of edges 2 pi, by Fourier modes. Calls are collective.")
      .def(
          "__init__",
          [](Dns* self, const Machine& machine, const nb::dict& options) {
            dns::Options chosen = dns_options(options);
            nb::gil_scoped_release release;
            new (self) Dns(world(), machine, std::move(chosen));
          },
          nb::arg("machine"), nb::arg("options"))
      .def("taylor_green", &Dns::taylor_green, Release())
      .def("random", &Dns::random, nb::arg("spectrum"), nb::arg("seed"), Release(),
           "Solenoidal modes of random phases; spectrum: energy of the shells 0, 1, 2, ...")
      .def("step", &Dns::step, nb::arg("steps"), Release())
      .def("statistics", &statistics_dict)
      .def("velocity", &velocity_of, "[z, y, x, component] on rank 0, None on others.")
      .def("step_us", &step_us, nb::arg("steps"), nb::arg("repeats"), Release())
      .def_prop_ro("time", [](Dns& self) { return self.state().time; })
      .def_prop_ro("steps", [](Dns& self) { return self.state().step; })
      .def_prop_ro("process_grid", [](Dns& self) { return self.fft().process_grid(); })
      .def(
          "bytes",
          [](Dns& self, const Machine& machine) {
            std::int64_t most = 0;
            for (const int d : machine.devices_of_rank(world().rank()))
              most = std::max(most, self.bytes_on(machine.device(d).local));
            return most;
          },
          nb::arg("machine"), "Of this rank's fullest device.");
  m.def("peaked_spectrum", &dns::peaked_spectrum, nb::arg("shells"), nb::arg("peak"), nb::arg("energy"),
        "k^4 exp(-2 (k / peak)^2) in the shells 0 .. shells, with the sum `energy`.");
}

}  // namespace slipstream::python
