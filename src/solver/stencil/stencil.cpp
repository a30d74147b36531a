#include <algorithm>
#include <cmath>

#include <slipstream/error.hpp>

#include "device/upload.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "solver/stencil/impl.hpp"

namespace slipstream::stencil {
namespace {

/// Number of steps whose receiver samples a device stores before the host must read them.
constexpr std::int64_t table_rows = 8192;

Options with_time_step(Options options) {
  check(options);
  if (options.time_step == 0) options.time_step = 0.9 * stable_time_step(options);
  return options;
}

template <class T>
std::vector<T> as(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Stencil::Impl::Impl(const Communicator& comm, const Machine& machine, Options wanted)
    : SolverParts(comm, machine),
      options(with_time_step(std::move(wanted))),
      grid(plan_grid(machine, options, comm.rank())),
      turns(turns_of(grid, options)),
      numbers(numbers_of(options)),
      halo((check_blocks(grid, options), halo_of(grid, options))),
      first(grid, field_options(grid, options, comm.size() > 1, "u")),
      second(grid, field_options(grid, options, comm.size() > 1, "before")) {
  for (const Device device : devices) waited.emplace_back(device);
  if (options.equation == Equation::wave) fill_speeds();
  if (!is_implicit(options)) make_exchanges();
  seismograms.resize(options.receivers.size());
  make_blocks();
  if (is_implicit(options)) make_implicit(machine);
  list_tasks();
  set_done();
  state.fields["u"] = &first;
  if (options.equation == Equation::wave) state.fields["before"] = &second;
}

void Stencil::Impl::make_exchanges() {
  tuning.options = options.exchange;
  tuning.source = "rules";
  const bool both = exchanges_both(options);
  const auto item = [&](Field& field) { return ExchangeItem{&halo, &field, nullptr, false, options.coding}; };
  std::vector<ExchangeItem> items{item(first)};
  if (both) items.push_back(item(second));
  if (options.tune) tuning = tune(comm, grid, items, options.exchange, *options.tune);
  exchanges.push_back(std::make_unique<Exchange>(comm, grid, items, tuning.options));
  if (!both) exchanges.push_back(std::make_unique<Exchange>(comm, grid, std::vector{item(second)}, tuning.options));
}

/// Sets up implicit steps on slabs: each device has one block, or none.
void Stencil::Impl::make_implicit(const Machine& machine) {
  std::vector<Implicit::Slab> slabs;
  for (const OnDevice& on : on_devices) {
    Implicit::Slab& slab = slabs.emplace_back();
    if (on.blocks.empty()) continue;
    const LocalBlock& block = on.blocks.front();
    slab = {block.id, block.steps.front(), block.arrays[0], {{0, 0, 0}, grid.block(block.id).box.extents()}};
  }
  implicit = std::make_unique<Implicit>(comm, machine, grid, options, numbers, std::move(slabs));
  tuning = implicit->tuning();
}

void Stencil::Impl::solve(std::vector<Stream>& streams) {
  std::vector<const void*> u;
  std::vector<void*> next;
  for (const OnDevice& on : on_devices) {
    u.push_back(on.blocks.empty() ? nullptr : on.blocks.front().arrays[turn()].u);
    next.push_back(on.blocks.empty() ? nullptr : on.blocks.front().arrays[turn()].next);
  }
  implicit->step(streams, u, next, "u at step " + std::to_string(state.step + 1));
}

/// Computes (c time_step / spacing)^2 of each cell, ghosts included. Ghosts of periodic sides have the value of the
/// other end.
void Stencil::Impl::fill_speeds() {
  courant.emplace(grid, field_options(grid, options, false, "courant"));
  const double scale = options.time_step / options.spacing;
  const Extent width = ghosts(grid, options);
  on_all_ranks(comm, "the speeds of waves could not be set", [&] {
    for (const std::int64_t id : grid.local()) {
      const Box box = grown(grid.block(id).box, width);
      const BlockShape& shape = courant->shape(id);
      std::vector<double> values(static_cast<std::size_t>(shape.elements), 0.0);
      std::vector<double> given;
      if (options.speeds) {
        given = options.speeds(box);
        require(static_cast<std::int64_t>(given.size()) == box.volume(), ErrorCode::mismatch,
                "the speeds of waves do not fill their box", {{"given", given.size()}, {"needed", box.volume()}});
        for (const double c : given)
          require(c > 0 && c <= options.speed * (1 + 1e-12),
                  "the speed of waves in a cell is not above 0, or above the largest that was stated");
      }
      std::size_t n = 0;
      for (std::int64_t k = -width[2]; k < shape.extent[2] + width[2]; ++k)
        for (std::int64_t j = -width[1]; j < shape.extent[1] + width[1]; ++j)
          for (std::int64_t i = -width[0]; i < shape.extent[0] + width[0]; ++i, ++n) {
            const double c = options.speeds ? given[n] : options.speed;
            values[static_cast<std::size_t>(shape.origin + i * shape.stride[0] + j * shape.stride[1] +
                                            k * shape.stride[2])] = (c * scale) * (c * scale);
          }
      Stream stream(courant->device(id));
      const auto put = [&]<class T>(const std::vector<T>& ready) {
        copy(stream, courant->data(id), ready.data(), ready.size() * sizeof(T));
        stream.synchronize();
      };
      if (options.precision == DType::f32) put(as<float>(values));
      if (options.precision == DType::f64) put(values);
    }
  });
}

/// Whether the ghosts beyond an end of a block are cells of a neighbouring block.
bool Stencil::Impl::ghosts_at(const Block& block, int axis, bool high) const {
  if (options.cells[axis] == 1 || turns.cells[axis] > 0) return false;
  const bool at_side = high ? block.box.hi[axis] == grid.extent()[axis] : block.box.lo[axis] == 0;
  return options.periodic[axis] || !at_side;
}

/// Converts a box to the block's own cells, and separates cells near sides, which have kernels of their own.
Pieces Stencil::Impl::pieces_of(const Block& block, const Box& box) const {
  if (box.empty()) return {};
  // On a GPU the kernel that marches columns handles periodic neighbours itself.
  const bool on_host = devices.front().backend == Backend::host;
  const auto near_side = [&](int axis, int end) -> std::int64_t {
    // The side lies at the centre of the first ghost cell, whose u is 0, so near a fixed side one layer less suffices.
    return std::max(numbers.layers[axis][end], radius(options) - (numbers.even[axis][end] ? 0 : 1));
  };
  Margins margins;
  for (int a = 0; a < 3; ++a) {
    if (options.cells[a] == 1) continue;
    const std::int64_t turning = turns.cells[a] > 0 && on_host ? radius(options) : 0;
    const std::int64_t low = (options.periodic[a] ? turning : near_side(a, 0)) - block.box.lo[a];
    const std::int64_t high = grid.extent()[a] - (options.periodic[a] ? turning : near_side(a, 1)) - block.box.lo[a];
    margins.low[a] = std::clamp<std::int64_t>(low - box.lo[a], 0, box.extent(a));
    margins.high[a] = std::clamp<std::int64_t>(box.hi[a] - high, 0, box.extent(a) - margins.low[a]);
  }
  const InteriorAndBoundary split = split_boundary(box, margins);
  Pieces pieces;
  if (!split.interior.empty()) pieces.push_back({split.interior, false});
  for (const Box& slab : split.boundary) pieces.push_back({slab, true});
  return pieces;
}

Work Stencil::Impl::work_of(const Block& block, int ago) const {
  const std::int64_t reach = radius(options), more = (options.steps_per_exchange - 1 - ago) * reach;
  // The new u replaces the u of the previous step, which must not change while it is sent.
  const std::int64_t kept = exchanges_both(options) ? options.steps_per_exchange * reach : reach;
  Box all{{0, 0, 0}, block.box.extents()};
  Margins margins;
  for (int a = 0; a < 3; ++a) {
    if (ghosts_at(block, a, false)) {
      all.lo[a] -= more;
      margins.low[a] = more + kept;
    }
    if (ghosts_at(block, a, true)) {
      all.hi[a] += more;
      margins.high[a] = more + kept;
    }
  }
  Work work;
  work.all = pieces_of(block, all);
  const InteriorAndBoundary split = split_boundary(all, margins);
  work.interior = pieces_of(block, split.interior);
  for (const Box& slab : split.boundary)
    for (const Piece& piece : pieces_of(block, slab)) work.boundary.push_back(piece);
  return work;
}

void Stencil::Impl::make_blocks() {
  on_devices.resize(devices.size());
  const auto listening = [&](OnDevice& on, std::size_t d) {
    const auto columns = std::max<std::size_t>(1, on.columns.size());
    on.done = Buffer<std::int64_t>(devices[d], 1);
    if (!options.receivers.empty()) on.heard = Buffer<double>(devices[d], table_rows * columns);
  };
  on_all_ranks(comm, "a stencil could not be made", [&] {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      OnDevice& on = on_devices[d];
      for (const std::int64_t id : grid.local()) {
        if (grid.block(id).device != grid.machine().devices_of_rank(comm.rank())[d]) continue;
        LocalBlock block;
        block.id = id;
        const BlockShape& shape = first.shape(id);
        for (int turn = 0; turn < 2; ++turn) {
          BlockArrays& arrays = block.arrays[turn];
          const auto origin = [&](const Field& field) {
            return field.data(id) + shape.origin * static_cast<std::int64_t>(size_of(options.precision));
          };
          arrays.u = origin(turn == 0 ? first : second);
          arrays.next = origin(turn == 0 ? second : first);
          if (courant) arrays.courant = origin(*courant);
          const auto stride = [&](int a) { return options.cells[a] > 1 ? shape.stride[a] : 0; };
          arrays.strides = {stride(0), stride(1), stride(2)};
          arrays.turns = turns;
          for (int a = 0; a < 3; ++a) {
            arrays.low[a] = static_cast<int>(grid.block(id).box.lo[a]);
            arrays.cells[a] = static_cast<int>(grid.extent()[a]);
            arrays.open[a] = !options.periodic[a] && options.cells[a] > 1;
          }
        }
        for (int ago = 0; ago < options.steps_per_exchange; ++ago) block.steps.push_back(work_of(grid.block(id), ago));
        place_points(block, on, waited[d]);
        on.blocks.push_back(std::move(block));
      }
      listening(on, d);
    }
  });
}

/// Lists sources whose cells the block computes, including cells of neighbours, and receivers that lie in the block.
void Stencil::Impl::place_points(LocalBlock& block, OnDevice& on, Stream& stream) {
  const Box& box = grid.block(block.id).box;
  const Strides& strides = block.arrays[0].strides;
  const Extent width = ghosts(grid, options);
  std::vector<Shot> shots;
  for (const Source& source : options.sources)
    for (int n = 0; n < 27; ++n) {
      Extent at = source.cell;
      bool there = true;
      for (int a = 0; a < 3; ++a) {
        const int turn = (a == 0 ? n % 3 : a == 1 ? n / 3 % 3 : n / 9) - 1;
        there = there && (turn == 0 || (options.periodic[a] && options.cells[a] > 1));
        at[a] += turn * grid.extent()[a] - box.lo[a];
        there = there && at[a] >= -width[a] && at[a] < box.extent(a) + width[a];
      }
      if (there)
        shots.push_back({strides.at(static_cast<int>(at[0]), static_cast<int>(at[1]), static_cast<int>(at[2])),
                         source.frequency, source.amplitude * options.time_step * options.time_step, source.delay});
    }
  std::vector<std::int64_t> places;
  block.column = static_cast<std::int64_t>(on.columns.size());
  for (std::size_t n = 0; n < options.receivers.size(); ++n) {
    const Extent& cell = options.receivers[n].cell;
    if (!box.contains(cell)) continue;
    places.push_back(strides.at(static_cast<int>(cell[0] - box.lo[0]), static_cast<int>(cell[1] - box.lo[1]),
                                static_cast<int>(cell[2] - box.lo[2])));
    on.columns.push_back(n);
  }
  if (!shots.empty()) block.shots = upload(stream, shots);
  if (!places.empty()) block.places = upload(stream, places);
  stream.synchronize();
}

void Stencil::Impl::list_tasks() {
  const bool points = !options.sources.empty() || !options.receivers.empty();
  phases.clear();
  for (int phase = 0; phase < period(); ++phase) {
    const auto ago = static_cast<std::size_t>(phase % options.steps_per_exchange);
    Tasks list;
    if (implicit) {
      Collective solution;
      solution.run = [this](std::vector<Stream>& streams) { solve(streams); };
      solution.check = [this] { implicit->check(); };
      list.push_back(collective_task("conjugate gradients", std::move(solution)));
    } else if (ago == 0) {
      // The two fields hold u in turn, so the exchange alternates between them, too.
      Exchange& exchange =
          exchanges.size() == 1 ? *exchanges[0] : *exchanges[static_cast<std::size_t>((base + phase) % 2)];
      list.push_back(exchange_task("exchange", exchange));
    }
    const auto kernel = [this, ago](Stream& stream, std::size_t device, Part part) {
      compute(stream, device, part, ago);
    };
    if (!implicit) list.push_back(ago == 0 ? split_kernel_task("compute", kernel) : kernel_task("compute", kernel));
    if (points)
      list.push_back(kernel_task("sources and receivers",
                                 [this](Stream& stream, std::size_t device, Part) { at_points(stream, device); }));
    phases.push_back(std::move(list));
  }
}

void Stencil::Impl::compute(Stream& stream, std::size_t device, Part part, std::size_t ago) {
  for (const LocalBlock& block : on_devices[device].blocks) {
    const Work& work = block.steps[ago];
    for (const Piece& piece : work.of(part)) {
      const BlockArrays& arrays = block.arrays[turn()];
      const bool single = options.precision == DType::f32;
      if (options.equation == Equation::heat) {
        (single ? heat<float> : heat<double>)(stream, options.points, numbers, arrays, piece.box, piece.sides);
      } else {
        (single ? wave<float> : wave<double>)(stream, radius(options), numbers, arrays, piece.box, piece.sides);
      }
    }
  }
}

void Stencil::Impl::at_points(Stream& stream, std::size_t device) {
  OnDevice& on = on_devices[device];
  const auto columns = static_cast<std::int64_t>(on.columns.size());
  for (LocalBlock& block : on.blocks) {
    void* const next = block.arrays[turn()].next;
    if (block.shots.size() > 0)
      shoot(stream, options.precision, next, block.shots.data(), static_cast<int>(block.shots.size()), on.done.data(),
            options.time_step);
    if (block.places.size() > 0)
      listen(stream, options.precision, next, block.places.data(), static_cast<int>(block.places.size()),
             on.done.data(), on.heard.data() + block.column, table_rows, columns);
  }
  count_step(stream, on.done.data());
}

void Stencil::Impl::set(Field& field, const Values& values) {
  on_all_ranks(comm, "the values at the start could not be set", [&] {
    for (const std::int64_t id : grid.local()) {
      const Box& box = grid.block(id).box;
      const std::vector<double> given = values(box);
      require(static_cast<std::int64_t>(given.size()) == box.volume(), ErrorCode::mismatch,
              "the values at the start are " + std::to_string(given.size()) + " for a box of " +
                  std::to_string(box.volume()) + " cells",
              {{"given", given.size()}, {"needed", box.volume()}});
      if (options.precision == DType::f32) field.write(box, as<float>(given).data());
      if (options.precision == DType::f64) field.write(box, given.data());
    }
  });
}

/// Writes the number of steps done to device memory.
void Stencil::Impl::set_done() {
  for (std::size_t d = 0; d < devices.size(); ++d) {
    copy(waited[d], on_devices[d].done.data(), &state.step, sizeof(state.step));
    waited[d].synchronize();
  }
  drained = state.step;
  for (auto& seismogram : seismograms) seismogram.clear();
}

std::vector<double> Stencil::Impl::heard_between(std::size_t device, std::int64_t first, std::int64_t last) {
  const OnDevice& on = on_devices[device];
  const std::size_t columns = on.columns.size();
  std::vector<double> rows(static_cast<std::size_t>(last - first) * columns);
  // The table of samples is a ring, so samples beyond its end continue at its beginning.
  for (std::int64_t step = first; step < last;) {
    const std::int64_t row = step % table_rows, count = std::min(last - step, table_rows - row);
    copy(waited[device], rows.data() + static_cast<std::size_t>(step - first) * columns,
         on.heard.data() + static_cast<std::size_t>(row) * columns,
         static_cast<std::size_t>(count) * columns * sizeof(double));
    step += count;
  }
  waited[device].synchronize();
  return rows;
}

/// Copies the samples that receivers recorded since the last call to the host. If the state was set from outside and no
/// step followed, there are none.
void Stencil::Impl::drain() {
  if (restarts != state.restarts) return;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::vector<std::size_t>& columns = on_devices[d].columns;
    if (columns.empty()) continue;
    const std::vector<double> rows = heard_between(d, drained, state.step);
    for (std::size_t n = 0; n < rows.size(); ++n) seismograms[columns[n % columns.size()]].push_back(rows[n]);
  }
  drained = state.step;
}

/// If the devices alone do the exchange, a step in one piece may be faster than an interior and a boundary region. This
/// is so if the boundary region's sides along x touch memory in small pieces, or if few planes travel. Two H100s, 512^3
/// cut along z, took these times in one piece and in two: heat 377 and 385 us, waves of order 8, which send four
/// planes, 796 and 779 us.
Overlap Stencil::Impl::usual_overlap() const {
  const bool by_devices =
      std::all_of(exchanges.begin(), exchanges.end(), [](const auto& e) { return e->capturable(); });
  const bool in_one = ghosts(grid, options)[0] > 0 || radius(options) == 1;
  return options.overlap == Overlap::automatic && by_devices && in_one ? Overlap::off : options.overlap;
}

Stencil::Stencil(const Communicator& comm, const Machine& machine, Options options)
    : Solver(std::make_unique<Impl>(comm, machine, std::move(options))), impl_(&parts<Impl>()) {
  impl_->loop.emplace(*this, impl_->usual_overlap(), impl_->options.exchange.trace);
}

const Tasks& Stencil::tasks() const { return tasks_at(recording().phase); }
const Tasks& Stencil::tasks_at(int phase) const { return impl_->phases[static_cast<std::size_t>(phase)]; }

/// After the caller has set the state, ghost cells are old, so the next step begins with an exchange. Earlier graphs
/// are invalid, because in them the other of two alternating fields may hold the solution u.
void Stencil::begin_steps() {
  Impl& s = *impl_;
  if (s.restarts == s.state.restarts) return;
  s.restarts = s.state.restarts;
  s.base = s.turn();
  s.count = 0;
  ++s.serial;
  s.list_tasks();
  s.set_done();
}

void Stencil::finish_step() {
  Impl& s = *impl_;
  ++s.count;
  ++s.state.step;
  s.state.time = static_cast<double>(s.state.step) * s.options.time_step;
  s.state.fields["u"] = &s.now();
  if (s.options.equation == Equation::wave) s.state.fields["before"] = &s.other();
}

Recording Stencil::recording() const {
  const Impl& s = *impl_;
  return {s.period(), static_cast<int>(s.count % s.period()), s.serial};
}

void Stencil::advance(std::int64_t steps) {
  Impl& s = *impl_;
  while (steps > 0) {
    const std::int64_t now = s.options.receivers.empty() ? steps : std::min(steps, table_rows);
    s.loop->run(now);
    s.drain();
    steps -= now;
  }
}

double Stencil::Impl::largest_difference_in(const LocalBlock& block, std::size_t device) {
  const Extent extent = grid.block(block.id).box.extents();
  const auto lines = static_cast<std::size_t>(extent[1] * extent[2]), planes = static_cast<std::size_t>(extent[2]);
  Buffer<double>& work = on_devices[device].differences;
  if (work.size() < lines + planes + 1) {
    work = Buffer<double>();  // frees the old workspace before the new one is allocated
    work = Buffer<double>(devices[device], lines + planes + 1);
  }
  const BlockArrays& arrays = block.arrays[turn()];
  double* const result = work.data() + lines + planes;
  largest_difference(waited[device], options.precision, arrays.u, arrays.next, arrays.strides, extent, work.data(),
                     work.data() + lines, result);
  double found = 0;
  copy(waited[device], &found, result, sizeof(found));
  waited[device].synchronize();
  return found;
}

double Stencil::largest_change() {
  Impl& s = *impl_;
  double largest = 0;
  for (std::size_t d = 0; d < s.devices.size(); ++d)
    for (const Impl::LocalBlock& block : s.on_devices[d].blocks) {
      const double found = s.largest_difference_in(block, d);
      largest = std::isnan(found) ? found : std::max(largest, found);
    }
  return s.comm.max(largest) / s.options.time_step;
}

std::vector<double> Stencil::seismogram(std::size_t receiver, std::int64_t since) {
  Impl& s = *impl_;
  require(receiver < s.seismograms.size(), ErrorCode::not_found, "there is no receiver with this number",
          {{"receiver", receiver}, {"limit", s.seismograms.size()}});
  s.drain();  // if a step threw, the receivers' latest samples are still on the devices
  const std::vector<double>& mine = s.seismograms[receiver];
  const auto all = static_cast<std::int64_t>(mine.size()),
             left_out = std::clamp<std::int64_t>(since - s.drained + all, 0, all);
  const std::string text(reinterpret_cast<const char*>(mine.data() + left_out),
                         static_cast<std::size_t>(all - left_out) * sizeof(double));
  std::vector<double> found;
  for (const std::string& theirs : s.comm.all_gather(text)) {
    if (theirs.empty()) continue;
    found.resize(theirs.size() / sizeof(double));
    std::copy_n(theirs.data(), theirs.size(), reinterpret_cast<char*>(found.data()));
  }
  return found;
}

const Grid& Stencil::grid() const { return impl_->grid; }
const Options& Stencil::options() const { return impl_->options; }
Exchange& Stencil::exchange() { return impl_->implicit ? impl_->implicit->exchange() : *impl_->exchanges.front(); }
const Tuning& Stencil::tuning() const { return impl_->tuning; }
const krylov::Effort& Stencil::effort() const {
  static const krylov::Effort none;
  return impl_->implicit ? impl_->implicit->effort() : none;
}

}  // namespace slipstream::stencil
