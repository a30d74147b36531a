// Transposes of backward FFTs in parts. Kernels of 1-D transforms store one part directly into target devices, while
// other kernels transform a part that has arrived.
#include <algorithm>

#include "fft/impl.hpp"
#include "fft/radix_stores.hpp"

namespace slipstream {

using fft::Array;
using fft::Lane;
using fft::Part;
using fft::Stage;
using fft::Step;
using fft::With;

namespace {

/// A transpose is sent in parts. The transforms after it lag by so many parts behind those before it.
constexpr std::size_t lag = 1;

/// Default split of a transpose by stores of FFT kernels: at most 8 parts, each of 128 MB a device and 16 k_x or more.
constexpr std::int64_t most_stored_parts = 8, bytes_of_stored_part = 128 << 20, tile_of_modes = 16;

}  // namespace

// Number of parts along k_x in which a transpose is sent. Only slabs of real values are split. Slabs of complex values
// have transforms along x that run while their results are sent.
int Fft::Impl::parts_along_x(Stage from, Stage to) const {
  if (from != Stage::spectral || to != Stage::middle || cut.pencils() || !cut.real || cut.lanes > 1) return 1;
  // If a transpose is split into parts, the FFTs behind it run in narrow tiles of lines. Where truncated modes are not
  // read, narrow tiles cost more time than the overlap saves.
  const bool slower = !cut.kept(Stage::middle)[1].empty() && fft::in_narrow_tiles(cut.cells[1]);
  if (slower && options.parts == 0) return 1;
  const auto [first, behind] = modes_of_part(0, 1);
  std::int64_t parts = options.parts;
  if (parts == 0) {
    const bool host = std::any_of(local.begin(), local.end(), [](Device d) { return d.backend == Backend::host; });
    if (comm.max(host ? 1 : 0) > 0) return 1;
    std::int64_t lines = 0;
    for (const Block& block : cut.blocks(to)) lines = std::max(lines, block.box.extent(0) * block.box.extent(2));
    parts =
        std::min({most_stored_parts, behind / tile_of_modes, 2 * cut.word() * lines * behind / bytes_of_stored_part});
  }
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, behind - first));
}

Transpose::Range Fft::Impl::modes_of_part(int part, int parts) const {
  const std::vector<Transpose::Range> used = cut.kept(Stage::middle)[1];
  const std::int64_t modes = used.empty() ? cut.modes[0] : used[0].second;
  const std::int64_t grain = modes >= parts * tile_of_modes ? tile_of_modes : 1;
  const auto first = [&](int n) { return n == parts ? modes : modes * n / parts / grain * grain; };
  return {first(part), first(part + 1)};
}

// Splits FFTs of lines that store results in a transpose's target by mode k_x. The last part also zeroes unused modes.
void Fft::Impl::take_permuted(fft::Move& move, const Step& lines) {
  move.lines = {lines.from, lines.to};
  const int parts = static_cast<int>(move.parts.size());
  for (int n = 0; n < parts; ++n) {
    Part& part = move.parts[static_cast<std::size_t>(n)];
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const fft::Batch& all = lines.batches[i];
      part.lines.emplace_back();
      part.begin.push_back({0, 0});
      if (!all.lines.count) continue;
      auto [first, behind] = modes_of_part(n, parts);
      fft::LineBatch batch = all.lines;
      if (n + 1 == parts) {
        if (behind < batch.rows) batch.read = behind - first;
        behind = batch.rows;
      } else {
        batch.read = -1;
      }
      batch.from.row = batch.rows;
      batch.rows = behind - first;
      batch.count = batch.rows * all.block[2];
      part.lines.back() = fft::make_lines(local[i], batch);
      part.begin.back() = {2 * cut.word() * first * all.block[0], 2 * cut.word() * first};
    }
  }
}

// Runs a transpose in parts. While line transforms store one part at its targets, others transform the part before it.
void Fft::Impl::stored_in_parts(Lane& lane, Step& step, const std::vector<const void*>& from,
                                std::vector<Stream>& streams, const With& with) {
  fft::Move& move = *step.move;
  if (move.clears) clear(lane, step, streams);
  const std::size_t parts = move.parts.size();
  meet(streams, line_streams);
  move.whole().open(streams);
  for (std::size_t n = 0; n < parts + lag; ++n) {
    const Part* const stores = n < parts ? &move.parts[n] : nullptr;
    const Part* const follows = n >= lag ? &move.parts[n - lag] : nullptr;
    if (follows) follows->exchange->end(streams);
    store_part(lane, step, stores, follows, from, streams, with);
    if (stores) stores->exchange->post(streams);
    if (n > 0) continue;
    for (std::size_t later = 1; later < parts; ++later) move.parts[later].exchange->open(line_streams);
    meet(line_streams, streams);
  }
}

/// Transforms one part of the lines, storing results at the receivers, and transforms another part that has arrived.
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
        storing->run_concurrently(streams[i], read, work(step.from), *stores->exchange, *following, end_of_lines(0),
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
