// Moves that lines store in parts, backward: one part's values travel while the lines behind the move of another's are
// transformed.
#include "fft/impl.hpp"

namespace slipstream {

using fft::Array;
using fft::Lane;
using fft::Part;
using fft::Step;
using fft::With;

/// Parts by which the lines behind follow those that store.
constexpr std::size_t lag = 1;

// All places are free at once: those of later parts are opened while the first is stored.
void Fft::Impl::stored_in_parts(Lane& lane, Step& step, const std::vector<const void*>& from,
                                std::vector<Stream>& streams, const With& with) {
  fft::Move& move = *step.move;
  if (move.clears) clear(lane, step, streams);
  const std::size_t parts = move.parts.size();
  meet(streams, beside);
  move.whole().open(streams);
  for (std::size_t n = 0; n < parts + lag; ++n) {
    const Part* const stores = n < parts ? &move.parts[n] : nullptr;
    const Part* const follows = n >= lag ? &move.parts[n - lag] : nullptr;
    if (follows) follows->exchange->end(streams);
    store_part(lane, step, stores, follows, from, streams, with);
    if (stores) stores->exchange->post(streams);
    if (n > 0) continue;
    for (std::size_t later = 1; later < parts; ++later) move.parts[later].exchange->open(beside);
    meet(beside, streams);
  }
}

/// Lines of one part that store, and of another that has come.
void Fft::Impl::store_part(const Lane& lane, const Step& step, const Part* stores, const Part* follows,
                           const std::vector<const void*>& from, std::vector<Stream>& streams, const With& with) {
  const fft::Move& move = *step.move;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto work = [&](Array place) {
      return static_cast<std::byte*>(lane.work[i][static_cast<std::size_t>(place)].data());
    };
    const auto end_of_lines = [&](std::size_t end) { return work(move.lines[end]) + follows->begin[i][end]; };
    fft::StoredLines* const storing = stores ? stores->stored[i].get() : nullptr;
    fft::Lines* const following = follows ? follows->lines[i].get() : nullptr;
    if (storing) {
      const void* const read = move.before == Array::from ? from[i] : work(move.before);
      if (with.reads && move.before == Array::from) {
        storing->run_with(streams[i], read, work(step.from), *stores->exchange, (*with.reads)[i]);
      } else if (following) {
        storing->run_beside(streams[i], read, work(step.from), *stores->exchange, *following, end_of_lines(0),
                            end_of_lines(1));
        continue;
      } else {
        storing->run(streams[i], read, work(step.from), *stores->exchange);
      }
    }
    if (following) following->run(streams[i], end_of_lines(0), end_of_lines(1));
  }
}

}  // namespace slipstream
