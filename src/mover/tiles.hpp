#pragma once
// Copies of a launch in the form that thread blocks read: ordered tiles (parts of copies) of about equal work.
#include <bit>
#include <cstdint>
#include <vector>

#include <slipstream/device/function.hpp>
#include <slipstream/signal.hpp>

#include "mover/ends.hpp"
#include "mover/program.hpp"

namespace slipstream {

/// Divides numbers below 2^31 by a constant with one multiplication and one shift.
struct Divisor {
  std::uint32_t factor = 0, shift = 0, by = 1;
  Divisor() = default;
  explicit Divisor(std::int64_t d) : by(static_cast<std::uint32_t>(d)) {
    const int bits = std::bit_width(static_cast<std::uint64_t>(d - 1));
    shift = 31 + bits;
    factor = static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + d - 1) / d);
  }
  SLIP_FN std::uint32_t of(std::uint32_t n) const {
    return by == 1 ? n : static_cast<std::uint32_t>((static_cast<std::uint64_t>(n) * factor) >> shift);
  }
};

/// Source or target of a copied box. Word (x, y, z) is at x stride[0] + y stride[1] + z stride[2]. A copy may move two
/// boxes of equal extents; the words of the second box lie `fold` words behind those of the first.
struct End {
  std::int64_t base = 0;               ///< address of the first word, or its offset in bytes in array number `array`
  std::int32_t array = -1;             ///< number of the array in the table Arrays; -1: `base` is an address
  std::int64_t stride[3] = {0, 0, 0};  ///< strides of the box along x, y, z, in words (units that the copy moves)
  std::int64_t fold = 0;
};

/// Method by which a copy visits its words, the units of loads and stores. The sketch shows two boxes A and B, thin
/// (three words wide), at both ends of an array's rows. `.` is another cell of the array, `|` is the start of a row. On
/// the right, each method is followed by the order in which it moves the words:
///
///     row 0 | A0 A1 A2 . . . . . B0 B1 B2          turns  A0 A1 A2, B0 B1 B2, A3 A4 A5, B3 B4 B5
///     row 1 | A3 A4 A5 . . . . . B3 B4 B5          pair   A0 B0, A1 B1, A2 B2, A3 B3 ...
///
///     in memory  ... . B0 B1 B2 | A3 A4 A5 . ...   seam   B0 B1 B2 A3 A4 A5, which are neighbours
///
/// The distance in words from a word of the first box to the same word of the second box is End::fold.
enum class Form : std::uint8_t {
  box,    ///< copies one box of words, row by row
  turns,  ///< copies two boxes whose rows have few words: one row of the first box, then one of the second, in turn
  pair,   ///< moves one memory word (up to 8 bytes) of each of two boxes of thin rows in turn, to adjacent target words
  seam,   ///< copies two packed boxes of thin rows into the gaps between rows of an array, as at x-faces
  transpose,     ///< copies a box that is contiguous along x at the source, along y at the target, via shared memory
  list,          ///< copies elements by a list of indices, of the source, the target or both
  blocks,        ///< encodes or decodes the values of a box or list, in blocks of cells
  to_packets,    ///< packs a box into latency-optimised packets
  from_packets,  ///< unpacks latency-optimised packets into a box
};

/// Number of threads per thread block of the copying kernel on a GPU.
constexpr int team_threads = 512;

/// Shared memory in bytes for a square of a transpose, and the sides of the square. Rows are padded by one word along
/// y, which avoids bank conflicts between columns.
constexpr int square_bytes = 34 * 1024;
SLIP_FN constexpr std::uint32_t square_along_x(std::uint32_t word) { return word > 8 ? 32 : 64; }
SLIP_FN constexpr std::uint32_t square_along_y(std::uint32_t) { return 64; }

/// Whether a copy to seams (the end of an array row and the start of the next) supports words of `word` bytes.
constexpr bool seam_words(std::size_t word) { return word == 4 || word == 8; }

/// A copy of a box or list of words, or of two boxes at once, in the form that the copying kernel reads.
struct Work {
  End source, target;
  Divisor width, height;
  Form form = Form::box;
  /// With Form::seam: words per row of each of two boxes, which fill both ends of an array's rows. A seam joins
  /// two rows of the array. It has `width` words: row y - 1 of the second box, a gap, and row y of the first box.
  std::uint32_t thin = 0;
  bool fills_gaps = false;  ///< whether padding between array rows is stored, too; whole memory sectors are faster
  std::int32_t words = 0;   ///< number of words of the copy, also if these travel in packets
  Ring source_ring, target_ring;
  const std::int64_t *source_ids = nullptr, *target_ids = nullptr;
  const Contribution* contributions = nullptr;
  std::int32_t contribution_count = 0, own = 0;
  Op op = Op::copy;
  DType type = DType::f32;
  std::uint8_t word = 4;    ///< size in bytes of the unit (word) in which the copy reads its source
  std::uint8_t values = 1;  ///< values per word, if they are encoded or decoded
  Recode recode = Recode::none;
  Wire wire = Wire::same;
  CellBlock block;
  std::uint16_t item = 0;
  std::int32_t cells[3] = {0, 0, 0};  ///< extent in cells of the copied box, if its values are coded by blocks of cells
};

SLIP_FN bool form_is_packets(Form form) { return form == Form::to_packets || form == Form::from_packets; }

/// Number of packets if a copy packs or unpacks these, else of words (units of 1 to 16 bytes) that it moves.
SLIP_FN std::int32_t counted(const Work& w) {
  return form_is_packets(w.form) ? static_cast<std::int32_t>(packets_for(w.words)) : w.words;
}

/// Counters, waits and signals of a batch of copies, the same in all its tiles; a thread block copies one at a time.
struct BatchInfo {
  std::uint32_t tiles = 0;    ///< number of tiles (copies by one thread block) that share the counter of finished tiles
  std::uint32_t counter = 0;  ///< index of the batch's counter of finished tiles, each the work of a thread block
  std::int32_t first_wait = 0, waits = 0, first_post = 0, posts = 0;
  std::int32_t stamp = 0;
};

/// A tile of a copy. It holds all that a thread block needs at its start: each dependent load would cost its latency.
struct alignas(16) Tile {
  Work work;
  std::int64_t first = 0;        ///< index of the first word that a thread block copies; for a transpose: its plane
  std::uint32_t x = 0, row = 0;  ///< position of the tile's first word; rows are counted over all planes
  std::int32_t count = 0;        ///< number of words or packets that this tile, a thread block's share of a copy, moves
  /// range of copies of few words; each is moved whole, concurrently with the others
  std::int32_t first_small = 0, smalls = 0;
  std::uint32_t batch = 0;
  BatchInfo info;
  Wait wait;  ///< the first wait (for a counter) before a thread block may copy this tile, a share of a copy
};
static_assert(33 * 64 * 16 <= square_bytes && 65 * 64 * 8 <= square_bytes);

struct Table {
  std::vector<Tile> tiles;
  std::vector<Work> smalls;
  std::vector<Wait> waits;
  std::vector<Signal*> posts;
  std::int64_t bytes = 0;  ///< number of bytes that all copies in this table move
};

/// Converts a copy's description (Mover) to the kernel's argument. Its size is in memory words, or in coded blocks.
Work whole_work(const Mover& mover, const Arrays* arrays);

/// Whether some copy of the batches combines (such as sums) values.
bool combines(const std::vector<Scheduled>& batches);
/// Most general number conversion that copies of the batches need: none, of single values, or of blocks.
Coded coded(const std::vector<Scheduled>& batches);
/// Number that identifies the user-defined coding by which copies of the batches convert values; 0: none.
int own_coding_of(const std::vector<Scheduled>& batches);
/// Whether some tile (part of a copy) permutes axes: it transposes its values in shared memory.
bool transposes(const Table& table);

/// Cuts the batches' copies into pieces of work (tiles), enough for `teams` thread blocks. `arrays`: table of addresses
/// of arrays that the caller may replace; null if there are none.
Table cut(const std::vector<Scheduled>& batches, const Arrays* arrays, int teams);

}  // namespace slipstream
