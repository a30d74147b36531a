#pragma once
// Device functions by which a thread block encodes and decodes values while it copies them; see words.hpp.
#include <type_traits>

#include "coding/blockfloat.hpp"
#include "coding/cast.hpp"
#include "coding/zfp.hpp"
#include "mover/words.hpp"

namespace slipstream {

/// Calls f with the function that encodes, decodes or rounds a word. The function reports values that are too large.
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

/// Calls f with the function that encodes, decodes or rounds single values in the copy's number format.
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

/// Decodes the packed values that several blocks contribute, and combines (such as sums) them with the target's values.
template <class Own>
SLIP_FN void combine_coded(const Work& w, const Part& part, const Watch& watch, Share share) {
  with_cast<Own>(w.type, w.wire, [&]<class Cast>(Cast) {
    const Decode<Cast> decode;
    combine_words<typename Cast::Value, typename Cast::Code>(w, part, watch, share, decode);
    if (decode.overflow) watch.tell_of_overflow(w.item);
  });
}

/// Second phase of a transpose, which converts the values. The first phase moves words into a square of shared memory.
template <class Own>
SLIP_FN void recode_second_half(const Work& w, const Part& part, const Watch& watch, const void* square, Share share) {
  with_turn<Own>(w, watch, [&]<class Turn>(const Turn& turn) {
    using From = typename Turn::From;
    using To = typename Turn::To;
    empty_square(w, part, static_cast<const From*>(square), Ends<From, To>(w, watch).to, share, turn);
  });
}

/// Positions of the four cells whose values one thread encodes or decodes, at one end of a copy: in a box or a list.
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

/// Computes positions of cells in blocks that are completely inside a box. This common case needs less arithmetic.
struct WholeBlocks {
  std::uint32_t count[3];          ///< number of whole coded blocks along each axis of the box
  std::int64_t x, y, z;            ///< distances in words between coded blocks along each axis
  std::int64_t along, row, plane;  ///< strides: between a thread's cells (along), between threads (row, plane)

  SLIP_FN WholeBlocks(const Work& w, const End& end) {
    const auto& wide = w.block.extent;
    for (int a = 0; a < 3; ++a)
      count[a] = static_cast<std::uint32_t>(w.cells[a]) >> (wide[a] == 16 ? 4 : wide[a] == 4 ? 2 : 0);
    x = wide[0] * end.stride[0];
    y = wide[1] * end.stride[1];
    z = wide[2] * end.stride[2];
    along = wide[0] > 1 ? end.stride[0] : wide[1] > 1 ? end.stride[1] : end.stride[2];
    plane = end.stride[2];
    row = w.block.dimensions() == 1 ? cells_of_lane * along : wide[0] > 1 && wide[1] > 1 ? end.stride[1] : plane;
  }
  SLIP_FN bool has(const Rows::Cell& c) const { return (c.x < count[0]) & (c.y < count[1]) & (c.z < count[2]); }
  SLIP_FN std::int64_t at(const Rows::Cell& c, int lane_row) const {
    return c.x * x + c.y * y + c.z * z + (lane_row & 3) * row + (lane_row >> 2) * plane;
  }
};

/// Encodes or decodes a box in blocks of cells. Threads whose block is wholly in the box call whole(thread, offset of
/// its first cell, stride), all others partial(thread, cells, positions of the cells).
template <class Turn, class Whole, class Partial>
SLIP_FN void each_of_blocks(const Work& w, const Turn& turn, const Rows& rows, std::uint32_t first, const End& end,
                            const std::int64_t* ids, const WholeBlocks& places, Whole whole, Partial partial) {
  turn.lanes.alone([&](int lane) {
    if (turn.rests(lane)) return;
    const Rows::Cell at = rows.cell(first + static_cast<std::uint32_t>(turn.block(lane)));
    if (!ids && places.has(at)) return whole(lane, places.at(at, turn.row(lane)), places.along);
    const std::uint32_t block[3] = {at.x, at.y, at.z};
    const LaneCells cells = cells_of(w.block, w.cells, block, turn.row(lane));
    partial(lane, cells, LanePlaces(Strides(end), ids, cells));
  });
}

/// Adjacent numbers that are loaded and stored as one Word16.
template <class Real>
struct WordOf {
  static constexpr int count = 16 / sizeof(Real);
  Real of[count];
};
template <class Real>
SLIP_FN bool in_words(const Real* first, std::int64_t along) {
  return along == 1 && reinterpret_cast<std::uintptr_t>(first) % 16 == 0;
}

template <bool sequential, class Turn, class Real>
SLIP_FN void load_blocks(const Work& w, const Turn& turn, const Rows& rows, std::uint32_t first,
                         const WholeBlocks& places, const Real* from, OfLane<sequential, Four<Real>>& values) {
  using Word = WordOf<Real>;
  values = {};
  each_of_blocks(
      w, turn, rows, first, w.source, w.source_ids, places,
      [&](int lane, std::int64_t at, std::int64_t along) {
        auto& read = values[lane].of;
        if (in_words(from + at, along)) {
          const auto* const words = reinterpret_cast<const Word16*>(from + at);
          Word16 got[cells_of_lane / Word::count];
          for (int n = 0; n < cells_of_lane / Word::count; ++n) got[n] = words[n];
          for (int i = 0; i < cells_of_lane; ++i)
            read[i] = std::bit_cast<Word>(got[i / Word::count]).of[i % Word::count];
        } else {
          for (int i = 0; i < cells_of_lane; ++i) read[i] = from[at + i * along];
        }
      },
      [&](int lane, const LaneCells& cells, const LanePlaces& at) {
        for (int i = 0; i < cells_of_lane; ++i) values[lane].of[i] = from[at.at(cells.step(i))];
      });
}

template <bool sequential, class Turn, class Real>
SLIP_FN void store_blocks(const Work& w, const Turn& turn, const Rows& rows, std::uint32_t first,
                          const WholeBlocks& places, Real* to, OfLane<sequential, Four<Real>>& values) {
  using Word = WordOf<Real>;
  each_of_blocks(
      w, turn, rows, first, w.target, w.target_ids, places,
      [&](int lane, std::int64_t at, std::int64_t along) {
        const auto& given = values[lane].of;
        if (in_words(to + at, along)) {
          auto* const words = reinterpret_cast<Word16*>(to + at);
          for (int n = 0; n < cells_of_lane / Word::count; ++n) {
            Word word;
            for (int i = 0; i < Word::count; ++i) word.of[i] = given[n * Word::count + i];
            words[n] = std::bit_cast<Word16>(word);
          }
        } else {
          for (int i = 0; i < cells_of_lane; ++i) to[at + i * along] = given[i];
        }
      },
      [&](int lane, const LaneCells& cells, const LanePlaces& at) {
        for (int i = 0; i < cells_of_lane; ++i)
          if (cells.has(i)) to[at.at(i)] = values[lane].of[i];
      });
}

/// Calls f with the coding of a copy that is coded in blocks: BlockFloat, or Zfp of the block's dimension.
template <class F>
SLIP_FN void with_blocks(const Work& w, F f) {
  if (w.wire.kind == Wire::blockfloat) return f(BlockFloat{});
  const int dimensions = w.block.dimensions();
  if (dimensions == 1) return f(Zfp<1>{});
  dimensions == 2 ? f(Zfp<2>{}) : f(Zfp<3>{});
}

/// Memory of 32 threads that encode or decode blocks of cells: scratch space, positions and the coding's constants. In
/// registers these would be spilled, and the spilled registers of all thread blocks do not fit the cache.
struct BlockMemory : BlockScratch {
  Rows rows;
  WholeBlocks places;  ///< positions of whole blocks in the array of uncoded values
  std::int32_t rate, quantum, words;

  template <class Lanes>
  SLIP_FN void fill(const Lanes& lanes, const Work& w, const Part& part, const End& end) {
    BlockMemory& self = *this;
    lanes.each([](int) {});  // a barrier: all threads have read the memory's previous contents
    lanes.each([&](int lane) {
      if (lane != 0) return;
      self.rows = Rows(w, part);
      self.places = WholeBlocks(w, end);
      self.rate = w.wire.rate(w.block);
      self.quantum = w.wire.quantum;
      self.words = code_bytes(w.wire, w.block) / 8;
    });
  }
};

/// Calls f(group, index of its first block) for each group of blocks of cells that 32 threads encode or decode
/// together. `end`: address and strides of the end of the copy that is not coded, its source or target.
template <class Blocks, bool sequential, class F>
SLIP_FN void each_turn(const Work& w, const Part& part, const End& end, BlockMemory* memory, Share share, F f) {
  using Turn = BlockTurn<sequential, Blocks::rows>;
  if constexpr (!sequential) is_team_memory(memory);
  constexpr std::uint32_t threads = sequential ? 1 : 32, at_once = Turn::at_once;
  Warp<sequential> lanes{static_cast<int>(share.thread % threads)};
  memory->fill(lanes, w, part, end);
  for (std::uint32_t n = share.thread / threads * at_once; n < part.count; n += share.threads / threads * at_once) {
    const auto blocks = static_cast<int>(part.count - n < at_once ? part.count - n : at_once);
    lanes.busy = blocks * Blocks::rows;
    Turn turn{lanes, memory->rate, memory->quantum, memory->words, blocks, memory->BlockScratch::words, memory};
    f(turn, n);
  }
}

/// Copies the codes of a group of blocks with all 32 threads. Blocks write their codes in small pieces, which remote
/// memory would transfer one by one.
template <class Turn>
SLIP_FN void copy_codes(const Turn& turn, const std::uint64_t* from, std::uint64_t* to) {
  turn.lanes.each([&](int lane) {
    constexpr int most = sizeof(BlockScratch::words) / 8 / 32;
    std::uint64_t words[most] = {};
    const int count = turn.blocks * turn.words - lane;
    for (int n = 0; n < most; ++n)
      if (32 * n < count) words[n] = from[lane + 32 * n];
    for (int n = 0; n < most; ++n)
      if (32 * n < count) to[lane + 32 * n] = words[n];
  });
}

/// Each coding and direction is a separate function. Otherwise all code of the kernel would share the register count of
/// the largest.
template <class Blocks, Recode way, bool sequential, class Real>
[[gnu::noinline]] SLIP_FN void recode_blocks(const Work& w, const Part& part, const Watch& watch, BlockMemory* memory,
                                             Share share) {
  const Ends<std::byte> ends(w, watch);
  const std::int64_t bytes = code_bytes(w.wire, w.block);
  constexpr bool encodes = way == Recode::encode, decodes = way == Recode::decode;
  bool lost = false;
  each_turn<Blocks, sequential>(
      w, part, decodes ? w.target : w.source, memory, share, [&](auto& turn, std::uint32_t first) {
        [[maybe_unused]] auto* const packed = reinterpret_cast<std::uint64_t*>(
            (decodes ? const_cast<std::byte*>(ends.from) : ends.to) + (part.first + first) * bytes);
        if constexpr (sequential) {
          if (encodes || decodes) turn.codes = packed;
        } else if constexpr (decodes) {
          copy_codes(turn, packed, turn.codes);
        }
        OfLane<sequential, Four<Real>> values;
        if constexpr (!decodes) {
          load_blocks(w, turn, memory->rows, first, memory->places, reinterpret_cast<const Real*>(ends.from), values);
          Blocks::encode(turn, values, lost);
          if constexpr (!sequential && encodes) copy_codes(turn, turn.codes, packed);
        }
        if constexpr (!encodes) {
          Blocks::decode(turn, values, lost);
          auto* const to = reinterpret_cast<Real*>(ends.to);
          if constexpr (decodes) {
            store_blocks(w, turn, memory->rows, first, memory->places, to, values);
          } else {
            store_blocks(w, turn, memory->rows, first, WholeBlocks(w, w.target), to, values);
          }
        }
      });
  if (lost) watch.tell_of_overflow(w.item);
}

/// Calls f with the conversion (encode, decode or round) as a compile-time constant.
template <class F>
SLIP_FN void with_way(Recode way, F f) {
  if (way == Recode::encode) return f(std::integral_constant<Recode, Recode::encode>{});
  if (way == Recode::decode) return f(std::integral_constant<Recode, Recode::decode>{});
  f(std::integral_constant<Recode, Recode::round>{});
}

/// Moves a part of a copy that encodes or decodes. `memory`: one block of scratch memory per 32 threads.
template <bool sequential, bool combines, bool blocks, class Own>
SLIP_FN void run_coded(const Work& w, const Part& part, const Watch& watch, [[maybe_unused]] BlockMemory* memory,
                       Share share) {
  if constexpr (blocks) {
    if (w.form == Form::blocks)
      return with_blocks(w, [&]<class Blocks>(Blocks) {
        with_way(w.recode, [&]<Recode way>(std::integral_constant<Recode, way>) {
          w.type == DType::f32 ? recode_blocks<Blocks, way, sequential, float>(w, part, watch, memory, share)
                               : recode_blocks<Blocks, way, sequential, double>(w, part, watch, memory, share);
        });
      });
  }
  if constexpr (combines) {
    if (w.op != Op::copy) return combine_coded<Own>(w, part, watch, share);
  }
  recode_words<sequential, Own>(w, part, watch, share);
}

}  // namespace slipstream
