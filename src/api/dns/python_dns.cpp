// Bindings of the pseudo-spectral flow solver for Python.
#include <nanobind/stl/array.h>

#include <slipstream/dns.hpp>

#include "api/solver/case_table.hpp"
#include "api/solver/python_solver.hpp"
#include "device/host_memory.hpp"
#include "solver/dns/keys.hpp"

extern "C" const char* slipstream_dns_build();

namespace slipstream::python {
namespace {

using dns::Dns;
using Scalars = nb::ndarray<const double, nb::shape<-1, -1, -1, -1>, nb::c_contig, nb::device::cpu>;
using Velocity = nb::ndarray<const double, nb::shape<-1, -1, -1, 3>, nb::c_contig, nb::device::cpu>;

dns::Options dns_options(const nb::dict& dict) {
  dns::Options options;
  std::string type = "f64", scheme = "rk4", forcing = "power", dealiasing = "two_thirds", coding = "raw",
              host_copies = "measured";
  bool measure_errors = false;
  nb::dict exchange;
  Reader reader(dict, "a pseudo-spectral flow");
  reader.read("cells", options.cells);
  reader.read("type", type);
  reader.read("viscosity", options.viscosity);
  reader.read("time_step", options.time_step);
  reader.read("courant", options.courant);
  reader.read("lengths", options.lengths);
  reader.read("dealiasing", dealiasing);
  std::vector<double> schmidt;
  std::vector<std::array<double, 3>> gradients;
  reader.read("schmidt", schmidt);
  reader.read("gradients", gradients);
  reader.read("scheme", scheme);
  reader.read("forcing", forcing);
  reader.read("forcing_power", options.forcing.power);
  reader.read("forcing_shells", options.forcing.shells);
  reader.read("forcing_acceleration", options.forcing.acceleration);
  reader.read("forcing_time", options.forcing.correlation_time);
  reader.read("forcing_seed", options.forcing.seed);
  reader.read("rotation", options.rotation);
  reader.read("largest_courant", options.largest_courant);
  reader.read("budget", options.budget);
  reader.read("process_grid", options.process_grid);
  reader.read("tune_process_grid", options.tune_process_grid);
  reader.read("store", options.store);
  reader.read("overlap", options.overlap);
  reader.read("device_memory", options.device_memory);
  reader.read("host_copies", host_copies);
  reader.read("synchronous", options.synchronous);
  reader.read("coding", coding);
  reader.read("measure_errors", measure_errors);
  reader.read("exchange", exchange);
  reader.finish();
  options.type = dtype_from_string(type);
  options.host_copies = row_copies_from_string(host_copies);
  options.scheme = dns::scheme_from_string(scheme);
  options.forcing.kind = dns::forcing_from_string(forcing);
  options.dealiasing = dns::dealiasing_from_string(dealiasing);
  require(gradients.empty() || gradients.size() == schmidt.size(), ErrorCode::mismatch,
          std::to_string(schmidt.size()) + " scalars have " + std::to_string(gradients.size()) + " mean gradients",
          {{"option", "gradients"}, {"given", gradients.size()}, {"needed", schmidt.size()}});
  gradients.resize(schmidt.size());
  for (std::size_t n = 0; n < schmidt.size(); ++n) options.scalars.push_back({schmidt[n], gradients[n]});
  Watched watched;
  options.exchange = exchange_options(exchange, &watched);
  options.exchange.measure_errors = measure_errors;
  options.coding = coding_from_string(coding);
  options.tune = watched.tune;
  return options;
}

nb::dict statistics_dict(Dns& self) {
  dns::Statistics s;
  {
    Released release;
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
  found["time_step"] = s.time_step;
  found["skewness"] = s.skewness;
  found["flatness"] = s.flatness;
  found["budget_error"] = s.budget_error;
  found["mean_velocity"] = s.mean_velocity;
  found["integral_scale"] = s.integral_scale;
  found["c_epsilon"] = s.c_epsilon;
  found["spectrum"] = s.spectrum;
  nb::list scalars;
  for (const dns::ScalarStatistics& scalar : s.scalars) {
    nb::dict of;
    of["variance"] = scalar.variance;
    of["dissipation"] = scalar.dissipation;
    of["flux"] = scalar.flux;
    of["spectrum"] = scalar.spectrum;
    scalars.append(of);
  }
  found["scalars"] = scalars;
  return found;
}

nb::dict transfer_dict(Dns& self) {
  dns::Transfer t;
  {
    Released release;
    t = self.transfer();
  }
  nb::dict found;
  found["transfer"] = t.transfer;
  found["flux"] = t.flux;
  return found;
}

nb::dict carried_dict(const Dns& self) {
  const dns::Carried carried = self.carried();
  nb::dict found;
  if (carried.held) found["held"] = *carried.held;
  found["put_in"] = carried.put_in;
  found["largest_error"] = carried.largest_error;
  found["time_step"] = carried.time_step;
  if (!carried.accelerations.empty()) found["accelerations"] = carried.accelerations;
  return found;
}

void carry(Dns& self, const nb::dict& dict) {
  dns::Carried carried;
  Reader reader(dict, "what a pseudo-spectral flow carries from step to step");
  reader.read("held", carried.held);
  reader.read("put_in", carried.put_in);
  reader.read("largest_error", carried.largest_error);
  reader.read("time_step", carried.time_step);
  reader.read("accelerations", carried.accelerations);
  reader.finish();
  self.carry(carried);
}

nb::list own_velocity(Dns& self) {
  nb::list all;
  const Field* field = nullptr;
  {
    Released release;
    field = &self.velocity();
  }
  const DType type = field->options().type;
  for (const std::int64_t id : field->grid().local()) {
    const Box& box = field->grid().block(id).box;
    auto* const values = new std::vector<std::byte>(static_cast<std::size_t>(3 * box.volume()) * size_of(type));
    const nb::capsule owner(values, [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
    field->read(box, values->data());
    const auto n = [&](int axis) { return static_cast<std::size_t>(box.extent(axis)); };
    const std::size_t shape[4] = {n(2), n(1), n(0), 3};
    const auto array = [&]<class T>(T) { return nb::cast(nb::ndarray<nb::numpy, T>(values->data(), 4, shape, owner)); };
    all.append(nb::make_tuple(id, type == DType::f64 ? array(double{}) : array(float{})));
  }
  return all;
}

nb::dict plan(const Machine& machine, const nb::dict& dict) {
  const DecimalPoint point;
  const dns::Options o = dns_options(dict);
  const std::vector<dns::PlannedMessages> messages = dns::messages_needed(machine, o);
  std::vector<MessageInfo> ones;
  for (const dns::PlannedMessages& alike : messages) ones.push_back(alike.one);
  nb::dict found =
      plan_dict(dns::plan_grid(machine, o), dns::memory_needed(machine, o), ones, Layout::soa, dns::bytes_per_cell(o));
  for (std::size_t n = 0; n < messages.size(); ++n) {
    found["messages"][n]["sources"] = messages[n].sources;
    found["messages"][n]["targets"] = messages[n].targets;
  }
  found["host_bytes"] = dns::host_memory_needed(machine, o);
  found["host_memory"] = machine.discovered() ? host_memory_free() : 0;
  if (o.device_memory == 0) return found;
  const dns::BatchPlan plan = dns::batches_needed(machine, o);
  nb::dict batches;
  batches["buffer"] = plan.buffer;
  batches["modes"] = plan.modes;
  batches["planes_y"] = plan.planes_y;
  batches["planes_z"] = plan.planes_z;
  batches["sweeps"] = plan.sweeps;
  batches["fields"] = plan.fields;
  found["batches"] = batches;
  return found;
}

nb::tuple largest_grid(const Machine& machine, const nb::dict& dict, double host_memory) {
  const DecimalPoint point;
  dns::Options o = dns_options(dict);
  if (host_memory == 0 && machine.discovered()) host_memory = static_cast<double>(host_memory_free());
  return triple(largest_extent(machine, o.cells, [&](const Extent& cells) {
    o.cells = cells;
    const double most = memory_share(machine, dns::memory_needed(machine, o));
    return host_memory > 0 ? std::max(most, static_cast<double>(dns::host_memory_needed(machine, o)) / host_memory)
                           : most;
  }));
}

void bind_dns(nb::module_& m) {
  using Release = nb::call_guard<Released>;
  solver_class<Dns, Solver>(m, "Dns", "Incompressible flow in a periodic box, by Fourier modes. Calls are collective.",
                            &dns_options)
      .def_static("plan", &plan, nb::arg("machine"), nb::arg("options"))
      .def_static("largest_grid", &largest_grid, nb::arg("machine"), nb::arg("options"), nb::arg("host_memory"))
      .def("taylor_green", &Dns::taylor_green, Release())
      .def("random", &Dns::random, nb::arg("spectrum"), nb::arg("seed"), Release(),
           "Solenoidal modes of random phases; spectrum: energy of the shells 0, 1, 2, ...")
      .def(
          "begin",
          [](Dns& self, const std::vector<Velocity>& velocity) {
            std::vector<const double*> blocks;
            for (const Velocity& block : velocity) blocks.push_back(block.data());
            Released release;
            self.begin(blocks);
          },
          nb::arg("velocity"), "[z, y, x, component] of each box of boxes().")
      .def(
          "begin_scalars",
          [](Dns& self, const std::vector<Scalars>& values) {
            std::vector<const double*> blocks;
            for (const Scalars& block : values) {
              require(block.shape(3) == self.options().scalars.size(), ErrorCode::mismatch,
                      "a block of scalars has another number of them than the flow",
                      {{"given", block.shape(3)}, {"needed", self.options().scalars.size()}});
              blocks.push_back(block.data());
            }
            Released release;
            self.begin_scalars(blocks);
          },
          nb::arg("values"), "[z, y, x, scalar] of each box of boxes().")
      .def(
          "boxes",
          [](Dns& self) {
            nb::list found;
            const Grid& grid = self.grid();
            for (const std::int64_t id : grid.local())
              found.append(nb::make_tuple(triple(grid.block(id).box.lo), triple(grid.block(id).box.hi)));
            return found;
          },
          "First cells, and those behind the last, of the blocks of this rank.")
      .def("statistics", &statistics_dict)
      .def("transfer", &transfer_dict,
           "transfer: energy a time that each shell gets by u x w; flux: to those above it.")
      .def(
          "velocity", [](Dns& self) { return gathered(self, "velocity", self.grid().box()); },
          "[z, y, x, component] on rank 0, None on others.")
      .def("own_velocity", &own_velocity, "Number and [z, y, x, component] of each block of this rank. Collective.")
      .def(
          "series",
          [](Dns& self, const std::string& path, std::optional<double> up_to) {
            const Extent& n = self.options().cells;
            std::array<double, 3> spacing;
            for (std::size_t a = 0; a < 3; ++a) spacing[a] = self.options().lengths[a] / static_cast<double>(n[a]);
            return new FieldSeries(self, path, spacing, up_to);
          },
          nb::arg("path"), nb::arg("up_to") = nb::none(), nb::keep_alive<0, 1>(), Release())
      .def_prop_ro("shells", &Dns::shells, "Number of shells of a spectrum, including shell 0.")
      .def("check_time_step", &Dns::check_time_step, Release())
      .def("check_forcing", &Dns::check_forcing, Release())
      .def("carried", &carried_dict, "Numbers that a step takes from the steps before it, beside the modes.")
      .def("carry", &carry, nb::arg("carried"), "Sets them, behind restore().")
      .def_prop_ro("process_grid", [](Dns& self) { return self.fft().process_grid(); })
      .def(
          "bytes",
          [](Dns& self) {
            std::vector<std::int64_t> held;
            for (const Device device : self.devices()) held.push_back(self.bytes_on(device));
            return held;
          },
          "That the solver holds on each device of this rank.")
      .def_prop_ro("host_bytes_moved", &Dns::host_bytes_moved, "From host memory to the device and back.")
      .def("describe_batches", &Dns::describe_batches);
  bind_case_tables(m, &dns::case_tables);
  m.def("peaked_spectrum", &dns::peaked_spectrum, nb::arg("shells"), nb::arg("peak"), nb::arg("energy"),
        "k^4 exp(-2 (k / peak)^2) in the shells 0 .. shells, with the sum `energy`.");
}

}  // namespace
}  // namespace slipstream::python

NB_MODULE(_dns, m) {
  using namespace slipstream::python;
  begin_module(m, "dns", slipstream_dns_build());
  bind_dns(m);
}
