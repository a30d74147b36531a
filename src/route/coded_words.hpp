#pragma once
// How the threads of a team move values that are encoded or decoded on the way: as words.hpp moves words.
#include "coding/blockfloat.hpp"
#include "coding/cast.hpp"
#include "coding/zfp.hpp"
#include "route/words.hpp"

namespace slipstream {

/// Calls f with what a work does to its words by a cast, and tells of a value that was too large.
template <class Cast, class F>
SLIP_FN void with_turn_of(const Work& w, const Watch& watch, F f) {
  const auto turned = [&](auto turn) {
    f(turn);
    if (turn.overflow) watch.tell_of_overflow(w.item);
  };
  if (w.recode == Recode::encode) return turned(Encode<Cast>{});
  if (w.recode == Recode::decode) return turned(Decode<Cast>{});
  turned(RoundTrip<Cast>{});
}

/// Of words that hold one value.
template <class Own, class F>
SLIP_FN void with_turn(const Work& w, const Watch& watch, F f) {
  with_cast<Own>(w.type, w.wire, [&]<class Cast>(Cast) { with_turn_of<Cast>(w, watch, f); });
}

template <bool sequential, class Own>
SLIP_FN void recode_words(const Work& w, const Part& part, const Watch& watch, Share share) {
  if (w.values == 1)
    return with_turn<Own>(w, watch, [&]<class Turn>(const Turn& turn) {
      copy_words<sequential, typename Turn::From, typename Turn::To>(w, part, watch, share, turn);
    });
  with_cast<Own>(w.type, w.wire, [&]<class Cast>(Cast) {
    if constexpr (Together<Cast>::count > 1)
      with_turn_of<Together<Cast>>(w, watch, [&]<class Turn>(const Turn& turn) {
        copy_plain<sequential, typename Turn::From, typename Turn::To>(w, part, watch, share, turn);
      });
  });
}

/// Combines contributions as they are decoded.
template <class Own>
SLIP_FN void combine_coded(const Work& w, const Part& part, const Watch& watch, Share share) {
  with_cast<Own>(w.type, w.wire, [&]<class Cast>(Cast) {
    const Decode<Cast> decode;
    combine_words<typename Cast::Value, typename Cast::Code>(w, part, watch, share, decode);
    if (decode.overflow) watch.tell_of_overflow(w.item);
  });
}

/// The second half of a transpose; the first one, which fills the square, moves words.
template <class Own>
SLIP_FN void recode_second_half(const Work& w, const Part& part, const Watch& watch, const void* square, Share share) {
  with_turn<Own>(w, watch, [&]<class Turn>(const Turn& turn) {
    using From = typename Turn::From;
    using To = typename Turn::To;
    empty_square(w, part, static_cast<const From*>(square), Ends<From, To>(w, watch).to, share, turn);
  });
}

/// Calls f(lane's four cells, index of the first, step from one to the next) on lanes that have a block.
template <bool sequential, class F>
SLIP_FN void each_of_blocks(const Work& w, const BlockTurn<sequential>& turn, const Rows& rows, std::uint32_t first,
                            F f) {
  turn.each([&](int lane) {
    const Rows::Cell at = rows.cell(first + static_cast<std::uint32_t>(turn.split.block(lane)));
    const std::uint32_t block[3] = {at.x, at.y, at.z};
    f(lane, cells_of(w.block, w.cells, block, turn.split.row(lane)));
  });
}

/// Where the four cells of a lane lie at an end: in a box, or at the elements that a list names.
struct LanePlaces {
  const std::int64_t* ids;
  std::int64_t first, along;

  SLIP_FN LanePlaces(const Strides& end, const std::int64_t* list, const LaneCells& cells)
      : ids(list ? list + cells.at[0] : nullptr),
        first(cells.at[0] * end.x + cells.at[1] * end.y + cells.at[2] * end.z),
        along(cells.axis == 0   ? end.x
              : cells.axis == 1 ? end.y
                                : end.z) {}
  SLIP_FN std::int64_t at(int step) const { return ids ? ids[step] * along : first + step * along; }
};

/// Numbers side by side that memory moves as a word of 16 bytes.
template <class Real>
struct alignas(16) WordOf {
  Real of[16 / sizeof(Real)];
};
template <class Real>
SLIP_FN bool in_words(const LanePlaces& places, const LaneCells& cells, const Real* base) {
  return !places.ids && places.along == 1 && cells.has(cells_of_lane - 1) &&
         reinterpret_cast<std::uintptr_t>(base + places.first) % 16 == 0;
}

/// Calls f(turn, number of its first block in the part) for blocks that 32 threads take at once.
template <bool sequential, class F>
SLIP_FN void each_turn(const Work& w, const Part& part, BlockScratch* scratch, Share share, F f) {
  constexpr std::uint32_t lanes = sequential ? 1 : 32;
  BlockTurn<sequential> turn{{static_cast<int>(share.thread % lanes)}, LanesOfBlock(w.block), w.wire, w.block, 0,
                             code_bytes(w.wire, w.block) / 8,          scratch->words,        scratch};
  const auto at_once = static_cast<std::uint32_t>(turn.split.at_once());
  for (std::uint32_t n = share.thread / lanes * at_once; n < part.count; n += share.threads / lanes * at_once) {
    turn.blocks = static_cast<int>(part.count - n < at_once ? part.count - n : at_once);
    f(turn, n);
  }
}

template <bool sequential, class Real>
SLIP_FN void load_blocks(const Work& w, const BlockTurn<sequential>& turn, const Rows& rows, std::uint32_t first,
                         const Real* from, OfLane<sequential, Four<Real>>& values) {
  const Strides source(w.source);
  constexpr int side_by_side = 16 / sizeof(Real);
  each_of_blocks(w, turn, rows, first, [&](int lane, const LaneCells& cells) {
    const LanePlaces places(source, w.source_ids, cells);
    if (in_words(places, cells, from)) {
      const auto* const words = reinterpret_cast<const WordOf<Real>*>(from + places.first);
      WordOf<Real> read[cells_of_lane / side_by_side];
      for (int n = 0; n < cells_of_lane / side_by_side; ++n) read[n] = words[n];
      for (int i = 0; i < cells_of_lane; ++i) values[lane].of[i] = read[i / side_by_side].of[i % side_by_side];
      return;
    }
    for (int i = 0; i < cells_of_lane; ++i) values[lane].of[i] = from[places.at(cells.step(i))];
  });
}

template <bool sequential, class Real>
SLIP_FN void store_blocks(const Work& w, const BlockTurn<sequential>& turn, const Rows& rows, std::uint32_t first,
                          Real* to, OfLane<sequential, Four<Real>>& values) {
  const Strides target(w.target);
  constexpr int side_by_side = 16 / sizeof(Real);
  each_of_blocks(w, turn, rows, first, [&](int lane, const LaneCells& cells) {
    const LanePlaces places(target, w.target_ids, cells);
    if (in_words(places, cells, to)) {
      auto* const words = reinterpret_cast<WordOf<Real>*>(to + places.first);
      for (int n = 0; n < cells_of_lane / side_by_side; ++n) {
        WordOf<Real> word;
        for (int i = 0; i < side_by_side; ++i) word.of[i] = values[lane].of[n * side_by_side + i];
        words[n] = word;
      }
      return;
    }
    for (int i = 0; i < cells_of_lane; ++i)
      if (cells.has(i)) to[places.at(i)] = values[lane].of[i];
  });
}

/// To `turn.codes` and back. `lost`: whether some value cannot be written so.
template <bool sequential, class Real>
SLIP_FN void encode_blocks(const BlockTurn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
  turn.wire.kind == Wire::zfp ? zfp::encode(turn, values, lost) : blockfloat::encode(turn, values, lost);
}
template <bool sequential, class Real>
SLIP_FN void decode_blocks(const BlockTurn<sequential>& turn, OfLane<sequential, Four<Real>>& values, bool& lost) {
  turn.wire.kind == Wire::zfp ? zfp::decode(turn, values, lost) : blockfloat::decode(turn, values, lost);
}

/// Codes of a turn's blocks, by all lanes: they are written and read in pieces, which far memory would move one by one.
template <bool sequential>
SLIP_FN void copy_codes(const BlockTurn<sequential>& turn, const std::uint64_t* from, std::uint64_t* to) {
  turn.lanes.each([&](int lane) {
    for (int n = lane; n < turn.blocks * turn.words; n += Warp<sequential>::count) to[n] = from[n];
  });
}

template <bool sequential, class Real>
SLIP_FN void recode_blocks(const Work& w, const Part& part, const Watch& watch, BlockScratch* scratch, Share share) {
  const Ends<std::byte> ends(w, watch);
  const Rows rows(w, part);
  const std::int64_t bytes = code_bytes(w.wire, w.block);
  bool lost = false;
  each_turn<sequential>(w, part, scratch, share, [&](BlockTurn<sequential>& turn, std::uint32_t first) {
    const std::int64_t at = (part.first + first) * bytes;
    const bool encodes = w.recode == Recode::encode, decodes = w.recode == Recode::decode;
    auto* const packed = reinterpret_cast<std::uint64_t*>((decodes ? const_cast<std::byte*>(ends.from) : ends.to) + at);
    if constexpr (sequential) {
      if (encodes || decodes) turn.codes = packed;
    } else if (decodes) {
      copy_codes(turn, packed, turn.codes);
    }
    OfLane<sequential, Four<Real>> values;
    if (!decodes) {
      load_blocks(w, turn, rows, first, reinterpret_cast<const Real*>(ends.from), values);
      encode_blocks(turn, values, lost);
    }
    if (!sequential && encodes) copy_codes(turn, turn.codes, packed);
    if (encodes) return;
    decode_blocks(turn, values, lost);
    store_blocks(w, turn, rows, first, reinterpret_cast<Real*>(ends.to), values);
  });
  if (lost) watch.tell_of_overflow(w.item);
}

/// Moves a part of a work that encodes or decodes. `scratch`: of each 32 threads.
template <bool sequential, bool combines, bool blocks, class Own>
SLIP_FN void run_coded(const Work& w, const Part& part, const Watch& watch, [[maybe_unused]] BlockScratch* scratch,
                       Share share) {
  if constexpr (blocks) {
    if (w.form == Form::blocks)
      return w.type == DType::f32 ? recode_blocks<sequential, float>(w, part, watch, scratch, share)
                                  : recode_blocks<sequential, double>(w, part, watch, scratch, share);
  }
  if constexpr (combines) {
    if (w.op != Op::copy) return combine_coded<Own>(w, part, watch, share);
  }
  recode_words<sequential, Own>(w, part, watch, share);
}

}  // namespace slipstream
