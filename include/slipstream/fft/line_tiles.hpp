#pragma once
// One-dimensional FFTs of lines by a team (thread block) in its shared memory. Results are stored directly at their
// destinations. Lines have 2^k values, 3, 5, 9 or 125 times 2^k, or lengths of an FFT library for device code.
//
// A tile has as many adjacent lines as 128 bytes hold values, because a store over a link should fill 128 bytes. A tile
// of more than 64 KB is split into `parts`. Let N = S M and w = exp(-2 pi i / N). Part q computes the modes k = q + S
// k'. They are the transform of the M values
//
//     s(n) = w^(n q) sum over i < S of x(n + i M) exp(-2 pi i i q / S),    0 <= n < M,
//
// A team for each part reads the line again (from L2, because the teams are concurrent). Several teams share a
// multiprocessor: one loads while another stores. Lines of real values x are transformed as half as many complex values
// z_n = x_(2n) + i x_(2n+1). With p = N / 2 - k their modes are E_k + exp(-2 pi i k / N) O_k for k <= N / 2, where E =
// (Z_k + conj Z_p) / 2 and O = -i (Z_k - conj Z_p) / 2.
//
// A backward transform is the forward one with real and imaginary parts swapped, before and after.
//
// Two passes may be fused: lines along x, stored permuted in an array, and lines along y, stored through windows. Teams
// take items by number. Items of the second pass come `lead` chunks of planes after the items of the first that they
// read. So the link is busy while lines along x are transformed. Two independent passes may share a launch, too, for
// the same reason.
#include <slipstream/window.hpp>

#include <complex>
#include <type_traits>

#include <slipstream/fft/radix.hpp>

namespace slipstream::fft {

/// One FFT pass over the lines of a 3-D array. Lines are adjacent along the axis `across`, which is cut into tiles, and
/// repeat along the axis `third`. Each line lies in memory without gaps.
template <class T>
struct LinePass {
  /// input array that holds the lines, as real numbers; a complex value counts as two
  const T* from = nullptr;
  /// distances between neighbouring lines along the axes `across` and `third` of the array, in real numbers
  std::int64_t step_across = 0, step_third = 0;
  /// part of the array to transform: number of lines, range of planes along the third axis, range of tiles of lines
  std::int32_t lines = 0, first_third = 0, thirds = 0, first_tile = 0, tiles = 0;
  /// Modes in use: the pass reads values below `low` and from `high` on, of lines below `used_lines`; others are zero.
  std::int32_t low = 0x7fffffff, high = 0x7fffffff, used_lines = 0x7fffffff;
  Pair<T>* to = nullptr;                                   ///< array for results; null: an exchange's memory gets them
  std::int64_t to_along = 0, to_across = 0, to_third = 0;  ///< distances between values in the array, in complex values
  std::int32_t modes = 0;                                  ///< number of modes to store: 0 .. modes - 1
  // Destinations of the results in memory that an exchange gives (windows), if they do not go to the array `to`.
  std::int32_t windows = 0;
  const Window* list = nullptr;
  Windows<std::complex<T>> out;
  std::int32_t line_axis = 0, tile_axis = 0;  ///< axes of the array along the lines, and across them (0: x)
  /// Planes along the third axis are taken from this many ranges in turn. Where the results of ranges go to different
  /// devices, several links are busy at the same time.
  std::int32_t ranges = 1;

  /// Index of the n-th plane to transform along the third axis: planes come from several ranges of this axis in turn.
  SLIP_FN std::int32_t third(std::int32_t n) const {
    const std::int32_t range = n % ranges, rest = thirds % ranges;
    return first_third + range * (thirds / ranges) + (range < rest ? range : rest) + n / ranges;
  }
};

/// Order of work in two fused FFT passes. A chunk of the second pass holds `deep` tiles of lines in each plane along
/// the third axis. The first pass stores the lines of these tiles in the planes of the chunk.
struct TwoPasses {
  std::int32_t chunks = 0;  ///< number of sets of lines (chunks) in the second FFT pass; 0: the passes are not fused
  std::int32_t deep = 0, lead = 0;
  /// whether one launch runs two independent FFT passes, of which neither waits for results of the other
  bool apart = false;
  /// counters, 0 at first: work items that thread blocks took; by chunk of the second FFT pass, done items of the first
  std::uint32_t* ticket = nullptr;
};

/// Whether an FFT kernel uses narrow tiles: half as many lines with twice as many values of each. Values that stay on
/// the device are then read once. Over a link narrow tiles are slower.
constexpr bool is_narrow(int length) {
  const int odd = odd_factor(length);
  return length > 512 && (odd == 1 || odd == 3 || odd == 5 || odd == 9);
}

template <class T, int length>
struct NarrowTiling;

/// Tile and thread counts of an FFT kernel. A thread makes two radix-8 butterflies, about three for lines with an odd
/// factor, which have the threads of the next lower power of two. It needs 64 registers of 4 bytes or 8 bytes, which
/// limits the resident blocks.
template <class T, int length>
struct Tiling {
  static constexpr int wide = 128 / static_cast<int>(sizeof(Pair<T>));
  static constexpr int most = 512;  ///< most values of a line that a tile holds
  static constexpr int parts(int n) { return n > most ? 2 * parts(n / 2) : 1; }
  static constexpr int power_below(int n) { return n > 1 ? 2 * power_below(n / 2) : 1; }
  static constexpr int sought = power_below(length / parts(length)) * wide / 16;
  static constexpr int threads = sought < 64 ? 64 : sought;
  static constexpr int resident = 4096 / static_cast<int>(sizeof(T)) / threads;
  static constexpr int block_rows = 1;  ///< number of rows of threads in a block
  /// Radices of the passes of an FFT of M values. An FFT library for device code makes one pass. There a row of
  /// threads transforms a line. Thread i holds `first` of the values: i, i + M / first, ...
  template <int values>
  using Passes = Radices<values>;
  using Narrow = std::conditional_t<is_narrow(length), NarrowTiling<T, length>, Tiling>;
};

/// FFT kernels whose thread blocks load half as many adjacent lines, with twice as many values of each, as others do.
template <class T, int length>
struct NarrowTiling : Tiling<T, length> {
  static constexpr int wide = Tiling<T, length>::wide / 2;
  static constexpr int parts(int n) { return n > 2 * Tiling<T, length>::most ? 2 * parts(n / 2) : 1; }
};

/// Reads values of FFT lines unchanged. Other readers change them on load by `read(value, place, line, plane)`.
struct AsTheyAre {};

/// Destination of the FFT results of a tile: modes lo .. lo + modes - 1 of lines first .. first + lines - 1.
struct Outlet {
  std::byte* at;
  std::int64_t along, across;  // distances in bytes between values of a line, and between lines
  std::int32_t lo, modes, first, lines;
};

template <class T, int length, bool real_first, class Read = AsTheyAre, class Tiles = Tiling<T, length>>
struct LineTiles {
  static constexpr bool plain = std::is_same_v<Read, AsTheyAre>;
  static_assert(plain || (!real_first && Tiles::parts(length) == 1), "a part would read all of its line through it");
  static constexpr int threads = Tiles::threads, resident = Tiles::resident, block_rows = Tiles::block_rows;
  static constexpr int wide = Tiles::wide;
  using Narrow = LineTiles<T, length, false, AsTheyAre, typename Tiles::Narrow>;
  static constexpr int held = 32;  ///< number of targets of FFT results (addresses and ranges) in shared memory
  static constexpr int first_half = real_first ? length / 2 : length;
  static constexpr int first_parts = Tiles::parts(first_half), second_parts = Tiles::parts(length);

  LinePass<T> pass[2];
  TwoPasses two;
  bool forward;
  const Pair<T>* roots;  // roots of unity, exp(-2 pi i k / length)
  Read read;
  std::int64_t cost = 8 * wide * length;

  static constexpr std::size_t shared_bytes() {
    constexpr int a = first_half / first_parts, b = length / second_parts;
    return sizeof(Pair<T>) * wide * (a > b ? a : b) + sizeof(Head);
  }
  /// Number of thread blocks (teams) for one FFT pass, or for two independent passes.
  std::int64_t teams() const { return teams_of(0) + (two.apart ? teams_of(1) : 0); }
  SLIP_FN std::int64_t teams_of(int which) const {
    return static_cast<std::int64_t>(pass[which].thirds) * pass[which].tiles *
           (which == 0 ? first_parts : Narrow::first_parts);
  }
  /// Number of thread blocks that FFT pass 0 or 1 needs for a chunk, a share of the lines of two fused passes.
  SLIP_FN std::int64_t items(int which) const {
    return which == 0 ? static_cast<std::int64_t>(two.deep) * wide * pass[0].tiles * first_parts
                      : static_cast<std::int64_t>(two.deep) * pass[1].thirds * second_parts;
  }
  std::int64_t teams_of_both() const { return two.chunks * (items(0) + items(1)); }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    auto* const tile = team.template shared<Pair<T>>();
    auto& head = head_behind(tile);
    if (two.chunks == 0) {
      std::int64_t index = team.index();
      if constexpr (plain && !real_first) {
        if (two.apart) {
          const std::int64_t a = teams_of(0), all = a + teams_of(1), before = index * a / all;
          if ((index + 1) * a / all == before)
            return Narrow{{}, {}, forward, roots, {}}.of_pass(team, pass[1], index - before);
          index = before;
        }
      }
      return of_pass(team, pass[0], index);
    }
    if constexpr (plain) both(team, tile, head);
  }

  /// Transforms the lines of thread block (team) number `index` of one FFT pass.
  template <class Team>
  SLIP_FN void of_pass(const Team& team, const LinePass<T>& p, std::int64_t index) const {
    auto* const tile = team.template shared<Pair<T>>();
    lines<first_half, first_parts, real_first, !real_first && plain>(team, p, item_of(p, index, first_parts), tile,
                                                                     head_behind(tile));
  }

 private:
  struct Item {
    std::int32_t second = 0, chunk = 0, part = 0, tile = 0, third = 0;
  };
  struct Head {
    Item item;
    std::int32_t open;
    Outlet outlets[held];
  };

  SLIP_FN static Head& head_behind(Pair<T>* tile) {
    constexpr int a = first_half / first_parts, b = length / second_parts;
    return *reinterpret_cast<Head*>(tile + wide * (a > b ? a : b));
  }

  template <class Team>
  SLIP_FN void both(const Team& team, Pair<T>* tile, Head& head) const {
    team.each([&](int thread) {
      if (thread == 0) head.item = item_of(atomic_add(two.ticket, 1));
    });
    const Item item = head.item;
    if (item.second) {
      lines<length, second_parts, false, false>(team, pass[1], item, tile, head);
    } else {
      if (item.third < pass[0].thirds)
        lines<first_half, first_parts, real_first, false>(team, pass[0], item, tile, head);
      team.each([&](int thread) {
        if (thread != 0) return;
        fence_device();
        atomic_add(two.ticket + 1 + item.chunk, 1);
      });
    }
  }

  SLIP_FN static Item item_of(const LinePass<T>& p, std::int64_t index, int parts) {
    Item item;
    item.part = static_cast<std::int32_t>(index % parts), index /= parts;
    item.tile = static_cast<std::int32_t>(index % p.tiles) + p.first_tile;
    item.third = p.third(static_cast<std::int32_t>(index / p.tiles));
    return item;
  }

  /// Order in which thread blocks take tiles of two fused FFT passes over chunks (ranges of planes). First come `lead`
  /// chunks of pass one; then both passes alternate; `lead` chunks of pass two come last.
  SLIP_FN Item item_of(std::int64_t number) const {
    const std::int64_t a = items(0), b = items(1), begin = a * two.lead, both = (a + b) * (two.chunks - two.lead);
    std::int64_t index = number;  // index of the work item within its FFT pass
    Item item;
    if (number >= begin + both) {
      item.second = 1;
      index = number - a * two.chunks;
    } else if (number >= begin) {
      const std::int64_t round = (number - begin) / (a + b), n = (number - begin) % (a + b);
      const std::int64_t before = n * a / (a + b);
      item.second = (n + 1) * a / (a + b) == before;
      index = item.second ? round * b + n - before : (round + two.lead) * a + before;
    }
    item.chunk = static_cast<std::int32_t>(index / (item.second ? b : a));
    auto rest = static_cast<std::int32_t>(index % (item.second ? b : a));
    if (item.second) {
      item.part = rest % second_parts, rest /= second_parts;
      item.tile = item.chunk * two.deep + rest % two.deep;
      item.third = pass[1].third(rest / two.deep);
    } else {
      item.part = rest % first_parts, rest /= first_parts;
      item.tile = rest % pass[0].tiles;
      item.third = rest / pass[0].tiles + item.chunk * two.deep * wide;
    }
    return item;
  }

  /// Address in shared memory without bank conflicts, along a line or across lines.
  SLIP_FN static int at(int e, int line) {
    constexpr int rows = 128 / (wide * static_cast<int>(sizeof(Pair<T>)));  // 128 bytes: all shared-memory banks
    return e * wide + ((line + e / rows) & (wide - 1));
  }

  /// Transforms the lines of a tile. `ranges`: whether LinePass::low, high and used_lines leave values out. It is a
  /// template parameter, because tests for each value cost a tenth of the time.
  template <int n, int parts, bool real, bool ranges, class Team>
  SLIP_FN void lines(const Team& team, const LinePass<T>& p, const Item& item, Pair<T>* tile, Head& head) const {
    constexpr int held_values = n / parts;
    using R = typename Tiles::template Passes<held_values>;
    const int first = item.tile * wide;
    if (first >= p.lines) return;
    const int count = p.lines - first < wide ? p.lines - first : wide;
    team.each([&](int thread) {
      if (thread == 0) {
        bool go = true;
        if (item.second) wait_for_chunk(item.chunk);
        if (!p.to) go = p.out.open();
        head.open = go;
      }
      if (p.to) {
        if (thread == 0)
          head.outlets[0] = {reinterpret_cast<std::byte*>(p.to + first * p.to_across + item.third * p.to_third),
                             p.to_along * static_cast<std::int64_t>(sizeof(Pair<T>)),
                             p.to_across * static_cast<std::int64_t>(sizeof(Pair<T>)),
                             0,
                             p.modes,
                             0,
                             count};
      } else {
        for (int w = thread; w < p.windows && w < held; w += team.threads())
          head.outlets[w] = outlet(p, w, first, item.third);
      }
    });
    if (!head.open || !some(p, head)) return;
    const T* const from = p.from + first * p.step_across + item.third * p.step_third;
    const auto read_lines = [&](auto some) {
      constexpr bool masked = decltype(some)::value;
      if constexpr (R::count == 1) {
        whole<R, n, parts, real, masked>(team, tile, from, p, first, count, item);
      } else {
        team.each([&](int thread) {
          begin<n, parts, R::first, real, masked>(thread, team.threads(), tile, from, p, first, count, item);
        });
      }
    };
    if (ranges && (p.low < n || p.used_lines < p.lines)) {
      read_lines(std::bool_constant<ranges>{});
    } else {
      read_lines(std::false_type{});
    }
    if constexpr (R::count == 3) team.each([&](int thread) { middle<R, parts, real>(thread, team.threads(), tile); });
    if constexpr (!real) {
      team.each([&](int thread) {
        finish<R>(thread, team.threads(), tile, count,
                  [&](int place, int line, const auto& x) { put<R, parts>(p, head, first, item, place, line, x); });
      });
    } else {
      if constexpr (R::count > 1) {
        team.each([&](int thread) {
          finish<R>(thread, team.threads(), tile, count, [&](int place, int line, const auto& x) {
            for (int j = 0; j < R::last; ++j) tile[at(place + j, line)] = x[j];
          });
        });
      }
      team.each([&](int thread) { part<R, n, parts>(thread, team.threads(), tile, p, head, first, item, count); });
    }
  }

  /// Whether any result of this tile has a destination; without any, the thread block skips the tile.
  SLIP_FN static bool some(const LinePass<T>& p, const Head& head) {
    if (p.to || p.windows > held) return true;
    bool any = false;
    for (int n = 0; n < p.windows; ++n) any = any || head.outlets[n].lines > 0;
    return any;
  }

  SLIP_FN void wait_for_chunk(int chunk) const {
    const auto all = static_cast<std::uint32_t>(items(0));
    for (int round = 0; atomic_add(two.ticket + 1 + chunk, 0) < all; ++round) backoff(round);
    fence_device();
  }

  SLIP_FN static Outlet outlet(const LinePass<T>& p, int number, int first, int third) {
    const Window& w = p.list[number];
    const int third_axis = 3 - p.line_axis - p.tile_axis;
    const std::int64_t begin = w.lo[p.tile_axis] > first ? w.lo[p.tile_axis] : first;
    const std::int64_t end = w.hi[p.tile_axis] < first + wide ? w.hi[p.tile_axis] : first + wide;
    if (end <= begin || third < w.lo[third_axis] || third >= w.hi[third_axis]) return {nullptr, 0, 0, 0, 0, 0, 0};
    const auto cell = [&](int axis) {
      return axis == p.line_axis ? w.lo[axis] : axis == p.tile_axis ? begin : std::int64_t{third};
    };
    return {reinterpret_cast<std::byte*>(p.out.place(number, cell(0), cell(1), cell(2))),
            w.stride[p.line_axis],
            w.stride[p.tile_axis],
            static_cast<std::int32_t>(w.lo[p.line_axis]),
            static_cast<std::int32_t>(w.hi[p.line_axis] - w.lo[p.line_axis]),
            static_cast<std::int32_t>(begin - first),
            static_cast<std::int32_t>(end - begin)};
  }

  /// Loads inputs i, i + m, ... of the FFT for modes q, q + parts, ... of a line, without their twiddle factors.
  template <int n, int parts, int radix, bool real, bool ranges>
  SLIP_FN void load(Pair<T> (&x)[radix], int i, int line, const T* from, const LinePass<T>& p, int first,
                    const Item& item) const {
    constexpr int values = n / parts, m = values / radix;
    const int q = item.part;
    const auto* const row = reinterpret_cast<const Pair<T>*>(from + line * p.step_across);
    const int low = line < p.used_lines - first ? p.low : 0, high = low > 0 ? p.high : 0x7fffffff;
    const auto value = [&](int k) { return !ranges || k < low || k >= high ? row[k] : Pair<T>{T(0), T(0)}; };
    if constexpr (parts == 1) {
      for (int j = 0; j < radix; ++j) x[j] = value(i + j * m);
      // All loads are issued before the first value is used.
      if constexpr (!plain)
        for (int j = 0; j < radix; ++j) x[j] = read(x[j], i + j * m, first + line, item.third);
    } else if constexpr (parts == 2) {
      const T sign = q == 0 ? T(1) : T(-1);
      for (int j = 0; j < radix; ++j) {
        const Pair<T> u = value(i + j * m), v = value(i + j * m + values);
        x[j] = {fused(sign, v.re, u.re), fused(sign, v.im, u.im)};
      }
    } else {
      static_assert(parts == 4);
      const T sign = q % 2 == 0 ? T(1) : T(-1), other = q < 2 ? T(1) : T(-1);
      // The factor (-i)^q is 1, -i, -1, i. A backward transform swaps real and imaginary parts, so i replaces -i.
      for (int j = 0; j < radix; ++j) {
        const int k = i + j * m;
        Pair<T> a = value(k), c = value(k + 2 * values), b1 = value(k + values), d = value(k + 3 * values);
        if (!forward) a = a.exchanged(), b1 = b1.exchanged(), c = c.exchanged(), d = d.exchanged();
        const Pair<T> even = {fused(sign, c.re, a.re), fused(sign, c.im, a.im)};
        Pair<T> odd = {fused(sign, d.re, b1.re), fused(sign, d.im, b1.im)};
        if (q % 2 != 0) odd = odd.turned();
        x[j] = {fused(other, odd.re, even.re), fused(other, odd.im, even.im)};
      }
    }
    if (parts != 4 && !real && !forward)
      for (int j = 0; j < radix; ++j) x[j] = x[j].exchanged();
  }

  template <int n, int parts, int radix, bool real, bool ranges>
  SLIP_FN void begin(int thread, int size, Pair<T>* tile, const T* from, const LinePass<T>& p, int first, int count,
                     const Item& item) const {
    constexpr int values = n / parts, m = values / radix, fine = length / n;
    const int q = item.part;
    for (int b = thread; b < m * count; b += size) {
      const int i = b % m, line = b / m;
      Pair<T> x[radix];
      load<n, parts, radix, real, ranges>(x, i, line, from, p, first, item);
      if constexpr (parts > 1) {
        if (q != 0)
          for (int j = 1; j < radix; ++j) x[j] = x[j] * roots[j * q * m * fine];
      }
      butterfly<radix>(x);
      turn<radix>(x, roots, i * parts * fine);
      if constexpr (parts > 1) {
        const Pair<T> w = roots[i * q * fine];
        if (q != 0)
          for (int j = 0; j < radix; ++j) x[j] = x[j] * w;
      }
      for (int j = 0; j < radix; ++j) tile[at(i + j * m, line)] = x[j];
    }
  }

  /// Transforms a part of a line by an FFT library for device code.
  template <class R, int n, int parts, bool real, bool ranges, class Team>
  SLIP_FN void whole(const Team& team, Pair<T>* tile, const T* from, const LinePass<T>& p, int first, int count,
                     const Item& item) const {
    constexpr int m = R::values / R::first, fine = length / n;
    Pair<T> x[R::first];
    team.each([&](int thread) {
      const int i = thread % m;
      if (thread / m < count) {
        load<n, parts, R::first, real, ranges>(x, i, thread / m, from, p, first, item);
        if (parts > 1 && item.part != 0)
          for (int j = 0; j < R::first; ++j) x[j] = x[j] * roots[(i + j * m) * item.part * fine];
      }
      R::transform(x, tile);
    });
    team.each([&](int thread) {
      for (int j = 0; j < R::first; ++j) tile[at(thread % m + j * m, thread / m)] = x[j];
    });
  }

  template <class R, int parts, bool real>
  SLIP_FN void middle(int thread, int size, Pair<T>* tile) const {
    constexpr int radix = R::second, group = R::values / R::first, m = group / radix;
    for (int b = thread; b < R::values / radix * wide; b += size) {
      const int line = b % wide, i = b / wide % m, place = b / wide / m * group + i;
      Pair<T> x[radix];
      for (int j = 0; j < radix; ++j) x[j] = tile[at(place + j * m, line)];
      butterfly<radix>(x);
      turn<radix>(x, roots, i * (length / group));
      for (int j = 0; j < radix; ++j) tile[at(place + j * m, line)] = x[j];
    }
  }

  template <class R, class Put>
  SLIP_FN void finish(int thread, int size, const Pair<T>* tile, int count, const Put& put) const {
    constexpr int radix = R::last;
    for (int b = thread; b < R::values / radix * wide; b += size) {
      const int line = b % wide, place = b / wide * radix;
      if (line >= count) continue;
      Pair<T> x[radix];
      for (int j = 0; j < radix; ++j) x[j] = tile[at(place + j, line)];
      if constexpr (R::count > 1) butterfly<radix>(x);
      put(place, line, x);
    }
  }

  template <class Store>
  SLIP_FN void each_outlet(const LinePass<T>& p, const Head& head, int first, const Item& item, int line,
                           const Store& store) const {
    const int all = p.to ? 1 : p.windows;
    for (int n = 0; n < all; ++n) {
      const Outlet o = n < held ? head.outlets[n] : outlet(p, n, first, item.third);
      if (line < o.first || line >= o.first + o.lines) continue;
      store(o, o.at + (line - o.first) * o.across);
    }
  }

  template <class R, int parts, int radix>
  SLIP_FN void put(const LinePass<T>& p, const Head& head, int first, const Item& item, int place, int line,
                   const Pair<T> (&x)[radix]) const {
    constexpr int step = R::step * parts;
    const int mode = item.part + R::mode(place) * parts;
    each_outlet(p, head, first, item, line, [&](const Outlet& o, std::byte* at) {
      at += (mode - o.lo) * o.along;
      for (int j = 0; j < radix; ++j) {
        const int k = mode + j * step - o.lo;
        if (k >= 0 && k < o.modes)
          *reinterpret_cast<Pair<T>*>(at + j * step * o.along) = forward ? x[j] : x[j].exchanged();
      }
    });
  }

  /// Computes the modes of real lines x from the transform of half as many values z_n = x_(2n) + i x_(2n+1).
  template <class R, int n, int parts>
  SLIP_FN void part(int thread, int size, const Pair<T>* tile, const LinePass<T>& p, const Head& head, int first,
                    const Item& item, int count) const {
    static_assert(parts <= 2, "a mode and its mirror image belong to the same part");
    constexpr int values = n / parts;
    const int q = item.part, pairs = values / 2 + (q == 0 ? 1 : 0);
    for (int b = thread; b < pairs * wide; b += size) {
      const int line = b % wide, i = b / wide, mirrored = q == 0 ? (values - i) % values : values - 1 - i;
      if (line >= count) continue;
      const int mode = q + parts * i;
      const Pair<T> z = tile[at(R::place(i), line)], other = tile[at(R::place(mirrored), line)].conjugate();
      const Pair<T> sum = z + other, odd = (z - other).turned() * roots[mode];
      const Pair<T> low = {T(0.5) * (sum.re + odd.re), T(0.5) * (sum.im + odd.im)};
      const Pair<T> high = {T(0.5) * (sum.re - odd.re), T(-0.5) * (sum.im - odd.im)};
      each_outlet(p, head, first, item, line, [&](const Outlet& o, std::byte* at) {
        const int a = mode - o.lo, b = n - mode - o.lo;
        if (a >= 0 && a < o.modes) *reinterpret_cast<Pair<T>*>(at + a * o.along) = low;
        if (b >= 0 && b < o.modes && a != b) *reinterpret_cast<Pair<T>*>(at + b * o.along) = high;
      });
    }
  }
};

}  // namespace slipstream::fft
