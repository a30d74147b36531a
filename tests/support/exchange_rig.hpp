#pragma once
// Test fixture for exchanges: a machine with a stream per device, and fields as host arrays.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>

#include "machine/gpu_mpi.hpp"
#include "machine_rig.hpp"

namespace slipstream {

/// A set of routes under test and a number of devices per rank.
struct Way {
  std::string name;
  std::vector<RouteKind> routes;
  int devices = 1;
  int ranks_per_node = 0;
  Grouping grouping = Grouping::devices;
};

/// Lists sets of exchange routes to test, with 1 or 2 devices per rank. A set has one route and `kernel` (copies within
/// a device), or all routes of this build. In two sets `staged` sends one message per pair of nodes.
inline std::vector<Way> all_ways() {
  using R = RouteKind;
  std::vector<Way> ways{{"staged_alone", {R::staged}, 1}};
  for (const int devices : {1, 2}) {
    const std::string suffix = "_by_" + std::to_string(devices);
    for (const R kind : all_routes()) {
      if (kind == R::kernel || kind == R::peer) continue;
      std::vector<R> routes{R::kernel, kind};
      if (kind == R::colocated) routes.insert(routes.begin() + 1, R::peer);
      ways.push_back({to_string(kind) + suffix, routes, devices});
    }
    ways.push_back({"rules" + suffix, all_routes(), devices});
    ways.push_back({"staged_for_nodes" + suffix, {R::kernel, R::staged}, devices, 2, Grouping::nodes});
  }
  return ways;
}

/// Lists the routes between host devices of one process, each for 1, 2, 3, 4, 5 and 8 devices in a process.
inline std::vector<Way> ways_of_some_devices() {
  using R = RouteKind;
  std::vector<Way> ways;
  for (const int devices : {1, 2, 3, 4, 5, 8})
    for (const R kind : {R::direct, R::peer, R::staged})
      ways.push_back({to_string(kind) + "_by_" + std::to_string(devices), {R::kernel, kind}, devices});
  return ways;
}

/// Name of a test: its backend, its routes and devices (an index in all_ways()), and its case, if there is one.
inline std::string name_of(Backend backend, std::size_t way, const std::string& of_case = {}) {
  return to_string(backend) + "_" + all_ways()[way].name + (of_case.empty() ? "" : "_" + of_case);
}

/// Says why the backend cannot use these routes on this machine; empty if it can.
inline std::string unavailable(Backend backend, const Way& way) {
  if (way.ranks_per_node && Communicator::world().size() % way.ranks_per_node)
    return "needs ranks in groups of " + std::to_string(way.ranks_per_node);
  return unavailable(backend, way.devices);
}

inline Machine machine_here(Backend backend, const Way& way) {
  return machine_here(backend, way.devices, way.ranks_per_node);
}

/// Makes one stream per device of this rank.
inline std::vector<Stream> streams_of(const Grid& grid) {
  std::vector<Stream> streams;
  for (const int d : grid.machine().devices_of_rank(grid.rank())) streams.emplace_back(grid.machine().device(d).local);
  return streams;
}

inline void finish(std::vector<Stream>& streams) {
  for (Stream& stream : streams) stream.synchronize();
}

/// Makes one exchange: run() in odd rounds, begin() and end() in even ones.
inline void exchange_once(Exchange& exchange, std::vector<Stream>& streams, int round) {
  if (round % 2) {
    exchange.run(streams);
  } else {
    exchange.begin(streams);
    exchange.end(streams);
  }
  finish(streams);
  exchange.check();
}

/// Says why none of these routes can serve the exchange; empty if each message has a route. The same on all ranks.
inline std::string refusal_of(const Grid& grid, const std::vector<PlannedItem>& items, const ExchangeOptions& options) {
  try {
    for (const MessageInfo& message : plan_messages(grid, items, options))
      if (message.route == RouteKind::gpu_mpi)
        if (const auto why = gpu_mpi_claim(grid.machine().device(message.source).local.backend); !why.empty())
          return why;
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// The array of a block with ghosts and padding; T = std::byte for the bytes of any type.
template <class T>
std::vector<T> array_of(const Field& field, std::int64_t block, int copy_index = 0) {
  std::vector<T> values(static_cast<std::size_t>(field.shape(block).elements) * size_of(field.options().type) /
                        sizeof(T));
  Stream stream(field.device(block));
  copy(stream, values.data(), field.data(block, copy_index), values.size() * sizeof(T));
  stream.synchronize();
  return values;
}

template <class T>
void set_array(Field& field, std::int64_t block, const std::vector<T>& values) {
  Stream stream(field.device(block));
  copy(stream, field.data(block), values.data(), values.size() * sizeof(T));
  stream.synchronize();
}

inline std::int64_t element(const BlockShape& shape, int component, const Extent& p) {
  return shape.origin + component * shape.component_stride + p[0] * shape.stride[0] + p[1] * shape.stride[1] +
         p[2] * shape.stride[2];
}

/// All values of a block of this extent except padding: every component, including ghosts.
inline IndexSet everything(const Extent& extent, const FieldOptions& options) {
  IndexSet all{grown({{0, 0, 0}, extent}, options.ghost), {}, nullptr};
  for (int c = 0; c < options.components; ++c) all.components.push_back(c);
  return all;
}

/// Calls f(cell, component, element) for the cells of a box, component slowest, then z, y, x.
template <class F>
void each_in(const BlockShape& shape, const IndexSet& set, F f) {
  for (const int c : set.components)
    for (std::int64_t z = set.box.lo[2]; z < set.box.hi[2]; ++z)
      for (std::int64_t y = set.box.lo[1]; y < set.box.hi[1]; ++y)
        for (std::int64_t x = set.box.lo[0]; x < set.box.hi[0]; ++x)
          f(Extent{x, y, z}, c, element(shape, c, {x, y, z}));
}

/// Stores a small number as a value of any type.
inline void store(DType type, std::byte* array, std::int64_t at, std::int64_t value) {
  switch (type) {
    case DType::u8:
      reinterpret_cast<std::uint8_t*>(array)[at] = static_cast<std::uint8_t>(value);
      break;
    case DType::i32:
      reinterpret_cast<std::int32_t*>(array)[at] = static_cast<std::int32_t>(value);
      break;
    case DType::i64:
      reinterpret_cast<std::int64_t*>(array)[at] = value;
      break;
    case DType::f32:
      reinterpret_cast<float*>(array)[at] = static_cast<float>(value);
      break;
    case DType::f64:
      reinterpret_cast<double*>(array)[at] = static_cast<double>(value);
      break;
    case DType::f16:
      reinterpret_cast<Half*>(array)[at] = half_of(static_cast<float>(value));
      break;
    case DType::c64:
      reinterpret_cast<std::complex<float>*>(array)[at] = {static_cast<float>(value), static_cast<float>(-2 * value)};
      break;
    case DType::c128:
      reinterpret_cast<std::complex<double>*>(array)[at] = {static_cast<double>(value), static_cast<double>(3 * value)};
      break;
  }
}

/// A pseudo-random number (hash), the same on every rank.
inline std::uint64_t scrambled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ull + b * 0xbf58476d1ce4e5b9ull + c * 0x94d049bb133111ebull + 1;
  for (int i = 0; i < 3; ++i) {
    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93ull;
  }
  return x ^ (x >> 32);
}

/// Converts random bits to a number in [-1, 1) that uses all of them.
inline double fraction(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-52 - 1; }

/// Boxes that depend only on the number of cuts per axis, distributed round-robin over the devices of any machine.
inline std::vector<Block> dealt_blocks(const Extent& cells, const Extent& counts, int devices) {
  std::vector<Block> blocks;
  for (std::int64_t z = 0; z < counts[2]; ++z)
    for (std::int64_t y = 0; y < counts[1]; ++y)
      for (std::int64_t x = 0; x < counts[0]; ++x) {
        Block block;
        block.box = piece({{0, 0, 0}, cells}, counts, {x, y, z});
        block.device = static_cast<int>(blocks.size()) % devices;
        blocks.push_back(block);
      }
  return blocks;
}

/// A box cut into bricks of random sizes on random devices; some devices may have none.
inline std::vector<Block> random_blocks(const Extent& cells, int devices, std::mt19937& random) {
  const auto draw = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  std::array<std::vector<std::int64_t>, 3> cuts;
  for (std::size_t a = 0; a < 3; ++a) {
    cuts[a] = {0, cells[a]};
    for (std::int64_t more = draw(3); more > 1 && cells[a] > 1; --more) cuts[a].push_back(draw(cells[a] - 1));
    std::sort(cuts[a].begin(), cuts[a].end());
    cuts[a].erase(std::unique(cuts[a].begin(), cuts[a].end()), cuts[a].end());
  }
  std::vector<Block> blocks;
  for (std::size_t z = 1; z < cuts[2].size(); ++z)
    for (std::size_t y = 1; y < cuts[1].size(); ++y)
      for (std::size_t x = 1; x < cuts[0].size(); ++x) {
        Block block;
        block.box = {{cuts[0][x - 1], cuts[1][y - 1], cuts[2][z - 1]}, {cuts[0][x], cuts[1][y], cuts[2][z]}};
        block.device = static_cast<int>(draw(devices)) - 1;
        blocks.push_back(block);
      }
  return blocks;
}

}  // namespace slipstream
