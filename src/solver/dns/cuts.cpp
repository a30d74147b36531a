#include "solver/dns/cuts.hpp"

#include "fft/batch_work.hpp"
#include "fft/decomposition.hpp"
#include "solver/dns/impl.hpp"

namespace slipstream::dns {
namespace {

using fft::BatchCut;
using fft::BatchMoves;

/// Number of batches in a sweep (a pass of the whole field through the devices) if memory allows. Fewer batches hide
/// less of the transfers, because the first and the last one overlap nothing.
constexpr std::int64_t batches_of_sweep = 32, least_batch = 8 << 20;

std::int64_t whole_words(std::int64_t bytes) { return parts(bytes, 256) * 256; }

/// Number of equal buffers among which device memory is divided: batches, own arrays, workspace of the FFT library.
std::int64_t shares(int devices) {
  return (devices > 1 ? Batches::buffers_of_moves : Batches::buffers) + own_buffers + 1;
}
/// Number of fields in a batch of planes y (constant y) in a Runge-Kutta stage. It reads u, u x curl u, a sum of stages
/// and, in forced rk4, the next state. It writes the stage's results, and five fields that planes z (constant z) need.
int fields_of_stage(const Options& o) {
  return o.scheme == Scheme::rk2 ? 8 + 3 * scalars_of(o) : 12 + 4 * scalars_of(o);
}
/// Upper bound of the number of shells |k| in an energy spectrum.
std::int64_t most_shells(const Options& o) {
  const ModeGrid grid = wave_numbers(o);
  double most = 0;
  for (std::size_t a = 0; a < 3; ++a) most += grid.highest[a] * (grid.wave[a] / grid.shell);
  return static_cast<std::int64_t>(most) + 2;
}

/// Bytes of device memory for each plane or line of an out-of-core batch of a flow. Buffers hold its Fourier modes. The
/// work arrays hold u x curl u on a plane of constant y, or six components in the cells of a plane of constant z.
struct Needs {
  Needs(const Shares& of, const Options& o) : places(of.most_places), planes(of.most_z) {
    const Sizes s(o);
    const std::int64_t value = 2 * static_cast<std::int64_t>(size_of(o.type)), devices = of.devices(),
                       there = fields_there(o), back = components_of(o), lands = back * devices * of.most_places;
    wide = s.wide;
    high = s.ny;
    line = value * std::max(fields_of_stage(o) * s.nz, there * devices * of.most_z);
    doubles = static_cast<std::int64_t>(sizeof(double)) * doubles_of_plane(o);
    plane_z = value * std::max({there * s.between(), back * s.between() + s.ny, wide * lands, 3 * s.of_z() + 9 * s.ny,
                                parts(5 * s.of_z() + 16, own_buffers)});
    column = value * std::max(fields_of_cells(o) * s.ny, lands);
    row =
        value * std::max({fields_of_cells(o) * wide, back * wide + 9, 3 * s.mx + 9, parts(5 * s.mx + 16, own_buffers)});
  }
  std::int64_t places, planes;  ///< largest number of kept k_y, and of planes z, of any device
  std::int64_t wide, high;      ///< number of modes along x, and along y, that a plane z keeps
  std::int64_t line, doubles;   ///< bytes for a line along z in a plane y, and for the partial sums of the plane
  std::int64_t plane_z;         ///< bytes that a whole plane of constant z needs
  std::int64_t column, row;     ///< device-buffer bytes for a line along y, and along x; used if no xy plane fits

  std::int64_t plane_y(std::int64_t of_piece) const { return std::max(of_piece * line, doubles); }
  /// Number of modes along x in a piece of a plane y, so small that few planes still give several batches.
  std::int64_t piece(std::int64_t buffer, bool splits) const {
    const std::int64_t some = parts(wide, parts(batches_of_sweep, places));
    return fft::even_pieces(
        wide, std::min(buffer / (splits ? std::max(line, column) : line), std::max(some, least_batch / line)));
  }
  std::int64_t most_y(std::int64_t of_piece) const { return most(places, plane_y(of_piece)); }
  std::int64_t most_z() const { return most(planes, plane_z); }
  std::int64_t least() const {
    constexpr std::int64_t few = fft::BatchWork::together;
    const std::int64_t x = std::min(few, wide), y = std::min(few, high);
    return whole_words(std::max(plane_y(x), std::min(plane_z, std::max(x * column, y * row))));
  }
  std::int64_t wanted() const {
    const std::int64_t of_piece = piece(wide * line, false);
    return whole_words(std::max(most_y(of_piece) * plane_y(of_piece), most_z() * plane_z));
  }

 private:
  static std::int64_t most(std::int64_t all, std::int64_t bytes) {
    return std::clamp<std::int64_t>(std::max(parts(all, batches_of_sweep), least_batch / bytes), 1, all);
  }
};

/// Bytes of device memory that batches need with a buffer of `buffer` bytes, with space for messages.
std::int64_t needed(const Machine& machine, const Shares& of, const Options& options, std::int64_t buffer) {
  std::int64_t bytes = shares(of.devices()) * buffer;
  if (of.devices() == 1) return bytes;
  const FlowCuts cuts(of, options, buffer);
  for (const BatchCut* move : {&cuts.of_y, &cuts.of_z})
    bytes += BatchMoves::message_bytes(machine, *move, options.exchange);
  return bytes;
}

}  // namespace

int fields_there(const Options& o) { return 5 + 2 * scalars_of(o); }
int fields_of_cells(const Options& o) { return 6 + 3 * scalars_of(o); }
std::int64_t doubles_of_plane(const Options& o) { return std::max(line_sums * Sizes(o).wide, most_shells(o)); }

Sizes::Sizes(const Options& o)
    : nx(o.cells[0]),
      ny(o.cells[1]),
      nz(o.cells[2]),
      mx(nx / 2 + 1),
      wide(highest_mode(o, 0) + 1),
      highest_y(highest_mode(o, 1)) {}

Shares::Shares(const Machine& machine, const Options& options) {
  const Sizes s(options);
  const fft::Decomposition cut(machine, options.cells, transform_options(options));
  const auto devices = static_cast<std::size_t>(cut.devices);
  y.resize(devices);
  places.resize(devices);
  z.resize(devices);
  for (const Block& block : cut.blocks(fft::Stage::spectral)) {
    const std::int64_t lo = block.box.lo[2], hi = block.box.hi[2], first = s.kept_below(lo);
    y[static_cast<std::size_t>(block.device)] = {lo, hi - lo};
    places[static_cast<std::size_t>(block.device)] = {first, s.kept_below(hi) - first};
    most_places = std::max(most_places, s.kept_below(hi) - first);
  }
  for (const Block& block : cut.blocks(fft::Stage::physical, true)) {
    z[static_cast<std::size_t>(block.device)] = {block.box.lo[2], block.box.extent(2)};
    most_z = std::max(most_z, block.box.extent(2));
  }
}

FlowCuts::FlowCuts(const Shares& of, const Options& o, std::int64_t buffer) {
  const Sizes s(o);
  const Needs needs(of, o);
  splits = needs.plane_z > buffer;
  wide = needs.piece(buffer, splits);
  rows = fft::even_pieces(s.ny, buffer / needs.row);
  deep = splits ? 1 : std::clamp<std::int64_t>(buffer / needs.plane_z, 1, needs.most_z());
  const std::int64_t thick = std::clamp<std::int64_t>(buffer / needs.plane_y(wide), 1, needs.most_y(wide));
  std::size_t most = 0;
  for (const Range& places : of.places) {
    std::vector<Range>& all = slabs.emplace_back();
    const std::int64_t end = places.first + places.number;
    // Planes with negative k_y begin a separate batch, because truncated planes lie between them and the others.
    for (std::int64_t first = places.first; first < end;) {
      const std::int64_t behind = first <= s.highest_y ? std::min(s.highest_y + 1, end) : end;
      all.push_back({first, std::min(thick, behind - first)});
      first += all.back().number;
    }
    most = std::max(most, all.size());
  }
  for (std::vector<Range>& all : slabs) all.resize(most);
  const DType type = o.type == DType::f64 ? DType::c128 : DType::c64;
  of_y = {fields_there(o), false, {}, {}, fft::widths(s.wide, wide), type};
  of_z = {components_of(o), true, {}, {}, fft::widths(s.wide, splits ? wide : s.wide), type};
  for (const Range& z : of.z) of_y.parts.push_back(z.number);
  for (const Range& places : of.places) of_z.parts.push_back(places.number);
  for (std::size_t n = 0; n < most; ++n) {
    of_y.planes.emplace_back();
    for (const std::vector<Range>& all : slabs) of_y.planes.back().push_back(all[n].number);
  }
  for (std::int64_t first = 0; first < of.most_z; first += deep) {
    of_z.planes.emplace_back();
    for (const Range& z : of.z) of_z.planes.back().push_back(std::clamp<std::int64_t>(z.number - first, 0, deep));
  }
  count_y = static_cast<std::int64_t>(of_y.planes.size() * of_y.rows.size());
  count_z = static_cast<std::int64_t>(of_z.planes.size() * of_z.rows.size());
}

std::int64_t buffer_of(const Machine& machine, const Shares& of, const Options& options, std::int64_t budget) {
  const Needs needs(of, options);
  const std::int64_t least = needs.least();
  std::int64_t buffer = std::max(std::min(budget / shares(of.devices()) / 256 * 256, needs.wanted()), least);
  // Larger buffers make larger batches and messages, so buffers shrink until both fit into the device memory.
  while (buffer > least && needed(machine, of, options, buffer) > budget)
    buffer = std::max(least, buffer / 8 * 7 / 256 * 256);
  return buffer;
}

std::int64_t taken_budget(const Machine& machine, const Options& options, std::int64_t budget) {
  const Shares of(machine, options);
  return needed(machine, of, options, buffer_of(machine, of, options, budget));
}

std::int64_t least_budget(const Machine& machine, const Options& options) {
  const Shares of(machine, options);
  return needed(machine, of, options, Needs(of, options).least());
}

BatchPlan planned_batches(const Machine& machine, const Options& options, std::int64_t budget) {
  const Shares of(machine, options);
  const Sizes s(options);
  BatchPlan plan;
  plan.buffer = buffer_of(machine, of, options, budget);
  const FlowCuts cuts(of, options, plan.buffer);
  plan.modes = cuts.wide;
  plan.planes_y = cuts.count_y;
  plan.planes_z = cuts.count_z;
  plan.sweeps = cuts.splits ? 4 : 2;
  // Mean number of fields copied to the device per Runge-Kutta stage: u x w, its factors, u or the stages' sum or both.
  plan.fields = components_of(options) * (options.scheme == Scheme::rk2 ? 2 : 2.5) + fields_there(options);
  plan.fields += keeps_next(options) ? 2.25 : 0;
  // Planes of constant z that exceed a buffer take three passes. Between these, arrays hold all y, not kept modes only.
  if (cuts.splits)
    plan.fields +=
        (fields_of_cells(options) + components_of(options)) * static_cast<double>(s.ny) / static_cast<double>(s.high());
  return plan;
}

std::vector<fft::AlikeMessages> messages_of_stage(const Machine& machine, const Options& options, std::int64_t budget) {
  const Shares of(machine, options);
  const FlowCuts cuts(of, options, buffer_of(machine, of, options, budget));
  std::vector<fft::AlikeMessages> all;
  for (const BatchCut* cut : {&cuts.of_y, &cuts.of_z}) {
    const std::vector<fft::AlikeMessages> some = BatchMoves::messages(machine, *cut, options.exchange);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<std::int64_t> bytes_between_sweeps(const Machine& machine, const Options& options, std::int64_t budget) {
  const Sizes s(options);
  const Shares of(machine, options);
  const FlowCuts cuts(of, options, buffer_of(machine, of, options, budget));
  const std::int64_t value = 2 * static_cast<std::int64_t>(size_of(options.type)), there = fields_there(options),
                     back = components_of(options),
                     of_plane = cuts.splits ? fields_of_cells(options) * s.wide * s.ny : 0;
  std::vector<std::int64_t> bytes;
  for (std::size_t d = 0; d < of.z.size(); ++d) {
    const std::int64_t lines = (of.devices() == 1 ? there : back) * s.of_y() * of.places[d].number;
    const std::int64_t planes = of.devices() == 1 ? 0 : there * s.between() * of.z[d].number;
    bytes.push_back((lines + planes + of_plane * of.z[d].number) * value);
  }
  return bytes;
}

}  // namespace slipstream::dns
