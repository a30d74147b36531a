// Memory and partition of a pseudo-spectral flow, computed before any allocation.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "device/host_memory.hpp"
#include "fft/decomposition.hpp"
#include "fft/out_of_core.hpp"
#include "solver/dns/cuts.hpp"
#include "solver/dns/impl.hpp"

namespace slipstream::dns {
namespace {

void check(const Options& o) {
  require(std::min({o.cells[0], o.cells[1], o.cells[2]}) >= 4,
          "a pseudo-spectral flow of " + to_string(o.cells) + " cells was asked for: each axis needs 4 or more",
          {{"option", "cells"}, {"given", to_string(o.cells)}});
  require(o.type == DType::f32 || o.type == DType::f64,
          "a pseudo-spectral flow holds f32 or f64, not " + to_string(o.type),
          {{"option", "type"}, {"given", to_string(o.type)}});
  require(std::isfinite(o.viscosity) && o.viscosity >= 0,
          "the viscosity of a pseudo-spectral flow is " + std::to_string(o.viscosity) + ": it must be 0 or more",
          {{"option", "viscosity"}, {"given", o.viscosity}});
  require(std::isfinite(o.time_step) && o.time_step > 0,
          "the time step of a pseudo-spectral flow is " + std::to_string(o.time_step) + ": it must be above 0",
          {{"option", "time_step"}, {"given", o.time_step}});
  for (std::size_t a = 0; a < 3; ++a)
    require(
        std::isfinite(o.lengths[a]) && o.lengths[a] > 0,
        "the box of a pseudo-spectral flow has an edge of " + std::to_string(o.lengths[a]) + ": each must be above 0",
        {{"option", "lengths"}, {"given", o.lengths[a]}});
  require(std::isfinite(o.courant) && o.courant >= 0,
          "the Courant number of steps is " + std::to_string(o.courant) + ": it must be above 0, or 0 for none",
          {{"option", "courant"}, {"given", o.courant}});
  const double largest = largest_courant(o);
  require(o.courant <= largest || largest <= 0, ErrorCode::unsupported,
          "steps with the Courant number " + std::to_string(o.courant) + " were asked for, above the largest, " +
              std::to_string(largest) + ": take less, or another largest_courant",
          {{"option", "courant"}, {"given", o.courant}, {"limit", largest}});
  for (const Scalar& scalar : o.scalars) {
    require(std::isfinite(scalar.schmidt) && scalar.schmidt > 0,
            "a scalar has the Schmidt number " + std::to_string(scalar.schmidt) + ": it must be above 0",
            {{"option", "schmidt"}, {"given", scalar.schmidt}});
    require(std::isfinite(scalar.gradient[0]) && std::isfinite(scalar.gradient[1]) && std::isfinite(scalar.gradient[2]),
            "the mean gradient of a scalar must be three finite numbers", {{"option", "gradients"}});
  }
  const Forcing& f = o.forcing;
  const bool stochastic = f.kind == Forcing::Kind::stochastic;
  for (const auto& [name, value] :
       {std::pair{"acceleration", f.acceleration}, {"correlation_time", f.correlation_time}}) {
    require(!stochastic || (std::isfinite(value) && value > 0),
            "a stochastic forcing has the " + std::string(name) + " " + std::to_string(value) + ": it must be above 0",
            {{"option", name}, {"given", value}});
    require(stochastic || value == 0, ErrorCode::unsupported,
            "a forcing that is not stochastic was given its " + std::string(name) + ": leave it out",
            {{"option", name}, {"given", value}});
  }
  require(std::isfinite(o.rotation[0]) && std::isfinite(o.rotation[1]) && std::isfinite(o.rotation[2]),
          "the rotation of a pseudo-spectral flow must be three finite numbers", {{"option", "rotation"}});
  require(std::isfinite(o.forcing.power) && o.forcing.power >= 0 && o.forcing.shells >= 1,
          "a forcing puts in 0 or more, into 1 or more shells", {{"option", "forcing"}});
  require(o.forcing.kind == Forcing::Kind::power || o.forcing.power == 0, ErrorCode::unsupported,
          "a forcing of another kind was given a power: leave one of the two out",
          {{"option", "power"}, {"given", o.forcing.power}});
}

}  // namespace

double largest_courant(const Options& o) { return o.largest_courant.value_or(o.scheme == Scheme::rk4 ? 1.3 : 0.5); }

int highest_mode(const Options& o, std::size_t axis) {
  const std::int64_t n = o.cells[axis];
  if (o.dealiasing == Dealiasing::two_thirds) return static_cast<int>((n - 1) / 3);
  auto k = static_cast<std::int64_t>(std::sqrt(2.0) / 3 * static_cast<double>(n)) + 1;
  while (9 * k * k >= 2 * n * n) --k;
  return static_cast<int>(k);
}

ModeGrid wave_numbers(const Options& o) {
  ModeGrid grid{};
  for (std::size_t a = 0; a < 3; ++a) {
    grid.cells[a] = static_cast<int>(o.cells[a]);
    grid.highest[a] = highest_mode(o, a);
    grid.wave[a] = 2 * std::numbers::pi / o.lengths[a];
  }
  grid.shell = std::min({grid.wave[0], grid.wave[1], grid.wave[2]});
  grid.round = o.dealiasing != Dealiasing::two_thirds;
  return grid;
}

FftOptions transform_options(const Options& o) {
  check(o);
  FftOptions options;
  options.host_copies = o.host_copies;
  options.synchronous = o.synchronous;
  options.type = o.type;
  options.process_grid = o.process_grid;
  options.tune_process_grid = o.tune_process_grid;
  options.store = o.store;
  options.scaled = false;
  options.overlap = o.overlap;
  for (std::size_t a = 0; a < 3; ++a) options.highest[a] = highest_mode(o, a);
  options.coding = o.coding;
  options.exchange = o.exchange;
  options.tune = o.tune;
  return options;
}

namespace {

std::int64_t least_of_transform(const Machine& machine, const Options& options) {
  const FftOptions transform = transform_options(options);
  return fft::OutOfCore::least_budget(machine, {machine, options.cells, transform}, transform);
}

}  // namespace

// Memory of the out-of-core FFT in bytes per device: that of whole planes, within 1/8 of the budget if that suffices.
std::int64_t budget_of_transform(const Machine& machine, const Options& o) {
  const FftOptions transform = transform_options(o);
  const std::int64_t planes = fft::OutOfCore::plane_budget(machine, {machine, o.cells, transform}, transform),
                     left = o.device_memory - least_budget(machine, o) - bytes_of_accelerations(o);
  return std::max(least_of_transform(machine, o), std::min({planes, o.device_memory / 8, left}));
}

std::int64_t budget_of_batches(const Machine& machine, const Options& o) {
  return o.device_memory - budget_of_transform(machine, o) - bytes_of_accelerations(o);
}

void check_batches(const Machine& machine, const Options& o) {
  const fft::Decomposition cut(machine, o.cells, transform_options(o));
  require(!cut.pencils(), ErrorCode::unsupported,
          "a pseudo-spectral flow by batches cuts slabs, not a process grid of " + std::to_string(cut.process[0]) +
              " x " + std::to_string(cut.process[1]) + ": take fewer devices, or leave process_grid",
          {{"option", "process_grid"}, {"problem", "pencils"}, {"devices", cut.devices}});
  require(o.coding.kind == Coding::Kind::raw, ErrorCode::unsupported,
          "a pseudo-spectral flow by batches moves values as they are", {{"option", "coding"}});
  require(!o.budget, ErrorCode::unsupported,
          "a pseudo-spectral flow by batches has no budget of energy: leave one of the two out",
          {{"option", "device_memory"}, {"problem", "budget"}});
  const std::int64_t least = least_of_transform(machine, o) + least_budget(machine, o) + bytes_of_accelerations(o);
  require(o.device_memory >= least, ErrorCode::unsupported,
          "a pseudo-spectral flow of " + to_string(o.cells) + " cells by batches needs " + std::to_string(least) +
              " bytes of each device, and " + std::to_string(o.device_memory) + " were given: give those or more",
          {{"option", "device_memory"}, {"given", o.device_memory}, {"needed", least}});
}

std::int64_t bytes_of_accelerations(const Options& o) {
  if (o.forcing.kind != Forcing::Kind::stochastic) return 0;
  const std::int64_t wide = 2 * o.forcing.shells + 1;
  return wide * wide * (o.forcing.shells + 1) * static_cast<std::int64_t>(3 * sizeof(int) + 6 * sizeof(double));
}

void check_device_memory(const Machine& machine, const Options& o) {
  if (o.device_memory == 0) return;
  check_batches(machine, o);
  const auto needed = static_cast<std::uint64_t>(host_memory_needed(machine, o)), free = host_memory_free();
  require(free == 0 || needed <= free, ErrorCode::out_of_memory,
          "the arrays of a pseudo-spectral flow of " + to_string(o.cells) + " cells take " + std::to_string(needed) +
              " bytes of host memory a node, and " + std::to_string(free) +
              " are free: take fewer cells, more nodes, or f32",
          {{"option", "cells"}, {"needed", needed}, {"available", free}});
}

std::int64_t host_memory_needed(const Machine& machine, const Options& o) {
  if (o.device_memory == 0) return 0;
  FftOptions transform = transform_options(o);
  transform.device_memory = budget_of_transform(machine, o);
  const fft::Decomposition cut(machine, o.cells, transform);
  const auto size = static_cast<std::int64_t>(size_of(o.type));
  const int fields = (o.scheme == Scheme::rk2 ? 1 : 2) * components_of(o) + (keeps_next(o) ? 3 : 0);
  const std::vector<std::int64_t> between = bytes_between_sweeps(machine, o, budget_of_batches(machine, o));
  const bool of_transform = !cut.alone() && fft::OutOfCore::splits(machine, cut, transform);
  std::vector<std::int64_t> of(static_cast<std::size_t>(machine.nodes()), 0);
  for (int d = 0; d < machine.devices(); ++d) {
    const std::int64_t modes = 2 * cut.volume_on(d, fft::Stage::spectral),
                       cells = cut.volume_on(d, fft::Stage::physical, true);
    std::int64_t& bytes = of[static_cast<std::size_t>(machine.device(d).node)];
    bytes += size * (fields * modes + 3 * cells) + between[static_cast<std::size_t>(d)];
    if (of_transform) bytes += 2 * size * cut.volume_on(d, fft::Stage::physical);
  }
  return *std::max_element(of.begin(), of.end());
}

std::int64_t numbers_apart(const Machine& machine, const Options& options) {
  const fft::Decomposition cut(machine, options.cells, transform_options(options));
  std::int64_t most = 0;
  for (int device = 0; device < machine.devices(); ++device)
    most = std::max(
        {most, cut.volume_on(device, fft::Stage::physical, true), 2 * cut.volume_on(device, fft::Stage::spectral)});
  return (most + 3) / 4 * 4;  // rounded up so that components in memory are aligned for kernels and FFT libraries
}

// Whether the flow stores a field of modes between Runge-Kutta stages. Only RK4 with forcing of given power needs it.
bool keeps_next(const Options& o) {
  return o.scheme == Scheme::rk4 && o.forcing.kind == Forcing::Kind::power && o.forcing.power > 0;
}

Grid plan_grid(const Machine& machine, const Options& options, int rank) {
  const fft::Decomposition cut(machine, options.cells, transform_options(options));
  GridOptions grid;
  grid.periodic = {true, true, true};
  grid.boxes = cut.blocks(fft::Stage::physical, true);
  return Grid(options.cells, machine, rank, grid);
}

std::vector<PlannedMessages> messages_needed(const Machine& machine, const Options& options) {
  const int stages = options.scheme == Scheme::rk4 ? 4 : 2;
  std::vector<PlannedMessages> all;
  const auto add = [&](MessageInfo message, int times, std::int64_t sources, std::int64_t targets) {
    message.bytes *= times;
    message.transfers *= times;
    all.push_back({message, sources, targets});
  };
  if (options.device_memory > 0) {
    check_batches(machine, options);
    if (machine.devices() == 1) return all;
    for (const auto& [one, sources, targets] : messages_of_stage(machine, options, budget_of_batches(machine, options)))
      add(one, stages, sources, targets);
    return all;
  }
  const int scalars = scalars_of(options);
  for (const bool forward : {true, false})
    for (const MessageInfo& message : Fft::messages(machine, options.cells, transform_options(options), forward))
      add(message, stages * (forward ? 3 + scalars : 6 + 3 * scalars), 1, 1);
  return all;
}

BatchPlan batches_needed(const Machine& machine, const Options& options) {
  check_batches(machine, options);
  return planned_batches(machine, options, budget_of_batches(machine, options));
}

std::vector<ArrayBytes> memory_needed(const Machine& machine, const Options& options) {
  std::vector<ArrayBytes> arrays;
  if (options.device_memory > 0) {
    check_batches(machine, options);
    const std::int64_t transform = budget_of_transform(machine, options),
                       accelerations = bytes_of_accelerations(options);
    const std::int64_t batches = taken_budget(machine, options, budget_of_batches(machine, options));
    for (int device = 0; device < machine.devices(); ++device) {
      arrays.push_back({device, "batches", batches});
      if (accelerations > 0) arrays.push_back({device, "accelerations", accelerations});
      arrays.push_back({device, "transforms", transform});
    }
    return arrays;
  }
  const std::vector<FftMemory> needed = Fft::memory(machine, options.cells, transform_options(options));
  const std::int64_t component = numbers_apart(machine, options) * static_cast<std::int64_t>(size_of(options.type));
  for (int device = 0; device < machine.devices(); ++device) {
    const FftMemory& m = needed[static_cast<std::size_t>(device)];
    const int fields = 2 * components_of(options) + (keeps_next(options) ? 3 : 0),
              in_turns = components_of(options) + products_of(options);
    arrays.push_back({device, keeps_next(options) ? "modes, three fields" : "modes, two fields", fields * m.spectral});
    arrays.push_back({device, "velocity and vorticity", m.physical + m.spectral > 0 ? in_turns * component : 0});
    if (const std::int64_t bytes = bytes_of_accelerations(options)) arrays.push_back({device, "accelerations", bytes});
    arrays.push_back({device, "transforms", m.work + m.library});
    arrays.push_back({device, "messages", m.messages});
  }
  return arrays;
}

int bytes_per_cell(const Options& options) {
  const int stages = options.scheme == Scheme::rk4 ? 4 : 2;
  const int scalars = scalars_of(options);
  return stages * (9 * 3 * 2 + 30 + scalars * (4 * 3 * 2 + 14)) * static_cast<int>(size_of(options.type));
}

}  // namespace slipstream::dns
