#include "route/tiles.hpp"

#include <algorithm>
#include <cstdlib>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

/// Large enough to pay for taking a tile, small enough that every team has some.
std::int64_t tile_bytes_for(std::int64_t all, int teams) {
  return std::clamp<std::int64_t>(all / (2 * std::max(1, teams)), 4096, 65536);
}

bool equal(const Ring& a, const Ring& b) {
  return a.bytes == b.bytes && a.depth == b.depth && a.chunks == b.chunks && a.chunk == b.chunk;
}

/// Rows of fewer bytes are moved with those of their twin at the other end of the same rows, whose values share pages
/// of device memory with them.
constexpr std::int64_t thin_row = 64;

/// Words from a box to its twin; false where there is none to speak of.
bool twins(const Mover& a, const Mover& b, std::int64_t& source, std::int64_t& target) {
  if (a.op != Op::copy || a.word != b.word || a.source_ids || a.target_ids || b.source_ids || b.target_ids)
    return false;
  if (a.extent[0] * a.word >= thin_row || a.extent[1] * a.extent[2] < 2) return false;
  for (int d = 0; d < 3; ++d)
    if (a.extent[d] != b.extent[d] || a.source_stride[d] != b.source_stride[d] ||
        a.target_stride[d] != b.target_stride[d])
      return false;
  if (!equal(a.source_ring, b.source_ring) || !equal(a.target_ring, b.target_ring)) return false;
  const std::int64_t from = b.source - a.source, to = b.target - a.target;
  if (from % a.word || to % a.word) return false;
  source = from / a.word, target = to / a.word;
  const auto near = [](std::int64_t delta, std::int64_t row) { return std::abs(delta) <= row; };
  return near(source, a.source_stride[1]) || near(target, a.target_stride[1]);
}

struct Piece {
  Work work;
  std::int64_t words = 0;
  std::int64_t width = 1;
};

Piece piece_of(const Mover& m) {
  require(m.extent[0] < 0x3f000000 && m.extent[1] * m.extent[2] < 0x3f000000,
          "a box of more than 2^30 words along one axis, or rows, cannot be moved");
  Piece piece{{}, m.words(), m.extent[0]};
  Work& w = piece.work;
  w.source.base = const_cast<std::byte*>(m.source);  // only read
  w.target.base = m.target;
  std::copy(m.source_stride, m.source_stride + 3, w.source.stride);
  std::copy(m.target_stride, m.target_stride + 3, w.target.stride);
  w.width = Divisor(m.extent[0]);
  w.height = Divisor(m.extent[1]);
  w.source_ring = m.source_ring;
  w.target_ring = m.target_ring;
  w.source_ids = m.source_ids;
  w.target_ids = m.target_ids;
  w.contributions = m.contributions;
  w.contribution_count = m.contribution_count;
  w.own = m.own;
  w.op = m.op;
  w.type = m.type;
  w.word = static_cast<std::uint8_t>(m.word);
  return piece;
}

/// The movers of a batch, twins joined.
std::vector<Piece> pieces_of(const std::vector<Mover>& movers) {
  std::vector<Piece> pieces;
  std::vector<bool> taken(movers.size());
  for (std::size_t i = 0; i < movers.size(); ++i) {
    if (taken[i] || movers[i].words() == 0) continue;
    Piece piece = piece_of(movers[i]);
    for (std::size_t j = i + 1; j < movers.size() && !piece.work.fold_shift; ++j)
      if (!taken[j] && twins(movers[i], movers[j], piece.work.source.fold, piece.work.target.fold)) {
        piece.work.fold_shift = 1;
        piece.words *= 2;
        taken[j] = true;
      }
    pieces.push_back(piece);
  }
  return pieces;
}

/// Rows stay whole where a tile holds several.
void cut_piece(const Piece& piece, std::int64_t tile_bytes, std::vector<Tile>& out) {
  std::int64_t each = std::max<std::int64_t>(1, tile_bytes / piece.work.word);
  if (each > piece.width) each -= each % piece.width;
  Tile tile;
  tile.work = piece.work;
  for (tile.first = 0; tile.first < piece.words; tile.first += each) {
    tile.count = static_cast<std::int32_t>(std::min(each, piece.words - tile.first));
    tile.x = static_cast<std::uint32_t>(tile.first % piece.width);
    tile.row = static_cast<std::uint32_t>(tile.first / piece.width);
    out.push_back(tile);
  }
}

/// Works of fewer words share a tile.
constexpr std::int64_t small_work = 512;
constexpr int smalls_in_tile = 16;

/// The tiles of one batch's movers; those of small works come last.
std::vector<Tile> cut_movers(const std::vector<Mover>& movers, std::int64_t tile_bytes, std::vector<Work>& smalls) {
  std::vector<Tile> tiles, tail;
  for (const Piece& piece : pieces_of(movers)) {
    if (piece.words >= small_work) {
      cut_piece(piece, tile_bytes, tiles);
      continue;
    }
    if (tail.empty() || tail.back().smalls == smalls_in_tile) {
      tail.emplace_back();
      tail.back().first_small = static_cast<std::int32_t>(smalls.size());
    }
    ++tail.back().smalls;
    smalls.push_back(piece.work);
    smalls.back().words = static_cast<std::int32_t>(piece.words);
  }
  tiles.insert(tiles.end(), tail.begin(), tail.end());
  return tiles;
}

struct Ordered {
  Tile tile;
  double key;
};

const std::vector<Mover>& movers_of(const Scheduled& s, int binding) {
  static const std::vector<Mover> none;
  return s.batch->movers.empty() ? none : s.batch->movers[static_cast<std::size_t>(binding)];
}

}  // namespace

bool combines(const std::vector<Scheduled>& batches, int binding) {
  return std::any_of(batches.begin(), batches.end(), [&](const Scheduled& s) {
    const auto& movers = movers_of(s, binding);
    return std::any_of(movers.begin(), movers.end(), [](const Mover& m) { return m.op != Op::copy; });
  });
}

Table cut(const std::vector<Scheduled>& batches, int binding, int teams) {
  Table table;
  for (const Scheduled& s : batches)
    for (const Mover& m : movers_of(s, binding)) table.bytes += m.words() * m.word;
  const std::int64_t tile_bytes = tile_bytes_for(table.bytes, teams);
  std::vector<Ordered> ordered;
  for (std::size_t index = 0; index < batches.size(); ++index) {
    const Scheduled& s = batches[index];
    const Batch& batch = *s.batch;
    std::vector<Tile> tiles = cut_movers(movers_of(s, binding), tile_bytes, table.smalls);
    if (tiles.empty()) tiles.emplace_back();
    const BatchInfo info{static_cast<std::uint32_t>(tiles.size()),       static_cast<std::int32_t>(table.waits.size()),
                         static_cast<std::int32_t>(batch.before.size()), static_cast<std::int32_t>(table.posts.size()),
                         static_cast<std::int32_t>(batch.after.size()),  s.stamp};
    table.waits.insert(table.waits.end(), batch.before.begin(), batch.before.end());
    table.posts.insert(table.posts.end(), batch.after.begin(), batch.after.end());
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      tiles[t].batch = static_cast<std::uint32_t>(index);
      tiles[t].info = info;
      if (!batch.before.empty()) tiles[t].wait = batch.before.front();
      const double part = static_cast<double>(t) / static_cast<double>(tiles.size());
      ordered.push_back({tiles[t], s.from + (s.to - s.from) * part});
    }
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Ordered& a, const Ordered& b) { return a.key < b.key; });
  for (const Ordered& o : ordered) table.tiles.push_back(o.tile);
  return table;
}

}  // namespace slipstream
