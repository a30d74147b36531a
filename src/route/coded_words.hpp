#pragma once
// How the threads of a team move values that are encoded or decoded on the way: as words.hpp moves words.
#include "coding/cast.hpp"
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
template <class F>
SLIP_FN void with_turn(const Work& w, const Watch& watch, F f) {
  with_cast(w.type, w.wire, [&]<class Cast>(Cast) { with_turn_of<Cast>(w, watch, f); });
}

template <bool sequential>
SLIP_FN void recode_words(const Work& w, const Part& part, const Watch& watch, Share share) {
  if (w.values == 1)
    return with_turn(w, watch, [&]<class Turn>(const Turn& turn) {
      copy_words<sequential, typename Turn::From, typename Turn::To>(w, part, watch, share, turn);
    });
  with_cast(w.type, w.wire, [&]<class Cast>(Cast) {
    if constexpr (Together<Cast>::count > 1)
      with_turn_of<Together<Cast>>(w, watch, [&]<class Turn>(const Turn& turn) {
        copy_plain<sequential, typename Turn::From, typename Turn::To>(w, part, watch, share, turn);
      });
  });
}

/// Combines contributions as they are decoded.
SLIP_FN void combine_coded(const Work& w, const Part& part, const Watch& watch, Share share) {
  with_cast(w.type, w.wire, [&]<class Cast>(Cast) {
    const Decode<Cast> decode;
    combine_words<typename Cast::Value, typename Cast::Code>(w, part, watch, share, decode);
    if (decode.overflow) watch.tell_of_overflow(w.item);
  });
}

/// The second half of a transpose; the first one, which fills the square, moves words.
SLIP_FN void recode_second_half(const Work& w, const Part& part, const Watch& watch, const void* square, Share share) {
  with_turn(w, watch, [&]<class Turn>(const Turn& turn) {
    using From = typename Turn::From;
    using To = typename Turn::To;
    empty_square(w, part, static_cast<const From*>(square), Ends<From, To>(w, watch).to, share, turn);
  });
}

/// Moves a part of a work that encodes or decodes.
template <bool sequential, bool combines>
SLIP_FN void run_coded(const Work& w, const Part& part, const Watch& watch, Share share) {
  if constexpr (combines) {
    if (w.op != Op::copy) return combine_coded(w, part, watch, share);
  }
  recode_words<sequential>(w, part, watch, share);
}

}  // namespace slipstream
