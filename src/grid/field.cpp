#include <slipstream/field.hpp>

#include <algorithm>
#include <cstring>

#include "device/names.hpp"

namespace slipstream {

std::size_t size_of(DType type) {
  constexpr std::size_t bytes[] = {1, 4, 8, 4, 8, 2, 8, 16};  // bytes per value, in the order of DType
  static_assert(std::size(bytes) == static_cast<std::size_t>(DType::c128) + 1);
  return bytes[static_cast<std::size_t>(type)];
}

bool is_complex(DType type) { return type == DType::c64 || type == DType::c128; }

namespace {

constexpr std::pair<const char*, DType> dtype_names[] = {{"u8", DType::u8},   {"i32", DType::i32},  {"i64", DType::i64},
                                                         {"f16", DType::f16}, {"f32", DType::f32},  {"f64", DType::f64},
                                                         {"c64", DType::c64}, {"c128", DType::c128}};
constexpr std::pair<const char*, Layout> layout_names[] = {
    {"soa", Layout::soa}, {"aos", Layout::aos}, {"soa_z", Layout::soa_z}};

}  // namespace

std::string to_string(DType type) { return name_in(dtype_names, type); }
DType dtype_from_string(const std::string& text) {
  return value_in(dtype_names, text, "no number format is named", "type");
}
std::string to_string(Layout layout) { return name_in(layout_names, layout); }
Layout layout_from_string(const std::string& name) {
  return value_in(layout_names, name, "no layout is named", "layout");
}

Layout suited_layout(const Grid& grid) {
  constexpr std::int64_t long_row = 32;  // length in cells from which a row fills a warp's threads
  const bool gpu = grid.machine().device(0).local.backend == Backend::cuda;
  const bool suits = gpu && grid.extent()[2] >= long_row && grid.cuts_devices(0) && !grid.cuts_blocks(2);
  return suits ? Layout::soa_z : Layout::soa;
}

BlockShape block_shape(const Extent& extent, const FieldOptions& options) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(options.type));
  const std::int64_t unit = std::max<std::int64_t>(options.alignment, size);  // alignment of rows in bytes
  require(unit % size == 0, "the alignment of field " + options.name + " is " + std::to_string(options.alignment) +
                                " bytes, which is no multiple of its values' " + std::to_string(size));
  const std::int64_t step = unit / size;  // alignment of rows in elements
  const auto round_up = [&](std::int64_t n) { return (n + step - 1) / step * step; };
  const bool apart = options.layout != Layout::aos;
  const std::int64_t per_cell = apart ? 1 : options.components;

  BlockShape shape;
  shape.extent = extent;
  shape.ghost = options.ghost;
  shape.row_axis = row_axis(options.layout);
  const Extent cells = by_rows(options.layout, extent), ghost = by_rows(options.layout, options.ghost),
               padding = by_rows(options.layout, options.padding);
  const std::int64_t wide = cells[0] + 2 * ghost[0], high = cells[1] + 2 * ghost[1], deep = cells[2] + 2 * ghost[2];
  // The left ghosts of a row are stored in the padding at the end of the row before it.
  const std::int64_t row = round_up((wide + padding[0]) * per_cell), front = round_up(ghost[0] * per_cell),
                     plane = row * (high + padding[1]), all = std::max(plane * (deep + padding[2]), options.apart);
  const Extent stride = by_rows(options.layout, {per_cell, row, plane});
  std::copy(stride.begin(), stride.end(), shape.stride);
  shape.component_stride = apart ? all : 1;
  shape.origin = front + ghost[1] * row + ghost[2] * plane;
  shape.elements = front + all * (apart ? options.components : 1);
  return shape;
}

BlockShape block_shape(const Grid& grid, std::int64_t block, const FieldOptions& options) {
  const Extent extent = grid.block(block).box.extents();
  const std::int64_t values = options.packed ? options.packed->at(block) : -1;
  if (values < 0) return block_shape(extent, options);
  BlockShape shape;
  shape.extent = extent;
  const bool apart = options.layout != Layout::aos;
  shape.stride[0] = apart ? 1 : options.components;
  shape.component_stride = apart ? values : 1;
  shape.elements = values * options.components;
  return shape;
}

std::int64_t Field::bytes_needed(const Extent& extent, const FieldOptions& options) {
  return block_shape(extent, options).elements * static_cast<std::int64_t>(size_of(options.type)) * options.copies;
}

Field::Field(const Grid& grid, FieldOptions options, WithoutArrays) : grid_(&grid), options_(std::move(options)) {
  require(options_.components >= 1 && options_.copies >= 1,
          "field " + options_.name + " needs at least one component and one copy");
  for (const std::int64_t id : grid.local()) {
    const Block& block = grid.block(id);
    storage_.push_back({id, grid.machine().device(block.device).local, block_shape(grid, id, options_), {}, {}});
  }
}

Field::Field(const Grid& grid, FieldOptions options) : Field(grid, std::move(options), WithoutArrays{}) {
  if (!options_.later) make_arrays();
}

void Field::drop_arrays() {
  require(!options_.adopted, ErrorCode::unsupported,
          "the arrays of field " + options_.name + " are the caller's: it cannot drop them");
  for (Storage& storage : storage_) {
    if (!storage.arrays.empty()) ++generation_;
    storage.arrays.clear();
    storage.owned.clear();
  }
}

void Field::make_arrays() {
  std::vector<Stream> streams;  // one stream per device: each host device has its own thread
  const auto stream_of = [&](Device device) -> Stream& {
    const auto found = std::find_if(streams.begin(), streams.end(), [&](Stream& s) { return s.device() == device; });
    return found == streams.end() ? streams.emplace_back(device) : *found;
  };
  for (Storage& storage : storage_) {
    if (!storage.arrays.empty()) continue;
    ++generation_;
    const auto bytes = storage.shape.elements * size_of(options_.type);
    Stream& stream = stream_of(storage.device);
    for (int c = 0; c < options_.copies; ++c) {
      const Memory memory = options_.pinned ? Memory::pinned : options_.shared ? Memory::shared : Memory::device;
      storage.owned.push_back(std::make_shared<Buffer<std::byte>>(storage.device, bytes, memory));
      storage.arrays.push_back(storage.owned.back()->data());
      if (bytes > 0 && options_.pinned) std::memset(storage.arrays.back(), 0, bytes);
      if (bytes > 0 && !options_.pinned) fill(stream, storage.arrays.back(), 0, bytes);
    }
    stream.synchronize();
  }
}

const Field::Storage& Field::storage(std::int64_t block) const {
  const auto found =
      std::lower_bound(storage_.begin(), storage_.end(), block, [](const auto& s, auto id) { return s.block < id; });
  require(found != storage_.end() && found->block == block, ErrorCode::not_found,
          "field " + options_.name + " holds no block " + std::to_string(block) + " on this rank");
  return *found;
}

const BlockShape& Field::shape(std::int64_t block) const { return storage(block).shape; }
Device Field::device(std::int64_t block) const { return storage(block).device; }
std::byte* Field::array(std::int64_t block, int array) const {
  const Storage& s = storage(block);
  require(!s.arrays.empty(), ErrorCode::wrong_state,
          "field " + options_.name + " has no arrays yet: make_arrays() makes them");
  return s.arrays.at(array);
}
std::shared_ptr<const void> Field::owner(std::int64_t block, int array) const {
  const Storage& s = storage(block);
  return s.owned.empty() ? nullptr : s.owned.at(static_cast<std::size_t>(array));
}
void Field::require_boxes() const {
  for (const Storage& s : storage_)
    require(!options_.packed || options_.packed->at(s.block) < 0, ErrorCode::unsupported,
            "field " + options_.name + " does not store block " + std::to_string(s.block) +
                " as a box: it cannot be read or written by cells");
}
std::byte* Field::data(std::int64_t block, int copy) const { return array(block, physical(copy)); }

std::int64_t Field::bytes_on(Device device) const {
  std::int64_t bytes = 0;
  for (const auto& storage : storage_)
    if (storage.device == device)
      for (const auto& array : storage.owned) bytes += static_cast<std::int64_t>(array->bytes());
  return bytes;
}

namespace {

/// Calls f(offset in the region's dense rows, offset in the caller's [z][y][x][component] array) for each value;
/// offsets are in bytes.
template <class F>
void for_each_value(const Box& region, const Box& box, const FieldOptions& options, F f) {
  const bool apart = options.layout != Layout::aos;
  const std::size_t size = size_of(options.type), components = options.components;
  const std::size_t cells = region.volume();
  const Extent lo = by_rows(options.layout, region.lo), hi = by_rows(options.layout, region.hi),
               step = by_rows(options.layout, {1, box.extent(0), box.extent(0) * box.extent(1)}),
               corner = by_rows(options.layout, box.lo);
  std::size_t cell = 0;
  for (std::int64_t k = lo[2]; k < hi[2]; ++k)
    for (std::int64_t j = lo[1]; j < hi[1]; ++j)
      for (std::int64_t i = lo[0]; i < hi[0]; ++i, ++cell) {
        const std::size_t at = (k - corner[2]) * step[2] + (j - corner[1]) * step[1] + (i - corner[0]) * step[0];
        for (std::size_t c = 0; c < components; ++c)
          f((apart ? c * cells + cell : cell * components + c) * size, (at * components + c) * size);
      }
}

/// Calls moved(region, host, move) for each part of the box in a block of this rank. `host` is pinned memory for the
/// region. It holds contiguous rows in the field's layout: components outermost, or innermost (aos). The function
/// move(in) copies the values between the block and this memory, and waits.
template <class Moved>
void each_region(const Field& field, const Box& box, int copy, const Extent& ghosts, const Moved& moved) {
  const FieldOptions& options = field.options();
  const std::size_t size = size_of(options.type);
  const bool apart = options.layout != Layout::aos;
  const int passes = apart ? options.components : 1;
  for (const std::int64_t id : field.grid().local()) {
    const Box& own = field.grid().block(id).box;
    const Box region = intersection(grown(own, ghosts), box);
    if (region.empty()) continue;
    const BlockShape& shape = field.shape(id);
    Extent rows = by_rows(options.layout, region.extents());
    rows[0] *= static_cast<std::int64_t>(size) * (apart ? 1 : options.components);
    const std::size_t row = rows[0], plane = rows[0] * rows[1], pass = volume(rows);
    Buffer<std::byte> host(field.device(id), pass * passes, Memory::pinned);
    std::int64_t offset = shape.origin;
    for (int a = 0; a < 3; ++a) offset += (region.lo[a] - own.lo[a]) * shape.stride[a];
    const Pitch pitch{shape.stride[1] * size, shape.stride[2 - shape.row_axis] * size};
    moved(region, host.data(), [&](bool in) {
      Stream stream(field.device(id));
      for (int c = 0; c < passes; ++c) {
        std::byte* const there = field.data(id, copy) + (offset + c * shape.component_stride) * size;
        std::byte* const here = host.data() + c * pass;
        in ? copy_box(stream, there, pitch, here, {row, plane}, rows)
           : copy_box(stream, here, {row, plane}, there, pitch, rows);
      }
      stream.synchronize();
    });
  }
}

}  // namespace

void Field::read(const Box& box, void* to, int copy) const {
  require_boxes();
  const std::size_t size = size_of(options_.type);
  each_region(*this, box, copy, {0, 0, 0}, [&](const Box& region, const std::byte* host, const auto& move) {
    move(false);
    for_each_value(region, box, options_, [&](std::size_t from, std::size_t at) {
      std::memcpy(static_cast<std::byte*>(to) + at, host + from, size);
    });
  });
}

void Field::write(const Box& box, const void* from, int copy, bool ghosts) {
  require_boxes();
  const std::size_t size = size_of(options_.type);
  each_region(*this, box, copy, ghosts ? options_.ghost : Extent{},
              [&](const Box& region, std::byte* host, const auto& move) {
                for_each_value(region, box, options_, [&](std::size_t to, std::size_t at) {
                  std::memcpy(host + to, static_cast<const std::byte*>(from) + at, size);
                });
                move(true);
              });
}

}  // namespace slipstream
