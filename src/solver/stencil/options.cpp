// Options of a stencil: checks, weights, limits, memory, messages.
#include <algorithm>
#include <cmath>
#include <limits>

#include "grid/cell_text.hpp"
#include "solver/stencil/impl.hpp"
#include "solver/stencil/keys.hpp"

namespace slipstream::stencil {
namespace {

/// Weights of -d2/dx2 on a grid of spacing 1, by distance, for radius 1 to 4 (central differences of order 2 to 8).
constexpr double central[most_radius][most_radius + 1] = {
    {-2.0, 1.0, 0, 0, 0},
    {-5.0 / 2, 4.0 / 3, -1.0 / 12, 0, 0},
    {-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90, 0},
    {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560},
};
constexpr double isotropic[4] = {-128.0 / 30, 14.0 / 30, 3.0 / 30, 1.0 / 30};

int axes_of(const Options& options) {
  return static_cast<int>(std::count_if(options.cells.begin(), options.cells.end(), [](auto n) { return n > 1; }));
}

/// Whether an axis has sides with boundary conditions.
bool bounds(const Options& options, int axis) { return !options.periodic[axis] && options.cells[axis] > 1; }

/// The largest eigenvalue of -Lap on a grid of spacing 1. Its wave alternates from cell to cell along some axes.
double largest_eigenvalue(const Options& options) {
  const int axes = axes_of(options);
  if (options.equation == Equation::heat && options.points == 27) {
    double largest = 0;
    for (int turning = 0; turning <= axes; ++turning) {
      double sum = 0;
      for (int n = 0; n < 27; ++n) {
        const int at[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        double sign = 1;
        for (int a = 0; a < turning; ++a) sign *= at[a] == 0 ? 1 : -1;
        sum -= isotropic[at[0] * at[0] + at[1] * at[1] + at[2] * at[2]] * sign;
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }
  const double* const w = central[radius(options) - 1];
  double along_one = -w[0];
  for (int r = 1; r <= radius(options); ++r) along_one -= 2 * w[r] * (r % 2 == 0 ? 1 : -1);
  return axes * along_one;
}

/// Whether any side of the box has the boundary condition `wanted`.
bool has_side(const Options& options, Sides wanted) {
  for (int a = 0; a < 3; ++a)
    if (bounds(options, a) && (options.sides.of[a][0] == wanted || options.sides.of[a][1] == wanted)) return true;
  return false;
}

int layers_at(const Options& options, int axis, int end) {
  return bounds(options, axis) && options.sides.of[axis][end] == Sides::fixed ? options.absorbing : 0;
}

bool inside(const Extent& cell, const Extent& cells) {
  for (int a = 0; a < 3; ++a)
    if (cell[a] < 0 || cell[a] >= cells[a]) return false;
  return true;
}

template <std::size_t N>
bool among(int value, const std::int64_t (&all)[N]) {
  return std::find(std::begin(all), std::end(all), value) != std::end(all);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

}  // namespace

Scheme scheme_from_string(const std::string& name) {
  return value_in(schemes, name, "no scheme in time is called", "scheme");
}

int radius(const Options& options) { return options.equation == Equation::heat ? 1 : options.order / 2; }

double stable_time_step(const Options& options) {
  const double m = largest_eigenvalue(options), h = options.spacing;
  if (options.equation == Equation::heat) return 2 * h * h / (options.diffusivity * m);
  return 2 * h / (options.speed * std::sqrt(m));
}

int bytes_per_cell(const Options& options) {
  if (is_implicit(options)) return 16 + 104;
  const int size = static_cast<int>(size_of(options.precision));
  return options.equation == Equation::heat ? 2 * size : 4 * size;
}

void check(const Options& o) {
  for (int a = 0; a < 3; ++a)
    require(o.cells[a] >= 1, "a stencil needs one cell at least along each axis",
            {{"option", "cells"}, {"axis", std::string(1, "xyz"[a])}});
  require(o.cells[0] > 1, "a stencil needs more than one cell along x", {{"option", "cells"}, {"axis", "x"}});
  require(o.cells[1] > 1 || o.cells[2] == 1, ErrorCode::unsupported,
          "a stencil in two dimensions has its cells along x and y", {{"option", "cells"}, {"axis", "y"}});
  require(o.precision == DType::f32 || o.precision == DType::f64, "a stencil computes in f32 or f64",
          {{"option", "precision"}, {"given", to_string(o.precision)}});
  require(o.equation == Equation::wave || among(o.points, point_counts), ErrorCode::unsupported,
          "the heat equation has 7 or 27 points", {{"option", "points"}, {"given", o.points}});
  require(o.equation == Equation::heat || among(o.order, orders), ErrorCode::unsupported,
          "the wave equation has order 2, 4, 6 or 8 in space", {{"option", "order"}, {"given", o.order}});
  require(o.spacing > 0 && o.diffusivity > 0 && o.speed > 0, "spacing, diffusivity and speed are above 0",
          {{"option", "spacing, diffusivity, speed"}});
  require(o.steps_per_exchange >= 1, "there is one step at least for an exchange",
          {{"option", "steps_per_exchange"}, {"given", o.steps_per_exchange}});
  require(o.absorbing >= 0, "an absorbing layer has no fewer than 0 layers",
          {{"option", "absorbing"}, {"given", o.absorbing}});
  require(o.equation == Equation::wave || (o.absorbing == 0 && o.sources.empty()), ErrorCode::unsupported,
          "sources and the absorbing layer belong to the wave equation", {{"option", "sources, absorbing"}});
  require(o.equation == Equation::heat || !has_side(o, Sides::insulated), ErrorCode::unsupported,
          "insulated sides belong to the heat equation", {{"option", "sides"}, {"given", "insulated"}});
  require(o.equation == Equation::wave || !has_side(o, Sides::free), ErrorCode::unsupported,
          "free sides belong to the wave equation", {{"option", "sides"}, {"given", "free"}});
  for (const Source& source : o.sources)
    require(inside(source.cell, o.cells),
            "the source " + source.name + " lies in cell " + cell_text(source.cell) + ", outside of the grid of " +
                cell_text(o.cells) + " cells",
            {{"option", "sources"}, {"source", source.name}, {"cell", cell_text(source.cell)}});
  for (const Receiver& receiver : o.receivers)
    require(inside(receiver.cell, o.cells),
            "the receiver " + receiver.name + " lies in cell " + cell_text(receiver.cell) +
                ", outside of the grid of " + cell_text(o.cells) + " cells",
            {{"option", "receivers"}, {"receiver", receiver.name}, {"cell", cell_text(receiver.cell)}});
  require(o.absorbing == 0 || has_side(o, Sides::fixed) || !has_side(o, Sides::free), ErrorCode::unsupported,
          "absorbing layers lie in front of fixed sides, and all sides are free: leave the layers out, or fix a side",
          {{"option", "absorbing"}, {"sides", "free"}});
  for (int a = 0; a < 3; ++a) {
    const int layers = layers_at(o, a, 0) + layers_at(o, a, 1);
    require(layers <= o.cells[a], ErrorCode::unsupported,
            "absorbing layers of " + std::to_string(layers) + " cells in all do not fit into " +
                std::to_string(o.cells[a]) + " cells along " + std::string(1, "xyz"[a]),
            {{"option", "absorbing"}, {"axis", std::string(1, "xyz"[a])}, {"given", layers}, {"limit", o.cells[a]}});
  }
  require(!is_implicit(o) || o.equation == Equation::heat, ErrorCode::unsupported,
          "implicit schemes belong to the heat equation", {{"option", "scheme"}});
  require(!is_implicit(o) || (std::isfinite(o.time_step) && o.time_step > 0),
          "an implicit scheme is stable for all time steps: say which it shall take",
          {{"option", "time_step"}, {"given", o.time_step}});
  require(!is_implicit(o) || o.steps_per_exchange == 1, ErrorCode::unsupported,
          "an implicit scheme exchanges in each iteration: leave the steps for one exchange at 1",
          {{"option", "steps_per_exchange"}, {"given", o.steps_per_exchange}});
  require(!is_implicit(o) || o.coding.kind == Coding{}.kind, ErrorCode::unsupported,
          "the values of an implicit scheme travel as they are", {{"option", "coding"}});
  if (is_implicit(o)) return;
  const double limit = stable_time_step(o);
  require(o.time_step >= 0 && o.time_step <= limit * (1 + 1e-12),
          "the time step " + number(o.time_step) + " is above " + number(limit) +
              ", the largest for which the scheme is stable: take a smaller one, or larger cells" +
              (o.equation == Equation::heat ? ", or an implicit scheme" : ""),
          {{"option", "time_step"}, {"given", o.time_step}, {"limit", limit}});
}

Grid plan_grid(const Machine& machine, const Options& options, int rank) {
  GridOptions grid = options.grid;
  if (is_implicit(options)) {
    grid = {};
    grid.boxes = slabs(machine, options);
  }
  grid.periodic = options.periodic;
  grid.dimensions = options.cells[2] == 1 ? 2 : 3;
  return Grid(options.cells, machine, rank, std::move(grid));
}

void check_blocks(const Grid& grid, const Options& options) {
  const Extent width = ghosts(grid, options);
  const int together = options.steps_per_exchange;
  const std::string steps = (together == 1 ? "a step" : std::to_string(together) + " steps") + " of radius " +
                            std::to_string(radius(options)) + (together == 1 ? " reaches" : " reach");
  for (int a = 0; a < 3; ++a)
    require(options.cells[a] == 1 || !options.periodic[a] || options.cells[a] >= radius(options),
            ErrorCode::unsupported,
            "a step reaches " + std::to_string(radius(options)) + " cells, and the axis " + std::string(1, "xyz"[a]) +
                " has " + std::to_string(options.cells[a]),
            {{"option", "cells"},
             {"axis", std::string(1, "xyz"[a])},
             {"given", options.cells[a]},
             {"needed", radius(options)}});
  for (const Block& block : grid.blocks())
    for (int a = 0; a < 3; ++a)
      require(block.box.extent(a) >= width[a], ErrorCode::unsupported,
              "block " + std::to_string(block.id) + " is " + std::to_string(block.box.extent(a)) +
                  " cells long along " + std::string(1, "xyz"[a]) + ", less than the " + std::to_string(width[a]) +
                  " that " + steps + ": take fewer or longer blocks, fewer steps an exchange, or a lower order",
              {{"block", block.id},
               {"axis", std::string(1, "xyz"[a])},
               {"given", block.box.extent(a)},
               {"needed", width[a]}});
}

Turns turns_of(const Grid& grid, const Options& options) {
  Turns turns;
  for (int a = 0; a < 3; ++a)
    if (options.periodic[a] && options.cells[a] > 1 && !grid.cuts_blocks(a))
      turns.cells[a] = static_cast<int>(options.cells[a]);
  return turns;
}

Extent ghosts(const Grid& grid, const Options& options) {
  Extent width{0, 0, 0};
  for (int a = 0; a < 3; ++a) {
    const bool exchanged = grid.cuts_blocks(a);
    // Blocks that exchange nothing need no ghosts along an axis: they are their own neighbour or end at sides of the
    // grid.
    if (options.cells[a] == 1 || (!exchanged && options.periodic[a])) continue;
    width[a] = radius(options) * (exchanged ? options.steps_per_exchange : 1);
  }
  return width;
}

FieldOptions field_options(const Grid& grid, const Options& options, bool shared, const std::string& name) {
  FieldOptions field;
  field.name = name;
  field.type = options.precision;
  field.ghost = ghosts(grid, options);
  // Rows begin with lines of memory, which speeds up a wave of order 8 in f32 by 9 % on an H100.
  field.alignment = options.equation == Equation::heat ? 64 : 128;
  field.shared = shared;
  return field;
}

Halo halo_of(const Grid& grid, const Options& options) {
  const bool star = options.equation == Equation::wave || options.points == 7;
  const Extent width = ghosts(grid, options);
  Halo::Options halo;
  halo.reach = star && options.steps_per_exchange == 1 ? Reach::faces : Reach::all;
  halo.low = halo.high = width;
  return Halo(std::move(halo));
}

Numbers numbers_of(const Options& o) {
  Numbers numbers;
  const double* const w = central[radius(o) - 1];
  for (int r = 0; r <= most_radius; ++r) numbers.star.of[r] = w[r];
  numbers.star.of[0] *= 3;
  std::copy(std::begin(isotropic), std::end(isotropic), numbers.cube.of);
  numbers.rate = o.diffusivity * o.time_step / (o.spacing * o.spacing);
  for (int a = 0; a < 3; ++a)
    for (int end = 0; end < 2; ++end) {
      numbers.even[a][end] = o.sides.of[a][end] != Sides::fixed;
      numbers.layers[a][end] = layers_at(o, a, end);
    }
  // In the absorbing layer a wave's amplitude falls by exp(-integral of sigma / (2 c)) each way: damping sigma, speed
  // c. With sigma = sigma_0 (depth / W)^2 and width W, both ways give exp(-sigma_0 W / (3 c)), here 1e-3.
  if (o.absorbing > 0) numbers.damping = 0.5 * o.time_step * 3 * o.speed * std::log(1e3) / (o.absorbing * o.spacing);
  return numbers;
}

std::vector<MessageInfo> messages_needed(const Grid& grid, const Options& options) {
  const Halo halo = halo_of(grid, options);
  if (is_implicit(options))
    return plan_messages(grid, {{&halo, system_field(grid, options, true, "direction")}}, options.exchange);
  std::vector<PlannedItem> items{{&halo, field_options(grid, options, true, "u"), {}, false, options.coding}};
  if (exchanges_both(options))
    items.push_back({&halo, field_options(grid, options, true, "before"), {}, false, options.coding});
  return plan_messages(grid, items, options.exchange);
}

std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options) {
  std::vector<std::int64_t> fields(grid.machine().devices(), 0), slots = fields, systems = fields;
  for (const Block& block : grid.blocks()) {
    fields[block.device] += Field::bytes_needed(block.box.extents(), field_options(grid, options, false, "u"));
    systems[block.device] += Field::bytes_needed(block.box.extents(), system_field(grid, options, false, ""));
  }
  for (const auto& m : messages_needed(grid, options)) {
    if (traits_of(m.route).stores) continue;
    slots[m.target] += 2 * 2 * m.bytes;
    slots[m.source] += 2 * m.bytes;
  }
  std::vector<ArrayBytes> arrays;
  for (int device = 0; device < grid.machine().devices(); ++device) {
    arrays.push_back({device, "u, two arrays", 2 * fields[device]});
    if (options.equation == Equation::wave) arrays.push_back({device, "speed of waves", fields[device]});
    // Conjugate gradients have these vectors: the right side, weights, the solution, and r, p, q.
    if (is_implicit(options)) arrays.push_back({device, "conjugate gradients", 6 * systems[device]});
    arrays.push_back({device, "message slots", slots[device]});
  }
  return arrays;
}

}  // namespace slipstream::stencil
