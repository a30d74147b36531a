#pragma once
// The lattices and the collisions of lattice Boltzmann runs.
#include <cstdint>
#include <string>

namespace slipstream::lbm {

enum class Lattice : std::uint8_t { d2q9, d3q19, d3q27 };
/// Collision models. With populations the first four are available, on every lattice; cumulant needs D3Q27. With
/// moments only the last two are available, on D3Q19.
enum class Collision : std::uint8_t {
  srt,
  trt,
  mrt,
  cumulant,
  regularised,  ///< populations regularised to second order (Latt & Chopard 2006)
  recursive     ///< regularised, with third-order terms by recursion from those of second order (Malaspinas 2015)
};
std::string to_string(Lattice lattice);
std::string to_string(Collision collision);

}  // namespace slipstream::lbm
