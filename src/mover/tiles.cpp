#include "mover/tiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <slipstream/error.hpp>

#include "mover/coded_movers.hpp"

namespace slipstream {
namespace {

/// Bytes per tile: enough to pay for taking a tile, and few enough that all thread blocks end at about the same time.
std::int64_t tile_bytes_for(std::int64_t all, int teams) {
  return std::clamp<std::int64_t>(all / (6 * std::max(1, teams)), 4096, 32768);
}

constexpr std::int64_t line_bytes = 128;  // bytes of a cache line of memory

/// Rows of fewer bytes are thin. They are moved together with those of the box at the other end of the same array rows
/// (the twin). Both share pages of device memory.
constexpr std::int64_t thin_row = 64;

/// Shortest side of a transpose in words. Smaller transposes are moved as rows.
constexpr std::int64_t least_side = 8;

/// Axis along which words are contiguous at the target, if it differs from the source's; else 0.
int transposed_axis(const Mover& m) {
  if (values_of(m) > 1) return 0;
  if (m.op != Op::copy || m.source_ids || m.target_ids || m.packets != Mover::Packets::none) return 0;
  if (!m.wire.by_value()) return 0;
  if (m.source_stride[0] != 1 || m.target_stride[0] == 1 || m.extent[0] < least_side) return 0;
  for (const int axis : {1, 2})
    if (m.target_stride[axis] == 1 && m.extent[axis] >= least_side) return axis;
  return 0;
}
bool is_transpose(const Mover& m) { return transposed_axis(m) != 0; }

/// Distance in words from a box to its twin, the box at the other end of the same rows of an array.
struct Twin {
  std::int64_t source = 0, target = 0;
};

/// Whether a copy moves a box of several short rows, which may be merged with one at the other end of the array's rows.
bool may_have_twin(const Mover& m) {
  if (m.recode != Recode::none && (m.word > 8 || values_of(m) > 1 || !m.wire.by_value())) return false;
  return m.op == Op::copy && !is_transpose(m) && !m.source_ids && !m.target_ids && m.packets == Mover::Packets::none &&
         m.extent[0] * m.word < thin_row && m.extent[1] * m.extent[2] >= 2;
}

/// Distance between the boxes of copies a and b, if they lie at both ends of the same array rows (twins); else none.
std::optional<Twin> twin(const Mover& a, const Mover& b) {
  if (!may_have_twin(a) || !may_have_twin(b) || a.word != b.word) return {};
  if (a.recode != b.recode || a.wire != b.wire || (a.recode != Recode::none && a.item != b.item)) return {};
  if (a.source_array != b.source_array || a.target_array != b.target_array) return {};
  for (const auto of_axes : {&Mover::extent, &Mover::source_stride, &Mover::target_stride})
    if (!std::ranges::equal(a.*of_axes, b.*of_axes)) return {};
  if (a.source_ring != b.source_ring || a.target_ring != b.target_ring) return {};
  const std::int64_t from = b.source - a.source, to = b.target - a.target;
  if (from % a.word || to % target_word(a)) return {};
  const Twin found{from / a.word, to / target_word(a)};
  const auto near = [](std::int64_t delta, std::int64_t row) { return std::abs(delta) <= row; };
  if (!near(found.source, a.source_stride[1]) && !near(found.target, a.target_stride[1])) return {};
  return found;
}

/// Finds pairs of copies whose boxes lie at both ends of the same array rows, so that they can be merged. At source or
/// target the boxes are at most a row apart, so a search in sorted addresses replaces comparing all pairs.
class Twins {
 public:
  explicit Twins(const std::vector<Mover>& movers) : movers_(movers) {
    for (std::size_t n = 0; n < movers.size(); ++n) {
      if (!may_have_twin(movers[n])) continue;
      for (const int end : {0, 1}) begins_[end].emplace_back(address(n, end), n);
    }
    for (auto& of_end : begins_) std::sort(of_end.begin(), of_end.end());
  }

  struct Found {
    std::size_t mover;
    Twin twin;
  };
  /// Finds, after box number n to copy, the first box not joined yet that is at the other end of the same array rows.
  std::optional<Found> of(std::size_t n, const std::vector<bool>& taken) const {
    const Mover& m = movers_[n];
    std::optional<Found> first;
    if (!may_have_twin(m)) return first;
    for (const int end : {0, 1}) {
      const std::int64_t row = end == 0 ? m.word * m.source_stride[1] : target_word(m) * m.target_stride[1];
      const std::int64_t at = address(n, end);
      auto other = std::lower_bound(begins_[end].begin(), begins_[end].end(), Begin{at - row, 0});
      for (; other != begins_[end].end() && other->first <= at + row; ++other) {
        const std::size_t j = other->second;
        if (j <= n || taken[j] || (first && j >= first->mover)) continue;
        if (const auto found = twin(m, movers_[j])) first = {j, *found};
      }
    }
    return first;
  }

 private:
  using Begin = std::pair<std::int64_t, std::size_t>;

  std::int64_t address(std::size_t n, int end) const {
    const std::byte* const at = end == 0 ? movers_[n].source : movers_[n].target;
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at));
  }

  const std::vector<Mover>& movers_;
  std::vector<Begin> begins_[2];  // addresses and indices of the copies, sorted by source address and by target address
};

bool is_dense(const std::int64_t (&stride)[3], const std::int64_t (&extent)[3]) {
  return stride[0] == 1 && stride[1] == extent[0] && stride[2] == extent[0] * extent[1];
}

struct Piece {
  Work work;
  std::int64_t words = 0;  ///< number of words in the copied box; for packets, the number of packets
  std::int64_t width = 1;  ///< number of words per row of the copied box
  std::int64_t bytes = 0;  ///< number of bytes per word
};

/// A seam is the memory between the end of a row and the start of the next. A short seam shares its sectors with words
/// of both boxes.
constexpr std::int64_t wide_seam = 64;  // two boxes and the gap between them are joined up to this width in bytes

/// Joins two copies if their packed values go to the two ends of the same array rows; else returns false.
bool join_as_seam(const Mover& a, const Mover& b, const Twin& twin, Piece& piece) {
  if (!is_dense(a.source_stride, a.extent) || a.target_stride[0] != 1 || a.extent[1] < 2) return false;
  const int parts = a.word == 16 ? 2 : 1;
  if (!seam_words(static_cast<std::size_t>(a.word / parts))) return false;
  const std::int64_t thin = a.extent[0], row = a.target_stride[1];
  // Boxes a and b are at both ends of the same array rows. The one with lower addresses counts as the first.
  const bool swapped = twin.target < 0;
  // distance in words from the box at the end of an array row to the box at the start of the next row
  const std::int64_t gap = row - std::abs(twin.target);
  const std::int64_t span = gap + thin;
  if (gap < thin || span * target_word(a) > wide_seam) return false;
  Work& w = piece.work;
  w.word = static_cast<std::uint8_t>(a.word / parts);
  w.form = Form::seam;
  w.fills_gaps = a.free_gaps && b.free_gaps;
  w.thin = static_cast<std::uint32_t>(thin * parts);
  w.width = Divisor(span * parts);
  w.height = Divisor(a.extent[1] + 1);
  if (swapped) w.source.base += twin.source * a.word;
  w.source.fold = (swapped ? -twin.source : twin.source) * parts;
  w.target.base += ((swapped ? 0 : twin.target) - row) * target_word(a);
  for (const int axis : {1, 2}) w.target.stride[axis] *= parts;
  piece.width = span * parts;
  piece.words = piece.width * (a.extent[1] + 1) * a.extent[2];
  piece.bytes = w.word;
  return true;
}

/// Joins two boxes whose packed targets are interleaved word by word. Returns false if that is not the case.
bool join_as_pair(const Mover& a, const Twin& twin, Piece& piece) {
  if (!is_dense(a.target_stride, a.extent)) return false;
  const int parts = a.word == 16 ? 2 : 1;
  if (parts > 1 && a.source_stride[0] != 1) return false;
  Work& w = piece.work;
  w.form = Form::pair;
  w.word = static_cast<std::uint8_t>(a.word / parts);
  w.width = Divisor(a.extent[0] * parts);
  for (End* end : {&w.source, &w.target})
    for (const int axis : {1, 2}) end->stride[axis] *= parts;
  w.source.fold = twin.source * parts;
  w.target.fold = twin.target * parts;
  piece.width *= parts;
  piece.words *= parts;
  piece.bytes = 2 * w.word;
  return true;
}

void join(const Mover& a, const Mover& b, const Twin& twin, Piece& piece) {
  if (join_as_seam(a, b, twin, piece) || join_as_pair(a, twin, piece)) return;
  piece.work.form = Form::turns;
  piece.work.source.fold = twin.source;
  piece.work.target.fold = twin.target;
  piece.words *= 2;
}

Form form_of(const Mover& m) {
  if (!m.wire.by_value()) return Form::blocks;
  if (is_transpose(m)) return Form::transpose;
  if (m.packets != Mover::Packets::none)
    return m.packets == Mover::Packets::target ? Form::to_packets : Form::from_packets;
  return m.source_ids || m.target_ids ? Form::list : Form::box;
}

/// Address of a copy's source or target for the kernel: absolute, or an offset in an array that may be replaced.
std::int64_t held(const std::byte* address, int array, const Arrays* arrays) {
  if (array < 0) return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(address));
  return address - arrays->planned.at(static_cast<std::size_t>(array));
}

/// Reorders the axes of a transposing copy, so that its target is contiguous along the second axis.
Mover with_target_rows_second(Mover m) {
  if (transposed_axis(m) == 2)
    for (auto* of_axes : {m.extent, m.source_stride, m.target_stride}) std::swap(of_axes[1], of_axes[2]);
  return m;
}

Piece piece_of(const Mover& given, const Arrays* arrays) {
  const Mover m = with_target_rows_second(given);
  require(m.extent[0] < 0x3f000000 && m.extent[1] * m.extent[2] < 0x3f000000, ErrorCode::unsupported,
          "a box of more than 2^30 words along one axis, or rows, cannot be moved");
  Piece piece{{}, m.words(), m.extent[0], m.word};
  Work& w = piece.work;
  w.form = form_of(m);
  w.source.base = held(m.source, m.source_array, arrays);
  w.target.base = held(m.target, m.target_array, arrays);
  w.source.array = m.source_array;
  w.target.array = m.target_array;
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
  w.values = static_cast<std::uint8_t>(values_of(m));
  w.recode = m.recode;
  w.wire = m.wire;
  require(m.item <= UINT16_MAX, ErrorCode::unsupported, "an exchange has more than 65536 items");
  w.item = static_cast<std::uint16_t>(m.item);
  if (w.form == Form::blocks) {
    const Extent blocks = blocks_of({m.extent[0], m.extent[1], m.extent[2]}, m.block);
    std::copy(m.extent, m.extent + 3, w.cells);
    w.block = m.block;
    w.width = Divisor(blocks[0]);
    w.height = Divisor(blocks[1]);
    return {w, volume(blocks), blocks[0], std::int64_t{m.word} * m.block.cells()};
  }
  if (m.packets == Mover::Packets::none) return piece;
  require(m.word == 4 && m.words() < 0x3f000000, ErrorCode::unsupported,
          "lines hold words of 4 bytes, and fewer than 2^30 of one box");
  w.words = static_cast<std::int32_t>(m.words());
  return {w, packets_for(m.words()), 1, sizeof(Packet)};
}

/// Splits a batch of copies into work units: one per copy, or one for two copies at both ends of the same array rows.
std::vector<Piece> pieces_of(const std::vector<Mover>& movers, const Arrays* arrays) {
  const Twins twins(movers);
  std::vector<Piece> pieces;
  std::vector<bool> taken(movers.size());
  for (std::size_t i = 0; i < movers.size(); ++i) {
    if (taken[i] || movers[i].words() == 0) continue;
    Piece piece = piece_of(movers[i], arrays);
    if (const auto other = twins.of(i, taken)) {
      join(movers[i], movers[other->mover], other->twin, piece);
      taken[other->mover] = true;
    }
    pieces.push_back(piece);
  }
  return pieces;
}

/// Cuts a transpose into squares that fit in shared memory, plane by plane.
void cut_transpose(const Piece& piece, std::vector<Tile>& out) {
  Tile tile;
  tile.work = piece.work;
  const std::uint32_t width = piece.work.width.by, height = piece.work.height.by;
  const std::uint32_t along_x = square_along_x(piece.work.word), along_y = square_along_y(piece.work.word);
  const std::int64_t planes = piece.words / (std::int64_t{width} * height);
  for (tile.first = 0; tile.first < planes; ++tile.first)
    for (tile.row = 0; tile.row < height; tile.row += along_y)
      for (tile.x = 0; tile.x < width; tile.x += along_x) {
        tile.count =
            static_cast<std::int32_t>(std::min(along_x, width - tile.x) * std::min(along_y, height - tile.row));
        out.push_back(tile);
      }
}

/// Number of blocks of cells that one thread block encodes or decodes in one go (a tile). All its threads code four
/// cells at a time. Such tiles hold twice the usual bytes, because coding takes longer to start.
std::int64_t blocks_in_tile(const Piece& piece, std::int64_t tile_bytes) {
  const std::int64_t turn = 4 * team_threads / piece.work.block.cells();
  return std::max<std::int64_t>(1, 2 * tile_bytes / piece.bytes / turn) * turn;
}

/// Cuts a copy into tiles. If a tile holds several rows, it holds whole rows. If it holds many, tiles of packed rows
/// start and end at cache lines, which cross links faster.
void cut_piece(const Piece& piece, std::int64_t tile_bytes, std::vector<Tile>& out) {
  // packets cross the link once and need no fence, so their tiles may be larger
  if (form_is_packets(piece.work.form)) tile_bytes *= 2;
  std::int64_t each = std::max<std::int64_t>(1, tile_bytes / piece.bytes);
  const std::int64_t row = piece.width * piece.work.word,
                     lines = piece.width * (line_bytes / std::gcd(row, line_bytes));
  each -= each > lines ? each % lines : each > piece.width ? each % piece.width : 0;
  if (piece.work.form == Form::blocks) each = blocks_in_tile(piece, tile_bytes);
  Tile tile;
  tile.work = piece.work;
  for (tile.first = 0; tile.first < piece.words; tile.first += each) {
    tile.count = static_cast<std::int32_t>(std::min(each, piece.words - tile.first));
    tile.x = static_cast<std::uint32_t>(tile.first % piece.width);
    tile.row = static_cast<std::uint32_t>(tile.first / piece.width);
    out.push_back(tile);
  }
}

/// Copies of fewer bytes than this are moved together, up to 16 of them, by one thread block.
constexpr std::int64_t small_work = 1024;
constexpr int smalls_in_tile = 16;

/// Cuts the copies of a batch into tiles, the work of one thread block each. Tiles that join small copies come last.
std::vector<Tile> cut_movers(const std::vector<Mover>& movers, const Arrays* arrays, std::int64_t tile_bytes,
                             std::vector<Work>& smalls) {
  std::vector<Tile> tiles, tail;
  for (const Piece& piece : pieces_of(movers, arrays)) {
    if (piece.words * piece.bytes >= small_work) {
      piece.work.form == Form::transpose ? cut_transpose(piece, tiles) : cut_piece(piece, tile_bytes, tiles);
      continue;
    }
    if (tail.empty() || tail.back().smalls == smalls_in_tile) {
      tail.emplace_back();
      tail.back().first_small = static_cast<std::int32_t>(smalls.size());
    }
    ++tail.back().smalls;
    smalls.push_back(piece.work);
    if (smalls.back().form == Form::transpose) smalls.back().form = Form::box;
    if (!smalls.back().words) smalls.back().words = static_cast<std::int32_t>(piece.words);
  }
  tiles.insert(tiles.end(), tail.begin(), tail.end());
  return tiles;
}

}  // namespace

Work whole_work(const Mover& mover, const Arrays* arrays) {
  const Piece piece = piece_of(mover, arrays);
  Work work = piece.work;
  work.words = static_cast<std::int32_t>(piece.words);
  return work;
}

bool combines(const std::vector<Scheduled>& batches) {
  return std::any_of(batches.begin(), batches.end(), [&](const Scheduled& s) {
    const auto& movers = s.batch->movers;
    return std::any_of(movers.begin(), movers.end(), [](const Mover& m) { return m.op != Op::copy; });
  });
}

Coded coded(const std::vector<Scheduled>& batches) {
  Coded found = Coded::none;
  for (const Scheduled& s : batches)
    for (const Mover& m : s.batch->movers)
      if (m.recode != Recode::none) found = std::max(found, m.wire.by_value() ? Coded::by_value : Coded::in_blocks);
  return found;
}

int own_coding_of(const std::vector<Scheduled>& batches) {
  int found = 0;
  for (const Scheduled& s : batches)
    for (const Mover& m : s.batch->movers)
      if (m.recode != Recode::none) found = std::max<int>(found, m.wire.number);
  return found;
}

bool transposes(const Table& table) {
  return std::any_of(table.tiles.begin(), table.tiles.end(),
                     [](const Tile& tile) { return !tile.smalls && tile.work.form == Form::transpose; });
}

Table cut(const std::vector<Scheduled>& batches, const Arrays* arrays, int teams) {
  Table table;
  for (const Scheduled& s : batches)
    for (const Mover& m : s.batch->movers) table.bytes += m.words() * m.word;
  const std::int64_t tile_bytes = tile_bytes_for(table.bytes, teams);
  std::vector<std::pair<double, Tile>> ordered;  // tiles (shares of copy work) with their positions in the launch
  std::map<int, BatchInfo> families;
  for (std::size_t index = 0; index < batches.size(); ++index) {
    const Scheduled& s = batches[index];
    const Batch& batch = *s.batch;
    std::vector<Tile> tiles = cut_movers(batch.movers, arrays, tile_bytes, table.smalls);
    if (tiles.empty()) tiles.emplace_back();
    const BatchInfo info{static_cast<std::uint32_t>(tiles.size()),
                         static_cast<std::uint32_t>(index),
                         static_cast<std::int32_t>(table.waits.size()),
                         static_cast<std::int32_t>(batch.before.size()),
                         static_cast<std::int32_t>(table.posts.size()),
                         static_cast<std::int32_t>(batch.after.size()),
                         s.stamp};
    if (batch.family)
      if (const auto [first, is_first] = families.try_emplace(batch.family, info); !is_first)
        first->second.tiles += info.tiles;
    table.waits.insert(table.waits.end(), batch.before.begin(), batch.before.end());
    table.posts.insert(table.posts.end(), batch.after.begin(), batch.after.end());
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      tiles[t].batch = static_cast<std::uint32_t>(index);
      tiles[t].info = info;
      tiles[t].wait.peer = batch.peer;
      if (!batch.before.empty()) tiles[t].wait = batch.before.front();
      const double part = static_cast<double>(t) / static_cast<double>(tiles.size());
      ordered.emplace_back(s.from + (s.to - s.from) * part, tiles[t]);
    }
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [position, cut_tile] : ordered) {
    Tile& tile = table.tiles.emplace_back(cut_tile);
    if (const auto family = families.find(batches[tile.batch].batch->family); family != families.end()) {
      tile.info.tiles = family->second.tiles;
      tile.info.counter = family->second.counter;
    }
  }
  return table;
}

}  // namespace slipstream
