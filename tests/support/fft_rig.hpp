#pragma once
// Test fixture for Fourier transforms: a whole grid on the host, and transforms by direct sums.
#include <cmath>
#include <numbers>
#include <optional>
#include <span>

#include <slipstream/fft.hpp>

#include "support/exchange_rig.hpp"

namespace slipstream {

using Complex = std::complex<double>;

/// Complex values of a whole grid, [z][y][x].
struct Whole {
  Extent extent{};
  std::vector<Complex> values;

  explicit Whole(const Extent& e) : extent(e), values(static_cast<std::size_t>(volume(e))) {}
  Complex& at(const Extent& p) { return values[index(p)]; }
  const Complex& at(const Extent& p) const { return values[index(p)]; }
  std::size_t index(const Extent& p) const {
    return static_cast<std::size_t>((p[2] * extent[1] + p[1]) * extent[0] + p[0]);
  }
};

template <class F>
inline void each_cell(const Box& box, const F& f) {
  for (std::int64_t z = box.lo[2]; z < box.hi[2]; ++z)
    for (std::int64_t y = box.lo[1]; y < box.hi[1]; ++y)
      for (std::int64_t x = box.lo[0]; x < box.hi[0]; ++x) f(Extent{x, y, z});
}

inline bool is_real(DType type) { return type == DType::f32 || type == DType::f64; }
inline bool is_twice(DType type) { return type == DType::f64 || type == DType::c128; }

inline Whole random_values(const Extent& cells, DType type, std::uint64_t seed = 0) {
  Whole u(cells);
  each_cell({{0, 0, 0}, cells}, [&](const Extent& p) {
    const std::uint64_t cell = u.index(p);
    u.at(p) = {fraction(scrambled(cell, 1, seed)), is_real(type) ? 0 : fraction(scrambled(cell, 2, seed))};
    if (!is_twice(type)) u.at(p) = std::complex<float>(u.at(p));
  });
  return u;
}

/// Transforms by the definition: direct sums along one axis after the other.
inline Whole by_sums(const Whole& u) {
  Whole v = u;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t n = u.extent[axis];
    const Whole before = v;
    each_cell({{0, 0, 0}, u.extent}, [&](const Extent& k) {
      Complex sum = 0;
      Extent j = k;
      for (j[axis] = 0; j[axis] < n; ++j[axis])
        sum += before.at(j) * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k[axis] * j[axis] % n) /
                                                  static_cast<double>(n));
      v.at(k) = sum;
    });
  }
  return v;
}

/// Bound of a transform's rounding error: a few units of the format, times the size of the largest mode.
inline double tolerance(const Extent& cells, DType type) {
  const double unit = is_twice(type) ? 0x1p-52 : 0x1p-23;
  return 8 * unit * std::sqrt(static_cast<double>(volume(cells))) * 8;
}

/// Reads a value of any type that has a transform.
inline Complex get(DType type, const std::byte* array, std::int64_t at) {
  switch (type) {
    case DType::f32:
      return reinterpret_cast<const float*>(array)[at];
    case DType::f64:
      return reinterpret_cast<const double*>(array)[at];
    case DType::c64:
      return reinterpret_cast<const std::complex<float>*>(array)[at];
    default:
      return reinterpret_cast<const Complex*>(array)[at];
  }
}

inline void put(DType type, std::byte* array, std::int64_t at, const Complex& value) {
  if (type == DType::f32) reinterpret_cast<float*>(array)[at] = static_cast<float>(value.real());
  if (type == DType::f64) reinterpret_cast<double*>(array)[at] = value.real();
  if (type == DType::c64) reinterpret_cast<std::complex<float>*>(array)[at] = std::complex<float>(value);
  if (type == DType::c128) reinterpret_cast<Complex*>(array)[at] = value;
}

/// Copies values of a whole grid to one component of a field. `axes`: the grid's axis along each axis of the field.
inline void set(Field& field, int component, const Whole& whole, const std::array<int, 3>& axes = {0, 1, 2}) {
  for (const std::int64_t id : field.grid().local()) {
    auto bytes = array_of<std::byte>(field, id);
    const Box& box = field.grid().block(id).box;
    each_cell(box, [&](const Extent& q) {
      Extent p{};
      for (std::size_t a = 0; a < 3; ++a) p[static_cast<std::size_t>(axes[a])] = q[a];
      const Extent local{q[0] - box.lo[0], q[1] - box.lo[1], q[2] - box.lo[2]};
      put(field.options().type, bytes.data(), element(field.shape(id), component, local), whole.at(p));
    });
    set_array(field, id, bytes);
  }
}

/// Largest difference of a field's component on this rank from the array `whole`; `axes`: its axis for each field axis.
inline double difference(const Field& field, int component, const Whole& whole,
                         const std::array<int, 3>& axes = {0, 1, 2}) {
  double most = 0;
  for (const std::int64_t id : field.grid().local()) {
    const auto bytes = array_of<std::byte>(field, id);
    const Box& box = field.grid().block(id).box;
    each_cell(box, [&](const Extent& q) {
      Extent p{};
      for (std::size_t a = 0; a < 3; ++a) p[static_cast<std::size_t>(axes[a])] = q[a];
      const Extent local{q[0] - box.lo[0], q[1] - box.lo[1], q[2] - box.lo[2]};
      const Complex found = get(field.options().type, bytes.data(), element(field.shape(id), component, local));
      const double off = std::abs(found - whole.at(p));
      most = off <= most ? most : off;  // this comparison keeps a NaN as the maximum
      if (std::isnan(off)) most = off;
    });
  }
  return most;
}

/// Whether a mode is in use: |k_a| <= highest[a] along each axis.
inline bool used(const Extent& mode, const Extent& cells, const Extent& highest) {
  for (std::size_t a = 0; a < 3; ++a)
    if (highest[a] >= 0 && std::min(mode[a], cells[a] - mode[a]) > highest[a]) return false;
  return true;
}

/// Sets unused modes to zero, as the caller must before a backward transform.
inline void clear_unused(Field& v, const Extent& cells, const Extent& highest, const std::array<int, 3>& axes) {
  for (const std::int64_t id : v.grid().local()) {
    auto bytes = array_of<std::byte>(v, id);
    const Box& box = v.grid().block(id).box;
    each_cell(box, [&](const Extent& q) {
      Extent k{};
      for (std::size_t a = 0; a < 3; ++a) k[static_cast<std::size_t>(axes[a])] = q[a];
      if (used(k, cells, highest)) return;
      const Extent local{q[0] - box.lo[0], q[1] - box.lo[1], q[2] - box.lo[2]};
      for (int c = 0; c < v.options().components; ++c)
        put(v.options().type, bytes.data(), element(v.shape(id), c, local), 0);
    });
    set_array(v, id, bytes);
  }
}

inline std::vector<std::array<int, 2>> process_grids(int devices) {
  std::vector<std::array<int, 2>> grids{{0, 0}};
  for (const int first : {1, 2, 3, 4})
    if (devices % first == 0) grids.push_back({first, devices / first});
  if (devices > 4) grids.push_back({devices, 1});
  return grids;
}

inline constexpr DType types[] = {DType::c128, DType::f64, DType::c64, DType::f32};
/// Number types that the FFT kernels of GPUs transform: all on GPUs; double precision only where they run on the host.
inline std::span<const DType> types_of_kernels(Backend backend) {
  return std::span(types).first(backend == Backend::host ? 2 : 4);
}

/// Cells and modes of an in-place transform: two fields at the same address, in memory of the larger one.
struct InPlace {
  std::vector<Buffer<std::byte>> memory;
  std::optional<Field> u, v;
  InPlace(const Communicator& comm, const Fft& fft, const Machine& machine) {
    std::vector<OwnArray> of_u, of_v;
    const FieldOptions physical = fft.physical_field("u"), spectral = fft.spectral_field("v");
    for (const int d : machine.devices_of_rank(comm.rank())) {
      const auto bytes = [&](const Grid& grid, DType type) {
        for (const std::int64_t id : grid.local())
          if (grid.block(id).device == d) return static_cast<std::size_t>(grid.block(id).box.volume()) * size_of(type);
        return std::size_t{0};
      };
      const std::size_t in = bytes(fft.physical(), physical.type), out = bytes(fft.spectral(), spectral.type);
      memory.emplace_back(machine.device(d).local, std::max(in, out), Memory::shared);
      if (in) of_u.push_back({memory.back().data()});
      if (out) of_v.push_back({memory.back().data()});
    }
    u.emplace(Field::adopt(comm, fft.physical(), physical, of_u));
    v.emplace(Field::adopt(comm, fft.spectral(), spectral, of_v));
  }
};

}  // namespace slipstream
