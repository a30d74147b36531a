#pragma once
// Kernels that move populations without arithmetic. They depend only on the word size and the velocities, so that all
// lattices and number formats share them.
#include "solver/lbm/storage/places.hpp"

namespace slipstream::lbm {

/// Implements those functions of Kernels that only move populations.
struct Moves {
  Headings headings;
  std::size_t word;  ///< size of a population in memory, in bytes

  void rearrange(Stream& stream, const BlockArrays& b, Form to, std::byte* spare) const;
  void transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const;
  void rest_solids(Stream& stream, const BlockArrays& b) const;
  void place_links(Stream& stream, std::span<const Link> links, const BlockArrays& b, Bounce* places) const;
  /// Copies populations sent to resting walls to the places where the cells read them.
  void rebound(Stream& stream, std::span<const Bounce> links, const BlockArrays& b) const;
};

}  // namespace slipstream::lbm
