#pragma once
// Kernels that move populations and compute nothing. They need the bytes of a word and the velocities of a lattice, so
// that all lattices and number formats share them.
#include "solver/lbm/storage/places.hpp"

namespace slipstream::lbm {

/// As those of Kernels.
struct Moves {
  Headings headings;
  std::size_t word;  ///< bytes

  void rearrange(Stream& stream, const BlockArrays& b, Form to, std::byte* spare) const;
  void transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const;
  void rest_solids(Stream& stream, const BlockArrays& b) const;
  void place_links(Stream& stream, std::span<const Link> links, const BlockArrays& b, Bounce* places) const;
  /// Copies what cells sent into walls at rest to where they read it.
  void rebound(Stream& stream, std::span<const Bounce> links, const BlockArrays& b) const;
};

}  // namespace slipstream::lbm
