#include "mover/moves.hpp"

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

std::int64_t ring_bytes(const Ring& ring, std::uint64_t sequence) {
  if (!ring.bytes) return 0;
  const std::int64_t chunk = static_cast<std::int64_t>(sequence - 1) * ring.chunks + ring.chunk;
  return chunk % ring.depth * ring.bytes;
}

/// Distance in bytes from an array's address at planning time to its current one.
std::ptrdiff_t moved(const Arrays* arrays, int array) {
  return array < 0 ? 0 : arrays->on_host()[array] - arrays->planned[static_cast<std::size_t>(array)];
}

void copy_mover(Stream& stream, const Mover& m, const Arrays* arrays, std::uint64_t sequence) {
  const std::byte* from = m.source + moved(arrays, m.source_array) + ring_bytes(m.source_ring, sequence);
  std::byte* to = m.target + moved(arrays, m.target_array) + ring_bytes(m.target_ring, sequence);
  const auto pitch = [&](const std::int64_t* stride, int axis) {
    return Pitch{static_cast<std::size_t>(stride[axis] * m.word), static_cast<std::size_t>(stride[axis + 1] * m.word)};
  };
  if (m.source_stride[0] == 1 && m.target_stride[0] == 1) {
    copy_box(stream, to, pitch(m.target_stride, 1), from, pitch(m.source_stride, 1),
             {m.extent[0] * m.word, m.extent[1], m.extent[2]});
    return;
  }
  // Words that are not contiguous are copied as rows of one word.
  for (std::int64_t z = 0; z < m.extent[2]; ++z)
    copy_box(stream, to + z * m.target_stride[2] * m.word, pitch(m.target_stride, 0),
             from + z * m.source_stride[2] * m.word, pitch(m.source_stride, 0), {m.word, m.extent[0], m.extent[1]});
}

}  // namespace

Moves::Moves(Device device, std::vector<Mover> movers, const Arrays* arrays, const Knobs& knobs, const Pulse& pulse)
    : arrays_(arrays), pulse_(pulse) {
  if (knobs.pack == Pack::memcpy3d) {
    for (const Mover& m : movers) {
      require(m.recode == Recode::none, ErrorCode::unsupported,
              "pack = memcpy3d copies values as they are, and an item is to be cast: choose the coding raw, or another "
              "pack",
              {{"option", "pack"}, {"given", "memcpy3d"}, {"problem", "coding"}});
      require(!m.source_ids && !m.target_ids, ErrorCode::unsupported,
              "pack = memcpy3d copies boxes, and this pattern lists elements: choose fused or per_direction",
              {{"option", "pack"}, {"given", "memcpy3d"}, {"problem", "lists"}});
    }
    boxes_ = std::move(movers);
    return;
  }
  Batch batch;
  batch.movers = std::move(movers);
  program_ = Program(device, {{&batch, 0, 0, 0}}, arrays, knobs.teams);
}

void Moves::run(Stream& stream, std::uint64_t sequence) const {
  if (boxes_.empty()) return program_.run(stream, pulse_, false);
  for (const Mover& m : boxes_) copy_mover(stream, m, arrays_, sequence);
}

}  // namespace slipstream
