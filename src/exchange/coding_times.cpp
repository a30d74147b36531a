#include <algorithm>
#include <limits>

#include <slipstream/stream.hpp>

#include "exchange/launches.hpp"
#include "mover/coded_movers.hpp"
#include "mover/moves.hpp"

namespace slipstream {
namespace {

constexpr int timed_runs = 3;

/// Microseconds of a launch by events on the stream: the minimum of a few runs after a warm-up.
double least_us(Stream& stream, const Moves& moves) {
  moves.run(stream, 1);
  double best = std::numeric_limits<double>::infinity();
  for (int n = 0; n < timed_runs; ++n) {
    const Event before(stream.device(), true), after(stream.device(), true);
    stream.record(before);
    moves.run(stream, 1);
    stream.record(after);
    after.synchronize();
    best = std::min(best, 1e3 * milliseconds(before, after));
  }
  return best;
}

std::int64_t code_bytes_of(const Mover& m) {
  const Extent box{m.extent[0], m.extent[1], m.extent[2]};
  if (m.wire.by_value()) return m.words() * target_word(m);
  return static_cast<std::int64_t>(m.wire.bytes_of(m.type, box, m.block));
}

/// A mover (one copy of a message) that decodes its values into contiguous memory.
Mover decoding(const Mover& m, std::byte* to) {
  Mover back = m;
  back.recode = Recode::decode;
  back.source = m.target;
  back.source_array = -1;
  back.source_ids = back.target_ids = nullptr;
  back.source_ring = {};
  std::copy(m.target_stride, m.target_stride + 3, back.source_stride);
  back.target = to;
  back.target_stride[0] = 1;
  back.target_stride[1] = m.extent[0];
  back.target_stride[2] = m.extent[0] * m.extent[1];
  if (m.wire.by_value()) back.word = target_word(m);
  return back;
}

}  // namespace

CodingTimes time_coding(Device device, std::vector<Mover> encoding, const Arrays& arrays) {
  std::vector<Buffer<std::byte>> memory;
  const auto room = [&](std::int64_t bytes) {
    return memory.emplace_back(device, static_cast<std::size_t>(bytes)).data();
  };
  std::vector<Mover> back;
  for (Mover& m : encoding) {
    m.target = room(code_bytes_of(m));
    m.target_array = -1;
    m.target_ring = {};
    back.push_back(decoding(m, room(m.words() * m.word)));
  }
  // The timed kernels use signals and a failure record of their own. Values may have changed since the exchange, and an
  // overflow here is not the exchange's.
  Buffer<Signal> signals(device, 4);
  Buffer<Failure> failure(device, 1, Memory::pinned);
  *failure.data() = {};
  Stream stream(device);
  fill(stream, signals.data(), 0, signals.bytes());
  const Pulse pulse{signals.data(), failure.data(), signals.data() + 1, 1};
  const Moves encode(device, std::move(encoding), &arrays, Knobs{}, pulse);
  const Moves decode(device, std::move(back), nullptr, Knobs{}, pulse);
  CodingTimes times;
  times.encode_us = least_us(stream, encode);
  times.decode_us = least_us(stream, decode);
  stream.synchronize();
  return times;
}

}  // namespace slipstream
