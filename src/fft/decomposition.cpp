#include "fft/decomposition.hpp"

#include <algorithm>
#include <utility>

#include <slipstream/error.hpp>

namespace slipstream::fft {

Decomposition::Decomposition(const Machine& machine, const Extent& all, const FftOptions& options)
    : cells(all), highest(options.highest), devices(machine.devices()), transposed(options.transposed) {
  require(std::min({cells[0], cells[1], cells[2]}) >= 1,
          "a Fourier transform of " + to_string(cells) + " cells was asked for: each axis needs 1 or more",
          {{"option", "cells"}, {"given", to_string(cells)}});
  require(std::max({cells[0], cells[1], cells[2]}) < std::int64_t{1} << 30, ErrorCode::unsupported,
          "a Fourier transform of " + to_string(cells) + " cells was asked for: an axis has at most 2^30 - 1",
          {{"option", "cells"}, {"given", to_string(cells)}});
  const DType type = options.type;
  real = type == DType::f32 || type == DType::f64;
  twice = type == DType::f64 || type == DType::c128;
  require(real || is_complex(type), ErrorCode::unsupported,
          "values of " + to_string(type) + " have no Fourier transform here: choose f32, f64, c64 or c128",
          {{"option", "type"}, {"given", to_string(type)}});
  for (std::size_t a = 0; a < 3; ++a)
    require(highest[a] >= -1,
            "the highest mode of a Fourier transform along axis " + std::to_string(a) + " is " +
                std::to_string(highest[a]) + ": it is 0 or more, or -1 for all",
            {{"option", "highest"}, {"axis", a}, {"given", highest[a]}});
  require(options.parts >= 0,
          "a move of a Fourier transform was asked for in " + std::to_string(options.parts) +
              " parts: give 1 or more, or 0 for a number by size",
          {{"option", "parts"}, {"given", options.parts}});
  modes = cells;
  if (real) modes[0] = cells[0] / 2 + 1;
  choose(options.process_grid);
  lanes = options.overlap && !alone() ? 2 : 1;
}

const std::array<int, 3>& Decomposition::axes(Stage stage) {
  static constexpr std::array<int, 3> xyz{0, 1, 2}, yxz{1, 0, 2}, zxy{2, 0, 1};
  return stage == Stage::middle ? yxz : stage == Stage::spectral ? zxy : xyz;
}

Extent Decomposition::extent(Stage stage, bool of_cells) const {
  const Extent& all = of_cells ? cells : modes;
  Extent extent{};
  for (std::size_t a = 0; a < 3; ++a) extent[a] = all[static_cast<std::size_t>(axes(stage)[a])];
  return extent;
}

Block Decomposition::block_of(int device, Stage stage, bool of_cells) const {
  Block block;
  block.box = piece({{0, 0, 0}, extent(stage, of_cells)}, {1, process[0], process[1]},
                    {0, device % process[0], device / process[0]});
  block.device = device;
  return block;
}

std::vector<Block> Decomposition::blocks(Stage stage, bool of_cells) const {
  std::vector<Block> found;
  for (int device = 0; device < devices; ++device)
    if (Block block = block_of(device, stage, of_cells); !block.box.empty()) found.push_back(block);
  return found;
}

std::int64_t Decomposition::volume_on(int device, Stage stage, bool of_cells) const {
  const Box box = block_of(device, stage, of_cells).box;
  return box.empty() ? 0 : box.volume();
}

/// Largest block of all stages on any device, divided by the mean.
double Decomposition::largest_share(std::array<int, 2> grid) const {
  const auto longest = [](std::int64_t cells, int parts) { return (cells + parts - 1) / parts; };
  double share = 0;
  for (const Stage stage : {Stage::physical, Stage::middle, Stage::spectral}) {
    if (stage == Stage::middle && grid[0] == 1) continue;
    const Extent all = extent(stage);
    const std::int64_t most = all[0] * longest(all[1], grid[0]) * longest(all[2], grid[1]);
    share = std::max(share, static_cast<double>(most) * devices / static_cast<double>(volume(all)));
  }
  return share;
}

void Decomposition::choose(std::array<int, 2> wanted) {
  if (wanted != std::array{0, 0}) {
    require(wanted[0] >= 1 && wanted[1] >= 1 && wanted[0] * wanted[1] == devices,
            "the process grid " + std::to_string(wanted[0]) + " x " + std::to_string(wanted[1]) +
                " of a Fourier transform does not have as many places as there are devices, " +
                std::to_string(devices) + ": give two numbers whose product that is, or none",
            {{"option", "process_grid"},
             {"given", std::to_string(wanted[0]) + " x " + std::to_string(wanted[1])},
             {"needed", devices}});
    process = wanted;
    return;
  }
  process = {1, devices};
  if (devices <= std::min(cells[1], cells[2])) return;
  for (int first = 2; first <= devices; ++first)
    if (devices % first == 0 && largest_share({first, devices / first}) < largest_share(process))
      process = {first, devices / first};
}

std::vector<std::array<int, 2>> Decomposition::candidates() const {
  std::vector<std::array<int, 2>> all;
  for (int first = 1; first <= devices; ++first)
    if (devices % first == 0) all.push_back({first, devices / first});
  double least = largest_share(all[0]);
  for (const auto& grid : all) least = std::min(least, largest_share(grid));
  std::erase_if(all, [&](const auto& grid) { return largest_share(grid) > 1.5 * least; });
  return all;
}

std::vector<Stage> Decomposition::path() const {
  if (alone()) return {};
  std::vector<Stage> stages;
  if (pencils()) stages.push_back(Stage::middle);
  stages.push_back(Stage::spectral);
  if (!transposed) stages.push_back(Stage::natural);
  return stages;
}

std::array<std::vector<Transpose::Range>, 3> Decomposition::kept(Stage stage) const {
  std::array<std::vector<Transpose::Range>, 3> ranges;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto axis = static_cast<std::size_t>(axes(stage)[a]);
    const bool transformed =
        axis == 0 || stage == Stage::spectral || (axis == 1 && (stage == Stage::middle || !pencils()));
    const std::int64_t n = modes[axis], most = highest[axis];
    if (!transformed || most < 0) continue;
    if (axis == 0 && real) {
      if (most + 1 < n) ranges[a] = {{0, most + 1}};
    } else if (2 * most + 1 < n) {
      ranges[a] = {{0, most + 1}};
      if (most > 0) ranges[a].emplace_back(n - most, n);
    }
  }
  return ranges;
}

bool Decomposition::truncates(Stage stage) const {
  const auto ranges = kept(stage);
  return std::any_of(ranges.begin(), ranges.end(), [](const auto& along) { return !along.empty(); });
}

std::array<std::int64_t, 2> Decomposition::work_bytes(int device) const {
  std::array<std::int64_t, 2> bytes{2 * word() * volume_on(device, Stage::physical), 0};
  std::size_t at = 0;
  for (const Stage stage : path()) {
    at = 1 - at;
    bytes[at] = std::max(bytes[at], 2 * word() * volume_on(device, stage));
  }
  // The backward move of a slab carries real values in the layout of physical space.
  if (real && !alone() && !pencils()) bytes[1] = std::max(bytes[1], bytes[0]);
  return bytes;
}

LineBatch Decomposition::complex(bool forward) const {
  LineBatch batch;
  batch.kind = forward ? Kind::forward : Kind::backward;
  batch.twice = twice;
  return batch;
}

LineBatch Decomposition::first(const Extent& block, bool forward) const {
  LineBatch batch = complex(forward);
  if (real) batch.kind = forward ? Kind::real_to_complex : Kind::complex_to_real;
  const std::int64_t nx = cells[0], mx = modes[0], ny = block[1];
  if (pencils()) {
    batch.sizes = {nx};
    batch.rows = ny;
    batch.count = ny * block[2];
    batch.from = {0, 1, nx};
    batch.to = {0, 1, mx};
  } else {
    batch.sizes = {ny, nx};
    batch.count = block[2];
    batch.from = {nx, 1, nx * ny};
    batch.to = {mx, 1, mx * ny};
  }
  if (!forward) std::swap(batch.from, batch.to);
  return batch;
}

LineBatch Decomposition::last(const Extent& block, bool forward) const {
  LineBatch batch = complex(forward);
  batch.sizes = {block[0]};
  batch.rows = block[1];
  batch.count = block[1] * block[2];
  batch.from = batch.to = {0, 1, block[0]};
  return batch;
}

LineBatch Decomposition::in_place(const Extent& block, bool forward) const {
  LineBatch batch = last(block, forward);
  batch.in_place = true;
  return batch;
}

LineBatch Decomposition::first_two(const Extent& block) const {
  LineBatch batch = complex(false);
  batch.sizes = {block[1], block[0]};
  batch.count = block[2];
  batch.from = batch.to = {block[0], 1, block[0] * block[1]};
  return batch;
}

LineBatch Decomposition::permuted(const Extent& block) const {
  LineBatch batch = last(block, false);
  batch.permuted = true;
  batch.highest = highest[1];
  // After the transform along x the values are complex but no longer indexed by modes along x.
  if (real && highest[0] >= 0) batch.read = std::min(highest[0] + 1, block[1]);
  return batch;
}

LineBatch Decomposition::back_along_x(const Extent& block) const {
  LineBatch batch = complex(false);
  batch.kind = Kind::complex_to_real;
  batch.sizes = {cells[0]};
  batch.rows = block[1];
  batch.count = block[1] * block[2];
  batch.from = {0, 1, modes[0]};
  batch.to = {0, 1, cells[0]};
  return batch;
}

LineBatch Decomposition::alone_permuted() const {
  LineBatch batch = alone_along_z(false);
  batch.rows = batch.count;
  batch.permuted = true;
  return batch;
}

LineBatch Decomposition::alone_along_z(bool forward) const {
  LineBatch batch = complex(forward);
  const std::int64_t lines = modes[0] * modes[1];
  batch.sizes = {cells[2]};
  batch.count = lines;
  const Side across{0, lines, 1}, along{0, 1, cells[2]};
  batch.from = batch.to = across;
  if (transposed) (forward ? batch.to : batch.from) = along;
  return batch;
}

}  // namespace slipstream::fft
