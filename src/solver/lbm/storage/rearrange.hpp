#pragma once
// Between the form in which one array holds the populations of a step in place and that of two arrays, without a second
// array: pair by pair of opposite populations, the odd one by way of spare memory, since it moves to another cell.
#include <slipstream/launch.hpp>

#include "device/rolled.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/places.hpp"

namespace slipstream::lbm {

/// One half of the way of the odd population of a pair: from the array to the spare memory, or on. The even one stays
/// in its cell and goes along, from component to component, with whichever half leaves that cell's components unread.
template <class Word>
struct MovePair {
  Word* origin;
  Places from, to;
  Heading odd;
  Word* spare;
  std::int64_t row, plane;
  bool back, with_even;

  SLIP_FN void operator()(int i, int j, int k) const {
    const Cell cell{i, j, k};
    Word& kept = spare[i + j * row + k * plane];
    if (!back) kept = origin[from.outgoing(cell, odd)];
    if (with_even) origin[to.outgoing(cell, opposite(odd))] = origin[from.outgoing(cell, opposite(odd))];
    if (back) origin[to.outgoing(cell, odd)] = kept;
  }
};

/// From one array of a block into another.
template <class L, class Word>
struct Transcribe {
  const Word* from;
  Word* to;
  Places from_places, to_places;
  Scalars<const std::uint8_t> flags;

  SLIP_FN void operator()(int i, int j, int k) const {
    const Cell cell{i, j, k};
    const bool solid = flags.origin[flags.at(i, j, k)] != 0;
    if (solid && to_places.numbering.words != nullptr) return;
    SLIP_ROLLED
    for (int q = 0; q < L::q; ++q) {
      const Heading h = heading_at<L>(q);
      to[to_places.outgoing(cell, h)] = solid ? Word{} : from[from_places.outgoing(cell, h)];
    }
  }
};

template <class L, class Word>
struct RestSolids {
  Word* origin;
  Places places;
  Scalars<const std::uint8_t> flags;

  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] == 0) return;
    SLIP_ROLLED
    for (int q = 0; q < L::q; ++q) origin[places.outgoing({i, j, k}, heading_at<L>(q))] = Word{};
  }
};

template <class Word>
void rearrange_pair(Stream& stream, const BlockArrays& b, Form to, const Heading& odd, Word* spare) {
  const Extent& e = b.populations.shape.extent;
  for (const bool back : {false, true}) {
    const bool with_even = back == (to == Form::apart);
    launch(stream, Box{{0, 0, 0}, e},
           MovePair<Word>{reinterpret_cast<Word*>(b.populations.origin), Places(b), Places(b, to), odd, spare, e[0],
                          e[0] * e[1], back, with_even});
  }
}

}  // namespace slipstream::lbm
