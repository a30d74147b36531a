#include "solver/dns/keys.hpp"

namespace slipstream::dns {
namespace {

using namespace key_values;

}  // namespace

std::vector<CaseTable> case_tables() {
  const Options usual;
  const auto left_out = std::monostate{};
  const KeyValues vector = several(3, number());
  std::vector<std::string> copies;
  for (const RowCopies way :
       {RowCopies::measured, RowCopies::single, RowCopies::pitched, RowCopies::kernel, RowCopies::mixed})
    copies.push_back(to_string(way));
  CaseTable table{"dns", "the flow and how it is computed.", {}};
  table.keys = {
      {"viscosity",
       {with_infinity(number_from(0))},
       {},
       "length^2 / time",
       "Kinematic; of Taylor-Green 1 / Reynolds number."},
      {"time_step", {number_above(0)}, {}, "time", "The same all through; with courant the longest."},
      {"courant",
       {number_above(0)},
       left_out,
       "-",
       "Each step is as long as this Courant number allows for the velocity it begins with. Left out: all are "
       "time_step "
       "long."},
      {"lengths", {several(3, number_above(0))}, list_of(usual.lengths), "length", "Edges of the box along x, y, z."},
      {"dealiasing",
       {names_of(dealiasings)},
       name_in(dealiasings, usual.dealiasing),
       "",
       "Modes that are kept: 3 |k_a| < n_a, or the sum of (k_a / n_a)^2 < 2/9; phase_shift: these, and grids that are "
       "shifted at every stage, whose aliases along one axis cancel."},
      {"schmidt",
       {several(0, number_above(0))},
       std::vector<double>{},
       "-",
       "Schmidt or Prandtl numbers of passive scalars, one for each: viscosity / diffusivity."},
      {"gradients",
       {several(0, vector)},
       left_out,
       "scalar / length",
       "Mean gradient of each scalar. Left out: there is none, and scalars are zero."},
      {"scheme",
       {names_of(schemes)},
       name_in(schemes, usual.scheme),
       "",
       "Heun's, or the classical one; viscosity exactly in both."},
      {"precision", {names_of(precisions)}, name_in(precisions, usual.type), "", "Number format."},
      {"forcing",
       {names_of(forcings)},
       name_in(forcings, usual.forcing.kind),
       "",
       "power: the lowest shells get forcing_power; energy: they keep the energy that they begin with; stochastic: "
       "their "
       "modes are accelerated at random (Eswaran & Pope 1988)."},
      {"forcing_acceleration",
       {with_infinity(number_from(0))},
       usual.forcing.acceleration,
       "length / time^2",
       "stochastic: root of the variance of each real number of a mode's acceleration."},
      {"forcing_time",
       {with_infinity(number_from(0))},
       usual.forcing.correlation_time,
       "time",
       "stochastic: correlation time."},
      {"forcing_seed",
       {integer_from(0)},
       static_cast<std::int64_t>(usual.forcing.seed),
       "-",
       "stochastic: the same numbers on any number of devices."},
      {"forcing_power",
       {with_infinity(number_from(0))},
       usual.forcing.power,
       "length^2 / time^3",
       "power: energy a time and mass put into the lowest shells; 0: the flow decays."},
      {"forcing_shells",
       {integer_from(1)},
       std::int64_t{usual.forcing.shells},
       "shells",
       "Shells |k| <= so many + 1/2 that are forced, by the lowest wave number 2 pi / (longest edge)."},
      {"rotation",
       {vector},
       list_of(usual.rotation),
       "1 / time",
       "Angular velocity of the frame, whose Coriolis force acts on the flow."},
      {"largest_courant",
       {with_infinity(number_from(0))},
       left_out,
       "-",
       "A larger Courant number (CFL) in a row of statistics.csv ends the run; 0: any will do. Left out: 1.3 for rk4, "
       "0.5 for rk2."},
      {"budget",
       {flag()},
       usual.budget,
       "",
       "Account for energy in every step: what the forcing puts in, what viscosity takes. budget_error is the largest "
       "error of a step by what viscosity takes in it."},
      {"process_grid",
       {several(2, integer_from(0)), names({"measured"})},
       std::vector<std::int64_t>{usual.process_grid[0], usual.process_grid[1]},
       "devices",
       "Devices along the two cut axes: [1, p] are slabs. Zeros: slabs where all get some; 'measured': those whose "
       "transforms are fastest, which is cached."},
      {"store",
       {flag()},
       left_out,
       "",
       "Transforms store their results in the other devices themselves where they can, and nothing packs them. Left "
       "out: "
       "where that was found to be faster."},
      {"device_memory",
       {size()},
       left_out,
       "",
       "\"8 GiB\": the arrays lie in the memory of the host, and so much of each device is used. Slabs."},
      {"host_copies",
       {names(copies)},
       to_string(usual.host_copies),
       "",
       "With device_memory: how rows travel between host and device."},
      {"synchronous", {flag()}, usual.synchronous, "", "With device_memory: no copy beside work, to compare with."},
      {"overlap",
       {flag()},
       usual.overlap,
       "",
       "One component travels while the next is transformed: twice the work arrays and messages."},
  };
  return {table};
}

}  // namespace slipstream::dns
