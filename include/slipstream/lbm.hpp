#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>
#include <slipstream/field.hpp>
#include <slipstream/simulation.hpp>

namespace slipstream::lbm {

enum class Lattice : std::uint8_t { d2q9, d3q19 };
enum class Collision : std::uint8_t { srt, trt };
std::string to_string(Lattice lattice);
std::string to_string(Collision collision);

/// Sides of the domain, in the order in which two that meet are given the corner: later ones win, unless only
/// one of the two rests, which then wins.
enum class Side : std::uint8_t { x_low, x_high, y_low, y_high, z_low, z_high };

/// Everything that a lattice Boltzmann run is made of, in lattice units (cell = time step = 1, density = 1).
struct Options {
  Extent cells{0, 0, 0};
  std::array<bool, 3> periodic{false, false, false};
  Lattice lattice = Lattice::d3q19;
  Collision collision = Collision::trt;
  double magic = 3.0 / 16.0;  ///< (tau+ - 1/2)(tau- - 1/2); 3/16 puts a half-way wall exactly half-way (Ginzburg & d'Humieres 2003)
  double viscosity = 0;
  DType precision = DType::f32;
  Layout layout = Layout::soa;
  int alignment = 128;
  /// Velocity of the wall on each side that is not periodic; sides left out rest.
  std::map<Side, std::array<double, 3>> walls;
  GridOptions grid;           ///< `periodic` is taken from above
  ExchangeOptions exchange;
  Overlap overlap = Overlap::automatic;
  Extent rim{1, 1, 1};        ///< width of the rim per axis, where a neighbour is
};

/// Arrays and their bytes, for one device; computed without allocating.
struct ArrayBytes {
  int device = 0;
  std::string array;
  std::int64_t bytes = 0;
};
std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options);

/// Bytes that one cell update must move: every population read and written once.
int bytes_per_cell(Lattice lattice, DType precision);

}  // namespace slipstream::lbm
