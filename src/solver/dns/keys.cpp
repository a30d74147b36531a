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
  CaseTable table{"dns", "the flow and its discretisation.", {}};
  table.keys = {
      {"viscosity",
       {with_infinity(number_from(0))},
       {},
       "length^2 / time",
       "Kinematic viscosity; for the Taylor-Green vortex 1 / Reynolds number."},
      {"time_step", {number_above(0)}, {}, "time", "The time step, which is constant; with courant the largest one."},
      {"courant",
       {number_above(0)},
       left_out,
       "-",
       "Each step is as long as this Courant number allows for the velocity at its start. Left out: all steps have "
       "the length time_step."},
      {"lengths", {several(3, number_above(0))}, list_of(usual.lengths), "length", "Edges of the box along x, y, z."},
      {"dealiasing",
       {names_of(dealiasings)},
       name_in(dealiasings, usual.dealiasing),
       "",
       "Retained modes: 3 |k_a| < n_a, or the sum of (k_a / n_a)^2 < 2/9; phase_shift: the latter, on shifted "
       "grids. The grid is shifted at every stage, which cancels aliases along one axis."},
      {"schmidt",
       {several(0, number_above(0))},
       std::vector<double>{},
       "-",
       "Schmidt or Prandtl number of each passive scalar: viscosity / diffusivity."},
      {"gradients",
       {several(0, vector)},
       left_out,
       "scalar / length",
       "Mean gradient of each scalar. Left out: none, and scalars are zero."},
      {"scheme",
       {names_of(schemes)},
       name_in(schemes, usual.scheme),
       "",
       "Runge-Kutta method: Heun's of order 2, or the classical one of order 4. Both integrate viscosity exactly."},
      {"precision", {names_of(precisions)}, name_in(precisions, usual.type), "", "Number format."},
      {"forcing",
       {names_of(forcings)},
       name_in(forcings, usual.forcing.kind),
       "",
       "power: the lowest shells get forcing_power; energy: their energy is constant; stochastic: random "
       "accelerations. The last kind is that of Eswaran & Pope (1988)."},
      {"forcing_acceleration",
       {with_infinity(number_from(0))},
       usual.forcing.acceleration,
       "length / time^2",
       "stochastic: standard deviation of the real and of the imaginary part of a mode's acceleration."},
      {"forcing_time",
       {with_infinity(number_from(0))},
       usual.forcing.correlation_time,
       "time",
       "stochastic: correlation time of the accelerations."},
      {"forcing_seed",
       {integer_from(0)},
       static_cast<std::int64_t>(usual.forcing.seed),
       "-",
       "stochastic: seed of the accelerations, which are the same on any number of devices."},
      {"forcing_power",
       {with_infinity(number_from(0))},
       usual.forcing.power,
       "length^2 / time^3",
       "power: power per mass that the lowest shells get; 0: the flow decays."},
      {"forcing_shells",
       {integer_from(1)},
       std::int64_t{usual.forcing.shells},
       "shells",
       "Number of forced shells: |k| <= forcing_shells + 1/2, in units of the lowest wave number. The lowest wave "
       "number is 2 pi / (longest edge)."},
      {"rotation",
       {vector},
       list_of(usual.rotation),
       "1 / time",
       "Angular velocity of the frame of reference; its Coriolis force acts on the flow."},
      {"largest_courant",
       {with_infinity(number_from(0))},
       left_out,
       "-",
       "The run ends if the Courant number in a row of statistics.csv is above this; 0: no limit. Left out: 1.3 for "
       "rk4, 0.5 for rk2."},
      {"budget",
       {flag()},
       usual.budget,
       "",
       "Compute the energy budget of every step: power of the forcing and dissipation. budget_error is the largest "
       "error of a step, relative to the energy that is dissipated in it."},
      {"process_grid",
       {several(2, integer_from(0)), names({"measured"})},
       std::vector<std::int64_t>{usual.process_grid[0], usual.process_grid[1]},
       "devices",
       "Number of devices along the two axes that are cut: [1, p] gives slabs. Zeros: slabs if every device gets "
       "one. 'measured': the grid with the fastest transforms, which is cached."},
      {"store",
       {flag()},
       left_out,
       "",
       "Transforms store their results directly in the memory of other devices if possible, without packing. Left "
       "out: where measurements found it faster."},
      {"device_memory",
       {size()},
       left_out,
       "",
       "Memory to use of each device, such as \"8 GiB\"; the arrays are then in host memory. Requires slabs."},
      {"host_copies",
       {names(copies)},
       to_string(usual.host_copies),
       "",
       "With device_memory: how rows are copied between host and device."},
      {"synchronous",
       {flag()},
       usual.synchronous,
       "",
       "With device_memory: copies do not overlap with computation, for comparison."},
      {"overlap",
       {flag()},
       usual.overlap,
       "",
       "Send one component while the next is transformed, with twice the work arrays and messages."},
  };
  return {table};
}

}  // namespace slipstream::dns
