#include "solver/stencil/implicit.hpp"

#include <algorithm>

#include <slipstream/trace.hpp>

#include "machine/agree.hpp"
#include "solver/stencil/impl.hpp"

namespace slipstream::stencil {
namespace {

/// Upper limit on the number of blocks of cells that partial sums are taken over, enough to fill a GPU.
constexpr std::int64_t most_blocks = 1024;
/// Upper limit on the number of units, groups of planes that stay on one device.
constexpr std::int64_t most_units = 256;

/// Number of grid planes that always stay together on one device (a unit). It depends on the grid only.
std::int64_t planes_of_a_unit(const Options& options) {
  return std::max<std::int64_t>(1, options.cells[slab_axis(options.cells)] / most_units);
}

/// Number of cell values per partial sum: those of a group of planes on one device, or of some whole rows of them.
std::int64_t block_of_a_sum(const Grid& grid, const Options& options, std::int64_t plane) {
  const int axis = slab_axis(options.cells);
  const std::int64_t planes = planes_of_a_unit(options), unit = planes * plane;
  const std::int64_t units = (options.cells[axis] + planes - 1) / planes;
  if (axis < 2) return unit;
  const std::int64_t rows = planes * (options.cells[1] + 2 * ghosts(grid, options)[1]);
  std::int64_t parts = std::max<std::int64_t>(1, most_blocks / units);
  while (rows % parts != 0) --parts;
  return unit / parts;
}

}  // namespace

int slab_axis(const Extent& cells) { return cells[2] > 1 ? 2 : cells[1] > 1 ? 1 : 0; }

FieldOptions system_field(const Grid& grid, const Options& options, bool shared, const std::string& name) {
  FieldOptions field = field_options(grid, options, shared, name);
  field.type = DType::f64;
  return field;
}

/// Gives each device a slab of the grid, in multiples of a number of planes that the grid alone determines.
std::vector<Block> slabs(const Machine& machine, const Options& options) {
  const int axis = slab_axis(options.cells);
  const std::int64_t planes = options.cells[axis], unit = planes_of_a_unit(options), units = (planes + unit - 1) / unit;
  std::vector<Block> found;
  for (int d = 0; d < machine.devices(); ++d) {
    Block block;
    block.box = {{0, 0, 0}, options.cells};
    block.box.lo[axis] = units * d / machine.devices() * unit;
    block.box.hi[axis] = std::min(units * (d + 1) / machine.devices() * unit, planes);
    block.device = d;
    if (!block.box.empty()) found.push_back(block);
  }
  return found;
}

Implicit::Implicit(const Communicator& comm, const Machine& machine, const Grid& grid, const Options& options,
                   const Numbers& numbers, std::vector<Slab> slabs)
    : comm_(comm),
      options_(options),
      numbers_(numbers),
      theta_(options.scheme == Scheme::backward_euler ? 1.0 : 0.5),
      halo_(halo_of(grid, options)),
      solution_(grid, system_field(grid, options, comm.size() > 1, "solution")),
      direction_(grid, system_field(grid, options, comm.size() > 1, "direction")) {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  sides_.resize(slabs.size());
  on_all_ranks(comm, "the system of an implicit step could not be made", [&] {
    for (std::size_t d = 0; d < slabs.size(); ++d) {
      sides_[d].slab = std::move(slabs[d]);
      Stream stream(machine.device(devices[d]).local);
      if (sides_[d].slab.block >= 0) lay_out(sides_[d], solution_.shape(sides_[d].slab.block), stream);
      stream.synchronize();
    }
  });
  const auto item = [&](Field& field) { return ExchangeItem{&halo_, &field, nullptr}; };
  tuning_.options = options.exchange;
  tuning_.source = "rules";
  if (options.tune) tuning_ = tune(comm, grid, {item(direction_)}, options.exchange, *options.tune);
  of_solutions_ = std::make_unique<Exchange>(comm, grid, std::vector{item(solution_)}, tuning_.options);
  of_directions_ = std::make_unique<Exchange>(comm, grid, std::vector{item(direction_)}, tuning_.options);
  const bool cuda = machine.devices() > 0 && machine.device(0).local.backend == Backend::cuda;
  overlap_ = options.overlap == Overlap::on ||
             (options.overlap == Overlap::automatic && cuda && !of_directions_->capturable());
  method_ = std::make_unique<krylov::ConjugateGradients>(comm, machine, layout(grid));
  for (const Side& side : sides_) system_.weights.push_back(side.weights.data());
  // Preconditioning need not scale: the diagonal is constant except at insulated sides; a factor changes no iterate.
  system_.inverse_diagonal = system_.weights;
  if (!options.exchange.trace && of_directions_->loopable()) system_.recording = krylov::new_recording();
}

void Implicit::lay_out(Side& side, const BlockShape& shape, Stream& stream) {
  const int axis = slab_axis(options_.cells);
  const auto stride = [&](int a) { return options_.cells[a] > 1 ? shape.stride[a] : 0; };
  side.arrays = side.slab.arrays;
  side.arrays.strides = {stride(0), stride(1), stride(2)};
  // A plane begins with its first row of ghosts. The ghosts left of a row belong to the row before.
  side.lead = axis == 2 ? shape.ghost[1] * shape.stride[1] : 0;
  side.first = shape.origin - side.lead;
  side.points = shape.extent[axis] * shape.stride[axis];
  side.b = Buffer<double>(stream.device(), static_cast<std::size_t>(side.points));
  side.weights = Buffer<double>(stream.device(), static_cast<std::size_t>(side.points));
  for (Buffer<double>* buffer : {&side.b, &side.weights}) fill(stream, buffer->data(), 0, buffer->bytes());
  set_ones(stream, side.weights.data() + side.lead, side.arrays.strides, side.slab.box);
}

krylov::Vectors Implicit::vectors(Field& field) {
  krylov::Vectors all;
  for (const Side& side : sides_)
    all.push_back(side.slab.block < 0 ? nullptr : reinterpret_cast<double*>(field.data(side.slab.block)) + side.first);
  return all;
}

krylov::Layout Implicit::layout(const Grid& grid) {
  const int axis = slab_axis(options_.cells);
  Box one{{0, 0, 0}, options_.cells};
  one.hi[axis] = 1;
  const std::int64_t plane = block_shape(one.extents(), system_field(grid, options_, false, "")).stride[axis];
  krylov::Layout layout;
  layout.block = block_of_a_sum(grid, options_, plane);
  for (const Side& side : sides_) {
    layout.points.push_back(side.points);
    layout.first_block.push_back(side.slab.block < 0 ? 0 : side.slab.arrays.low[axis] * plane / layout.block);
  }
  layout.directions = vectors(direction_);
  return layout;
}

void Implicit::compute(std::vector<Stream>& streams, const krylov::Vectors& in, const krylov::Vectors& out, double rate,
                       Part part) {
  const char* const name = part == Part::all ? "operator" : part == Part::interior ? "interior" : "boundary";
  const DeviceSpans spans(options_.exchange.trace, streams, "solver", name, "compute");
  Numbers numbers = numbers_;
  numbers.rate = rate;
  for (std::size_t d = 0; d < sides_.size(); ++d) {
    Side& side = sides_[d];
    if (side.slab.block < 0) continue;
    side.arrays.u = in[d] + side.lead;
    side.arrays.next = out[d] + side.lead;
    for (const Piece& piece : side.slab.work.of(part))
      heat<double>(streams[d], options_.points, numbers, side.arrays, piece.box, piece.sides);
  }
}

void Implicit::apply(std::vector<Stream>& streams, Exchange& exchange, const krylov::Vectors& in,
                     const krylov::Vectors& out, double rate) {
  if (!overlap_) {
    exchange.run(streams);
    return compute(streams, in, out, rate, Part::all);
  }
  exchange.begin(streams);
  compute(streams, in, out, rate, Part::interior);
  exchange.end(streams);
  compute(streams, in, out, rate, Part::boundary);
}

void Implicit::step(std::vector<Stream>& streams, const std::vector<const void*>& u, const std::vector<void*>& next,
                    const std::string& unknown) {
  const krylov::Vectors x = vectors(solution_);
  krylov::Vectors b;
  krylov::Values right;
  for (const Side& side : sides_) {
    b.push_back(side.b.data());
    right.push_back(side.b.data());
  }
  const auto each = [&](const auto& run) {
    for (std::size_t d = 0; d < sides_.size(); ++d)
      if (sides_[d].slab.block >= 0) run(d, sides_[d]);
  };
  // The solver starts from the present u as initial guess.
  each([&](std::size_t d, const Side& side) {
    convert(streams[d], options_.precision, u[d], side.slab.arrays.strides, DType::f64, x[d] + side.lead,
            side.arrays.strides, side.slab.box);
    if (theta_ == 1)
      convert(streams[d], options_.precision, u[d], side.slab.arrays.strides, DType::f64, b[d] + side.lead,
              side.arrays.strides, side.slab.box);
  });
  if (theta_ < 1) apply(streams, *of_solutions_, x, b, (1 - theta_) * numbers_.rate);
  system_.apply = [&](const krylov::Vectors& in, const krylov::Vectors& out) {
    apply(streams, in == x ? *of_solutions_ : *of_directions_, in, out, -theta_ * numbers_.rate);
  };
  // With Crank-Nicolson, the operator on the initial guess needs no stencil: A u = (1 + s L / 2) u = 2 u - b.
  if (theta_ == 0.5)
    system_.apply_to_guess = [&](const krylov::Vectors& out) {
      each([&](std::size_t d, const Side& side) {
        reflect(streams[d], x[d] + side.lead, b[d] + side.lead, out[d] + side.lead, side.arrays.strides, side.slab.box);
      });
    };
  krylov::Options how = options_.krylov;
  how.field = unknown;
  how.trace = options_.exchange.trace;
  how.hard = "take a smaller time step";
  // Heat decays, so most of the change is a common factor; the solver first scales its initial guess to fit.
  how.fit_guess = true;
  effort_.add(method_->solve(streams, system_, right, x, how));
  each([&](std::size_t d, const Side& side) {
    convert(streams[d], DType::f64, x[d] + side.lead, side.arrays.strides, options_.precision, next[d],
            side.slab.arrays.strides, side.slab.box);
  });
}

void Implicit::check() {
  of_solutions_->check();
  of_directions_->check();
}

}  // namespace slipstream::stencil
