#include <algorithm>

#include <slipstream/launch.hpp>

#include "device/word16.hpp"
#include "native/team_copy.hpp"

namespace slipstream {
namespace {

constexpr int team_threads = 512;

template <class Word>
struct CopyWords {
  static constexpr int threads = team_threads;
  const Word* from;
  Word* to;
  std::int64_t count;
  std::int64_t step;  ///< total number of threads in all thread blocks

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int thread) {
      for (std::int64_t n = team.index() * team_threads + thread; n < count; n += step) to[n] = from[n];
    });
  }
};

/// Copies a box, with pitches and width in words. Indices have 32 bits: 64-bit divisions would cost more than the copy.
template <class Word>
struct CopyBox {
  static constexpr int threads = team_threads;
  const Word* from;
  Word* to;
  std::int64_t from_row, from_plane, to_row, to_plane;
  std::uint32_t width, rows, count, step;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int thread) {
      for (std::uint32_t n = static_cast<std::uint32_t>(team.index()) * team_threads + thread; n < count; n += step) {
        const std::uint32_t row = n / width, x = n - row * width, z = row / rows, y = row - z * rows;
        to[x + y * to_row + z * to_plane] = from[x + y * from_row + z * from_plane];
      }
    });
  }
};

struct CopyPieces {
  static constexpr int threads = team_threads;
  const CopyPiece* table;
  std::uint32_t words;  ///< number of words, of 8 bytes each, of one of many small copies
  std::uint32_t count;  ///< number of words, of 8 bytes each, of all small copies together
  std::uint32_t step;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int thread) {
      for (std::uint32_t n = static_cast<std::uint32_t>(team.index()) * team_threads + thread; n < count; n += step) {
        const std::uint32_t piece = n / words, word = n - piece * words;
        static_cast<std::uint64_t*>(table[piece].to)[word] = static_cast<const std::uint64_t*>(table[piece].from)[word];
      }
    });
  }
};

struct Compute {
  static constexpr int threads = team_threads;
  float* values;
  std::int64_t rounds;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    team.each([&](int thread) {
      float x = static_cast<float>(thread);
      for (std::int64_t n = 0; n < rounds; ++n) x = x * 0.999f + 0.5f;
      values[team.index() * team_threads + thread] = x;
    });
  }
};

template <class Word>
void launch_words(Stream& stream, void* to, const void* from, std::size_t bytes, std::int64_t teams) {
  const CopyWords<Word> kernel{static_cast<const Word*>(from), static_cast<Word*>(to),
                               static_cast<std::int64_t>(bytes / sizeof(Word)), teams * team_threads};
  launch_teams(stream, teams, team_threads, 0, kernel);
}

template <class Word>
void launch_box(Stream& stream, void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent,
                std::int64_t teams) {
  const auto words = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes / sizeof(Word)); };
  const CopyBox<Word> kernel{static_cast<const Word*>(from),
                             static_cast<Word*>(to),
                             words(from_pitch.row),
                             words(from_pitch.plane),
                             words(to_pitch.row),
                             words(to_pitch.plane),
                             static_cast<std::uint32_t>(words(extent[0])),
                             static_cast<std::uint32_t>(extent[1]),
                             static_cast<std::uint32_t>(words(volume(extent))),
                             static_cast<std::uint32_t>(teams * team_threads)};
  launch_teams(stream, teams, team_threads, 0, kernel);
}

/// Limits the number of thread blocks, because blocks beyond the last word to copy would have no work.
std::int64_t useful(std::int64_t teams, std::int64_t words) {
  return std::max<std::int64_t>(1, std::min(teams, (words + team_threads - 1) / team_threads));
}

}  // namespace

void copy_by_teams(Stream& stream, void* to, const void* from, std::size_t bytes, std::int64_t teams) {
  require(bytes % 8 == 0, "copy_by_teams moves multiples of 8 bytes, not " + std::to_string(bytes));
  if (bytes % 16 == 0) {
    launch_words<Word16>(stream, to, from, bytes, useful(teams, static_cast<std::int64_t>(bytes / 16)));
  } else {
    launch_words<std::uint64_t>(stream, to, from, bytes, useful(teams, static_cast<std::int64_t>(bytes / 8)));
  }
}

void copy_box_by_teams(Stream& stream, void* to, Pitch to_pitch, const void* from, Pitch from_pitch,
                       const Extent& extent, std::int64_t teams) {
  std::uint64_t all = reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from) | to_pitch.row |
                      to_pitch.plane | from_pitch.row | from_pitch.plane | static_cast<std::uint64_t>(extent[0]);
  require(all % 4 == 0 && volume(extent) / 4 < (std::int64_t{1} << 31),
          "copy_box_by_teams moves boxes of whole words of 4 bytes, fewer than 2^31 of them");
  const std::int64_t most = useful(teams, volume(extent) / 4);
  if (all % 16 == 0) {
    launch_box<Word16>(stream, to, to_pitch, from, from_pitch, extent, most);
  } else {
    launch_box<std::uint32_t>(stream, to, to_pitch, from, from_pitch, extent, most);
  }
}

void copy_pieces_by_teams(Stream& stream, const CopyPiece* table, std::int64_t count, std::size_t bytes,
                          std::int64_t teams) {
  const auto words = static_cast<std::int64_t>(bytes / 8);
  require(bytes % 8 == 0 && words > 0 && count * words < (std::int64_t{1} << 31),
          "copy_pieces_by_teams moves pieces of whole words of 8 bytes, fewer than 2^31 words in all");
  const std::int64_t most = useful(teams, count * words);
  const CopyPieces kernel{table, static_cast<std::uint32_t>(words), static_cast<std::uint32_t>(count * words),
                          static_cast<std::uint32_t>(most * team_threads)};
  launch_teams(stream, most, team_threads, 0, kernel);
}

void compute_by_teams(Stream& stream, float* values, std::int64_t rounds, std::int64_t teams) {
  launch_teams(stream, teams, team_threads, 0, Compute{values, rounds});
}

int threads_a_team() { return team_threads; }

std::int64_t all_teams(Device device) {
  constexpr int per_processor = 2048 / team_threads;
  return device.backend == Backend::host ? info(device).processors : per_processor * info(device).processors;
}

}  // namespace slipstream
