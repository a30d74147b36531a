#pragma once
// The lattices and the collisions of lattice Boltzmann runs.
#include <cstdint>
#include <string>

namespace slipstream::lbm {

enum class Lattice : std::uint8_t { d2q9, d3q19, d3q27 };
/// By populations all but the last two run on every lattice, but for cumulant, which runs on D3Q27. By moments only the
/// last two run, on D3Q19.
enum class Collision : std::uint8_t {
  srt,
  trt,
  mrt,
  cumulant,
  regularised,  ///< of second order (Latt & Chopard 2006)
  recursive     ///< with terms of third order that follow from those of second (Malaspinas 2015)
};
std::string to_string(Lattice lattice);
std::string to_string(Collision collision);

}  // namespace slipstream::lbm
