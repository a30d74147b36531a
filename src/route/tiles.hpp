#pragma once
// The batches of a launch as its teams read them: tiles of about equal work, in order.
#include <bit>
#include <cstdint>
#include <vector>

#include <slipstream/device/function.hpp>
#include <slipstream/signal.hpp>

#include "route/ends.hpp"
#include "route/program.hpp"

namespace slipstream {

/// Divides numbers below 2^31 by one number: a multiplication and a shift.
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

/// One end of a box: word (x, y, z) lies at x stride[0] + y stride[1] + z stride[2], that of a second box `fold`
/// further.
struct End {
  std::int64_t base = 0;               ///< an address, or bytes from the first of array number `array`
  std::int32_t array = -1;             ///< see Arrays
  std::int64_t stride[3] = {0, 0, 0};  ///< in words
  std::int64_t fold = 0;
};

/// How the words of a work are found and moved. Thin boxes, three words wide, at both ends of the rows of an array
/// (`.`: its other cells, `|`: where a row begins), first A and last B, and in what order their words are moved:
///
///     row 0 | A0 A1 A2 . . . . . B0 B1 B2          turns  A0 A1 A2, B0 B1 B2, A3 A4 A5, B3 B4 B5
///     row 1 | A3 A4 A5 . . . . . B3 B4 B5          pair   A0 B0, A1 B1, A2 B2, A3 B3 ...
///
///     in memory  ... . B0 B1 B2 | A3 A4 A5 . ...   seam   B0 B1 B2 A3 A4 A5, which are neighbours
///
/// The second box of a work lies `fold` from the first.
enum class Form : std::uint8_t {
  box,    ///< one box, by rows
  turns,  ///< two boxes of thin rows, whose rows take turns
  pair,   ///< two boxes of thin rows, of each the same word (of at most 8 bytes) at a time: words of either lie side by
          ///< side at the target
  seam,   ///< two boxes of packed thin rows into what lies between the rows of an array, see Work::thin
  transpose,  ///< a box whose words lie side by side along x at the source and along y at the target: by squares, each
              ///< by way of the team's own memory, so that both ends are read and written in long pieces
  list,       ///< at listed places, at one end or both
  blocks,     ///< cells of a box, or of a list, that are coded together; blocks are counted
  seal,       ///< a box into lines that carry the exchange's number
  unseal,     ///< and out of them
};

/// Bytes of a team's memory for a square of a transpose, and its sides: along y it has a word more, so that columns of
/// it lie in different banks.
constexpr int square_bytes = 34 * 1024;
SLIP_FN constexpr std::uint32_t square_along_x(std::uint32_t word) { return word > 8 ? 32 : 64; }
SLIP_FN constexpr std::uint32_t square_along_y(std::uint32_t) { return 64; }

/// Sizes of words that seams are made of.
constexpr bool seam_words(std::size_t word) { return word == 4 || word == 8; }

/// A mover as the device reads it, or two.
struct Work {
  End source, target;
  Divisor width, height;
  Form form = Form::box;
  /// Of a seam: words of a row of either box. The seam's own rows are `width` words long; row y of plane z starts where
  /// row y - 1 of the second box shall lie, and ends where row y of the first box shall.
  std::uint32_t thin = 0;
  bool fills_gaps = false;  ///< of a seam: sectors are stored whole, which memory takes faster than parts
  std::int32_t words = 0;   ///< that are counted through; of lines: those that they hold
  Ring source_ring, target_ring;
  const std::int64_t *source_ids = nullptr, *target_ids = nullptr;
  const Contribution* contributions = nullptr;
  std::int32_t contribution_count = 0, own = 0;
  Op op = Op::copy;
  DType type = DType::f32;
  std::uint8_t word = 4;    ///< bytes, of what is read
  std::uint8_t values = 1;  ///< in a word, where they are encoded or decoded
  Recode recode = Recode::none;
  Wire wire = Wire::same;
  CellBlock block;
  std::uint16_t item = 0;
  std::int32_t cells[3] = {0, 0, 0};  ///< of the box, where blocks are counted
};

SLIP_FN bool form_is_lines(Form form) { return form == Form::seal || form == Form::unseal; }

/// What is counted when a work is moved whole: words, or lines.
SLIP_FN std::int32_t counted(const Work& w) {
  return form_is_lines(w.form) ? static_cast<std::int32_t>(lines_for(w.words)) : w.words;
}

/// What the tiles of a batch have in common.
struct BatchInfo {
  std::uint32_t tiles = 0;
  std::int32_t first_wait = 0, waits = 0, first_post = 0, posts = 0;
  std::int32_t stamp = 0;
};

/// All that a team needs to start, in one place: what must be read one after the other costs its latency each time.
struct alignas(16) Tile {
  Work work;
  std::int64_t first = 0;                    ///< word of the work, for lists
  std::uint32_t x = 0, row = 0;              ///< of the first word; rows count those of all planes
  std::int32_t count = 0;                    ///< words, or lines
  std::int32_t first_small = 0, smalls = 0;  ///< works of few words, moved whole, beside one another
  std::uint32_t batch = 0;
  BatchInfo info;
  Wait wait;  ///< the first
};
static_assert(33 * 64 * 16 <= square_bytes && 65 * 64 * 8 <= square_bytes);

struct Table {
  std::vector<Tile> tiles;
  std::vector<Work> smalls;
  std::vector<Wait> waits;
  std::vector<Signal*> posts;
  std::int64_t bytes = 0;  ///< moved by all
};

/// One mover as a whole; `words` counts its words or blocks.
Work whole_work(const Mover& mover, const Arrays* arrays);

/// Whether some mover does more than copy.
bool combines(const std::vector<Scheduled>& batches);
/// Says whether the movers encode or decode, and blocks among it.
Coded coded(const std::vector<Scheduled>& batches);
/// The number of the coding of the caller's own by which movers encode and decode; 0: none has one.
int own_coding_of(const std::vector<Scheduled>& batches);
/// Whether some tile goes through the team's own memory.
bool transposes(const Table& table);

/// Cuts the movers into tiles, enough for this number of teams. `arrays`: those that movers know by number; null where
/// all know addresses.
Table cut(const std::vector<Scheduled>& batches, const Arrays* arrays, int teams);

}  // namespace slipstream
