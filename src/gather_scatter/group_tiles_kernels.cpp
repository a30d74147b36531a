#include "gather_scatter/group_tiles.hpp"

#include <algorithm>

#include <slipstream/launch.hpp>

#include "gather_scatter/launch_rows.hpp"

namespace slipstream {
inline namespace group_tiles_kernels {

using Tiles = GroupTiles;

/// Sizes of the output of a thread block that groups points by id; a prefix sum gives each block's offsets.
struct Made {
  std::uint32_t tiles = 0, words = 0, large_rows = 0, large_items = 0;
};

/// Sorts the keys ascending. The array must have room up to the next power of two.
template <class Team>
SLIP_FN void sort_together(const Team& team, std::uint64_t* keys, std::uint32_t count) {
  if constexpr (Team::sequential) {
    std::sort(keys, keys + count);
  } else {  // sorts by a bitonic network
    std::uint32_t all = 1;
    while (all < count) all *= 2;
    team.each([&](int thread) {
      for (std::uint32_t n = count + thread; n < all; n += team.threads()) keys[n] = ~std::uint64_t{0};
    });
    for (std::uint32_t run = 2; run <= all; run *= 2)
      for (std::uint32_t apart = run / 2; apart > 0; apart /= 2)
        team.each([&](int thread) {
          for (std::uint32_t n = thread; n < all / 2; n += team.threads()) {
            const std::uint32_t a = n / apart * 2 * apart + n % apart, b = a + apart;
            const std::uint64_t low = keys[a], high = keys[b];
            if ((low > high) != ((a & run) == 0)) continue;
            keys[a] = high;
            keys[b] = low;
          }
        });
  }
}

/// Builds the tiles for one segment of the list of groups (a group: all points of one id). The first pass counts the
/// tiles' words. The second pass (`keep`) writes the tiles, each segment from its own offset.
template <bool keep>
struct MakeTiles {
  /// Number of points that a thread block sorts into tiles of 1024: so many that a partly filled last one costs little.
  static constexpr std::int64_t segment = 64 * Tiles::capacity;
  static constexpr int threads = 128;
  static constexpr std::int64_t cost = segment;

  struct Held {
    std::uint64_t copies[Tiles::capacity];      // sort key: index of a shared point, a flag, place in shared memory
    std::uint64_t groups[Tiles::capacity / 2];  // sort key of a shared point: number of its copies, then its index
    std::uint32_t entries[Tiles::capacity], bases[Tiles::capacity / Tiles::chunk];
    std::uint32_t first[Tiles::capacity / 2], apart[Tiles::capacity / 2];  // offset and stride of copies of one id
    std::uint32_t stretches[Tiles::most_stretches], marks[Tiles::capacity / 32];
    std::uint32_t stretch_count, entry_count;
  };

  RowsHere<std::uint32_t> rows;
  std::int64_t count;
  std::uint32_t block;
  Made* made;
  std::uint32_t *entries, *bases, *headers, *starts, *large_starts, *large_items;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    Held& held = *team.template shared<Held>();
    Made at = keep ? made[team.index()] : Made{};
    std::uint32_t room = Tiles::capacity;
    const std::int64_t last = first_of(team.index() + 1);
    for (std::int64_t row = first_of(team.index()); row < last;) {
      const std::int64_t end = filled(row, last, room);
      const std::uint32_t copies = rows.starts[end] - rows.starts[row];
      const std::uint32_t wanted =
          copies > Tiles::capacity ? copies : list(team, held, row, static_cast<std::uint32_t>(end - row), copies);
      if (wanted <= Tiles::capacity) {
        add_tile(team, held, copies, at);
        row = end;
        room = Tiles::capacity;
      } else if (end - row == 1) {
        add_large(team, row++, at);
        room = Tiles::capacity;
      } else {
        // Distant points need padding entries, so the list exceeds a thread block's capacity. Fewer points are tried.
        const std::uint32_t fewer = copies * Tiles::capacity / wanted;
        room = fewer < copies - 1 ? fewer : copies - 1;
      }
    }
    if constexpr (!keep)
      team.each([&](int thread) {
        if (thread == 0) made[team.index()] = at;
      });
  }

  /// Index of the first group of points with equal ids in a segment, the range of points that one thread block lists.
  SLIP_FN std::int64_t first_of(std::int64_t number) const { return place_among(rows.starts, count, number * segment); }
  /// End of the groups (copies of one point) from `row` on that a thread block takes: `room` copies, or one group.
  SLIP_FN std::int64_t filled(std::int64_t row, std::int64_t last, std::uint32_t room) const {
    const std::int64_t ends = place_among(rows.starts + row + 1, last - row, std::int64_t{rows.starts[row]} + room + 1);
    return row + (ends > 0 ? ends : 1);
  }
  /// Lists the copies of points that one thread block combines (a tile), and padding. Returns the number of entries.
  template <class Team>
  SLIP_FN std::uint32_t list(const Team& team, Held& held, std::int64_t row, std::uint32_t groups,
                             std::uint32_t copies) const {
    const std::uint32_t* const starts_here = rows.starts + row;
    team.each([&](int thread) {
      for (std::uint32_t g = thread; g < groups; g += team.threads())
        held.groups[g] = std::uint64_t{starts_here[g + 1] - starts_here[g]} << 32 | g;
    });
    sort_together(team, held.groups, groups);
    team.each([&](int thread) {
      if (thread == 0) list_stretches(held, groups);
    });
    team.each([&](int thread) {
      for (std::uint32_t g = thread; g < groups; g += team.threads()) list_copies(held, row, g);
    });
    team.each([&](int thread) {
      for (std::uint32_t word = thread; word * 32 < copies; word += team.threads()) {
        std::uint32_t bits = 0;
        for (std::uint32_t slot = word * 32; slot < copies && slot < word * 32 + 32; ++slot)
          bits |= static_cast<std::uint32_t>(held.copies[slot] >> 16 & 1) << (slot % 32);
        held.marks[word] = bits;
      }
    });
    sort_together(team, held.copies, copies);
    team.each([&](int thread) {
      if (thread == 0) list_entries(held, copies);
    });
    return held.entry_count;
  }

  SLIP_FN static std::uint32_t size_of_group(const Held& held, std::uint32_t g) {
    return static_cast<std::uint32_t>(held.groups[g] >> 32);
  }

  SLIP_FN static void list_stretches(Held& held, std::uint32_t groups) {
    std::uint32_t slot = 0;
    held.stretch_count = 0;
    for (std::uint32_t from = 0; from < groups;) {
      const std::uint32_t size = size_of_group(held, from);
      std::uint32_t to = from;
      while (to < groups && size_of_group(held, to) == size) held.first[to] = slot + (to - from), ++to;
      for (std::uint32_t g = from; g < to; ++g) held.apart[g] = to - from;
      held.stretches[held.stretch_count++] = Tiles::stretch(to - from, size);
      slot += (to - from) * size;
      from = to;
    }
  }

  SLIP_FN void list_copies(Held& held, std::int64_t row, std::uint32_t g) const {
    const std::uint32_t* const points = rows.items + rows.starts[row + static_cast<std::uint32_t>(held.groups[g])];
    for (std::uint32_t c = 0; c < size_of_group(held, g); ++c) {
      const std::uint32_t slot = held.first[g] + c * held.apart[g];
      const bool another = c > 0 && points[c] / block != points[c - 1] / block;
      held.copies[slot] = std::uint64_t{points[c]} << 32 | std::uint32_t{another} << 16 | slot;
    }
  }

  SLIP_FN static void list_entries(Held& held, std::uint32_t copies) {
    std::uint32_t n = 0, base = 0;
    const auto add = [&](std::uint32_t entry) {
      if (n < Tiles::capacity) held.entries[n] = entry;
      ++n;
    };
    for (std::uint32_t c = 0; c < copies; ++c) {
      const auto point = static_cast<std::uint32_t>(held.copies[c] >> 32);
      const auto slot = static_cast<std::uint32_t>(held.copies[c] & 0xffff);
      // The largest offset of a point from its base is not used: with the last shared-memory slot it encodes padding.
      if (n % Tiles::chunk != 0 && point - base >= Tiles::most_point)
        while (n % Tiles::chunk != 0) add(Tiles::none);
      if (n % Tiles::chunk == 0) {
        base = point;
        if (n < Tiles::capacity) held.bases[n / Tiles::chunk] = base;
      }
      add(Tiles::entry(slot, point - base));
    }
    held.entry_count = n;
    for (std::uint32_t chunk = (n + Tiles::chunk - 1) / Tiles::chunk; chunk < Tiles::capacity / Tiles::chunk; ++chunk)
      held.bases[chunk] = 0;
    while (n < Tiles::capacity) add(Tiles::none);
  }

  template <class Team>
  SLIP_FN void add_tile(const Team& team, const Held& held, std::uint32_t copies, Made& at) const {
    const std::uint32_t stretches = held.stretch_count, marks = (copies + 31) / 32;
    if constexpr (keep)
      team.each([&](int thread) {
        const auto put = [&](std::uint32_t* to, const std::uint32_t* from, std::uint32_t words) {
          for (std::uint32_t n = thread; n < words; n += team.threads()) to[n] = from[n];
        };
        put(entries + std::int64_t{at.tiles} * Tiles::capacity, held.entries, Tiles::capacity);
        put(bases + std::int64_t{at.tiles} * (Tiles::capacity / Tiles::chunk), held.bases,
            Tiles::capacity / Tiles::chunk);
        put(headers + at.words + 1, held.stretches, stretches);
        put(headers + at.words + 1 + stretches, held.marks, marks);
        if (thread != 0) return;
        headers[at.words] = stretches;
        starts[at.tiles] = at.words;
      });
    ++at.tiles;
    at.words += 1 + stretches + marks;
  }

  template <class Team>
  SLIP_FN void add_large(const Team& team, std::int64_t row, Made& at) const {
    const std::uint32_t first = rows.starts[row], copies = rows.starts[row + 1] - first;
    if constexpr (keep)
      team.each([&](int thread) {
        for (std::uint32_t n = thread; n < copies; n += team.threads())
          large_items[at.large_items + n] = rows.items[first + n];
        if (thread == 0) large_starts[at.large_rows] = at.large_items;
      });
    ++at.large_rows;
    at.large_items += copies;
  }
};

}  // namespace group_tiles_kernels

GroupTiles group_tiles(Stream& stream, const DeviceRows<std::uint32_t>& rows, std::int64_t block) {
  GroupTiles tiles;
  if (rows.count == 0) return tiles;
  const Device device = stream.device();
  constexpr std::int64_t segment = MakeTiles<true>::segment;
  const std::int64_t segments = (static_cast<std::int64_t>(rows.items.size()) + segment - 1) / segment;
  std::vector<Made> made(static_cast<std::size_t>(segments));
  Buffer<Made> places(device, made.size());
  const auto make = [&]<bool keep>(std::bool_constant<keep>) {
    using Make = MakeTiles<keep>;
    launch_teams(
        stream, segments, device.backend == Backend::host ? 1 : Make::threads, sizeof(typename Make::Held),
        Make{here(rows), rows.count, points_of_block(block), places.data(), tiles.entries.data(), tiles.bases.data(),
             tiles.headers.data(), tiles.starts.data(), tiles.large.starts.data(), tiles.large.items.data()});
    stream.synchronize();  // after an error the kernel must not use memory that is freed
  };
  make(std::false_type{});
  download(stream, places.data(), made.size(), made.data());
  std::size_t words = 0, large_items = 0;
  std::uint32_t tile_count = 0, large_rows = 0;
  for (Made& each : made) {
    const Made before{tile_count, static_cast<std::uint32_t>(words), large_rows,
                      static_cast<std::uint32_t>(large_items)};
    tile_count += each.tiles;
    words += each.words;
    large_rows += each.large_rows;
    large_items += each.large_items;
    each = before;
  }
  // Kernels index the tiles' entries (one per copy of a point, and padding) with 32 bits, so their number is checked.
  const std::size_t entries = counted(std::size_t{tile_count} * Tiles::capacity);
  const auto room = [&](std::size_t count) { return Buffer<std::uint32_t>(device, count); };
  tiles.tiles = tile_count;
  tiles.entries = room(entries);
  tiles.bases = room(entries / Tiles::chunk);
  tiles.headers = room(counted(words));
  tiles.starts = room(std::size_t{tile_count} + 1);
  if (large_rows > 0) tiles.large = {room(std::size_t{large_rows} + 1), room(large_items), large_rows};
  places = upload(stream, made);
  make(std::true_type{});
  upload(stream, std::vector{static_cast<std::uint32_t>(words)}, tiles.starts.data() + tile_count);
  if (large_rows > 0)
    upload(stream, std::vector{static_cast<std::uint32_t>(large_items)}, tiles.large.starts.data() + large_rows);
  return tiles;
}

}  // namespace slipstream
