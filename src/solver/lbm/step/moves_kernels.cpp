// Converts between the in-place form of populations and that of two arrays. It needs no second array, and goes pair by
// pair of opposite populations. The odd one goes through spare memory, because it moves to another cell. Other kernels
// that only move populations are here, too.
#include "solver/lbm/step/moves.hpp"

#include <slipstream/launch.hpp>

#include "device/rolled.hpp"
#include "solver/lbm/links/link_kernels.hpp"
#include "solver/lbm/storage/access.hpp"

namespace slipstream::lbm {
inline namespace moves_kernels {

/// Rearranges a pair of opposite populations in two passes. The odd one goes to spare memory, and from there to its new
/// place. The even one stays in its cell, and changes its component in the pass that has read all components.
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

/// Copies populations from one array of a block to another.
template <class Word>
struct Transcribe {
  Headings headings;
  const Word* from;
  Word* to;
  Places from_places, to_places;
  Scalars<const std::uint8_t> flags;

  SLIP_FN void operator()(int i, int j, int k) const {
    const Cell cell{i, j, k};
    const bool solid = flags.origin[flags.at(i, j, k)] != 0;
    if (solid && to_places.numbering.words != nullptr) return;
    SLIP_ROLLED
    for (int q = 0; q < headings.count; ++q) {
      const Heading h = headings[q];
      to[to_places.outgoing(cell, h)] = solid ? Word{} : from[from_places.outgoing(cell, h)];
    }
  }
};

template <class Word>
struct RestSolids {
  Headings headings;
  Word* origin;
  Places places;
  Scalars<const std::uint8_t> flags;

  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] == 0) return;
    SLIP_ROLLED
    for (int q = 0; q < headings.count; ++q) origin[places.outgoing({i, j, k}, headings[q])] = Word{};
  }
};

struct PlaceLinks {
  Places places;
  std::int64_t first;  ///< element of the array with the block's first cell
  const Link* links;
  Bounce* found;
  SLIP_FN void operator()(std::int64_t n) const {
    const Link link = links[n];
    found[n] = {static_cast<std::uint32_t>(first + places.outgoing(link.cell, opposite(link.in))),
                static_cast<std::uint32_t>(first + places.incoming(link.cell, link.in))};
  }
};

template <class Word>
struct Rebound {
  Word* array;
  const Bounce* links;
  bool turned;
  SLIP_FN void operator()(std::int64_t n) const {
    const Bounce link = links[n];
    array[turned ? link.sent : link.read] = array[turned ? link.read : link.sent];
  }
};

template <class F>
void with_word(std::size_t bytes, const F& f) {
  if (bytes == 2) return f(std::uint16_t{});
  if (bytes == 4) return f(std::uint32_t{});
  f(std::uint64_t{});
}

template <class Word>
Word* words(const BlockArrays& b) {
  return reinterpret_cast<Word*>(b.populations.origin);
}

}  // namespace moves_kernels

void Moves::rearrange(Stream& stream, const BlockArrays& b, Form to, std::byte* spare) const {
  const Extent& e = b.populations.shape.extent;
  with_word(word, [&]<class Word>(Word) {
    for (int i = 1; i < headings.count; i += 2)
      for (const bool back : {false, true}) {
        const bool with_even = back == (to == Form::apart);
        launch(stream, Box{{0, 0, 0}, e},
               MovePair<Word>{words<Word>(b), Places(b), Places(b, to), headings[i], reinterpret_cast<Word*>(spare),
                              e[0], e[0] * e[1], back, with_even});
      }
  });
}

void Moves::transcribe(Stream& stream, const BlockArrays& from, const BlockArrays& to) const {
  with_word(word, [&]<class Word>(Word) {
    launch(stream, Box{{0, 0, 0}, from.flags.shape.extent},
           Transcribe<Word>{headings, words<Word>(from), words<Word>(to), Places(from), Places(to),
                            Scalars<const std::uint8_t>(from.flags)});
  });
}

void Moves::rest_solids(Stream& stream, const BlockArrays& b) const {
  with_word(word, [&]<class Word>(Word) {
    launch(stream, Box{{0, 0, 0}, b.flags.shape.extent},
           RestSolids<Word>{headings, words<Word>(b), Places(b), Scalars<const std::uint8_t>(b.flags)});
  });
}

void Moves::place_links(Stream& stream, std::span<const Link> links, const BlockArrays& b, Bounce* places) const {
  const Form form = b.form == Form::apart ? Form::apart : Form::shared;
  launch_per_link(stream, links.size(), PlaceLinks{Places(b, form), b.populations.shape.origin, links.data(), places});
}

void Moves::rebound(Stream& stream, std::span<const Bounce> links, const BlockArrays& b) const {
  with_word(word, [&]<class Word>(Word) {
    launch_per_link(stream, links.size(),
                    Rebound<Word>{words<Word>(b) - b.populations.shape.origin, links.data(), b.form == Form::turned},
                    b.together);
  });
}

}  // namespace slipstream::lbm
