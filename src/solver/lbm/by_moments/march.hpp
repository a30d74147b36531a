#pragma once
// The step by ten moments on GPUs: a team takes a tile of a plane and marches along z. What cells send within the tile
// crosses through fast memory; cells of the ring round it are computed by both tiles that they lie between. So each
// cell is read once, but for the ring, and written once.
#include <algorithm>

#include <slipstream/device/caches.hpp>
#include <slipstream/launch.hpp>

#include "solver/lbm/by_moments/step.hpp"

namespace slipstream::lbm {

struct MarchShape {
  int width, height;  ///< of a tile
  int deepest;        ///< planes of a team: teams that drift apart no longer share the ring in the second cache
  bool early;         ///< a plane's own cells are loaded while the one before is sent
  bool ring_early;    ///< the ring's, too; in f64 it does not fit into registers
  int ahead;          ///< planes that the second cache fetches beforehand: where few bytes are under way
};
/// By the bytes of a stored moment and the width of a tile, what was fastest on an H100; docs/notes/performance.md has
/// the others.
constexpr MarchShape march_shape(std::size_t bytes, int width) {
  const int height = 256 / width;
  if (bytes == 8) return {width, height, 32, true, false, 0};
  if (bytes == 4) return {width, height, 128, true, true, 0};
  return {width, height, 48, false, false, width == 64 ? 2 : 0};
}
constexpr int usual_tile_width(std::size_t bytes) { return bytes == 8 ? 32 : 64; }

/// Takes solid cells like all others: what asks for flags costs more than what it spares. `walls`: the step knows some
/// at the block's sides.
template <class S, class Collision, int tile_width, bool walls>
struct MarchTiles {
  using T = typename S::Number;
  using Word = typename S::Word;
  static constexpr bool recursive = Collision::third_order;
  static constexpr MarchShape shape = march_shape(sizeof(Word), tile_width);
  static constexpr int width = shape.width, height = shape.height, threads = width * height;
  static constexpr int resident = sizeof(T) == 8 ? 2 : 3;
  static constexpr int row = width + 2, cells = row * (height + 2), ring = 2 * row + 2 * height;
  static_assert(ring <= threads, "a thread takes one cell of the ring");
  /// Populations that leave their column: all but those at rest and along z.
  static constexpr int shared = 16;
  static constexpr std::size_t shared_bytes = 2 * shared * cells * sizeof(T);

  StepCells<S, Collision> step;
  int low[3], high[3];  ///< of the box
  int tiles_x, tiles_y, depth;

  /// The number among those in fast memory of a population, and of its place there from a cell to the one that sent it.
  template <int i>
  static constexpr int slot() {
    int n = 0;
    for (int p = 1; p < i; ++p) n += D3Q19::velocity[p][0] != 0 || D3Q19::velocity[p][1] != 0;
    return n;
  }
  template <int i>
  static constexpr int place() {
    return slot<i>() * cells - D3Q19::velocity[i][0] - D3Q19::velocity[i][1] * row;
  }
  template <int x, int y, int z>
  static SLIP_FN T from(const T* own) {
    return own[place<index_of<D3Q19>(x, y, z)>()];
  }
  /// Five populations that cross a plane, by how they move in it.
  struct Five {
    T across, px, mx, py, my;
    SLIP_FN Crossing<T> sums() const { return {across, px, mx, py, my}; }
  };
  template <int z>
  static SLIP_FN Five crossing(const T* own, T across) {
    return {across, from<1, 0, z>(own), from<-1, 0, z>(own), from<0, 1, z>(own), from<0, -1, z>(own)};
  }
  static SLIP_FN Staying<T> staying(const T* own, T rest) {
    return {rest,
            from<1, 0, 0>(own),
            from<-1, 0, 0>(own),
            from<0, 1, 0>(own),
            from<0, -1, 0>(own),
            from<1, 1, 0>(own),
            from<-1, -1, 0>(own),
            from<1, -1, 0>(own),
            from<-1, 1, 0>(own)};
  }
  /// What a wall sends back to a cell that lies beside it along x or y, (x, y) being the way out of the wall: put where
  /// the cell will read it, from its own places in this plane and in the one before, where what it sent lies. What
  /// comes from below has been read before and is returned.
  template <int x, int y>
  static SLIP_FN T put_back(const T* before, T* here) {
    constexpr int tx = y != 0, ty = x != 0;
    const T straight = from_place<-x, -y, 0>(here), one = from_place<-x - tx, -y - ty, 0>(here),
            other = from_place<-x + tx, -y + ty, 0>(here), falling = from_place<-x, -y, 1>(before);
    at_reader<x, y, 0>(here) = straight;
    at_reader<x + tx, y + ty, 0>(here) = one;
    at_reader<x - tx, y - ty, 0>(here) = other;
    at_reader<x, y, -1>(here) = falling;
    return from_place<-x, -y, -1>(here);
  }
  template <int x, int y, int z>
  static SLIP_FN T from_place(const T* own) {
    return own[slot<index_of<D3Q19>(x, y, z)>() * cells];
  }
  template <int x, int y, int z>
  static SLIP_FN T& at_reader(T* own) {
    return own[place<index_of<D3Q19>(x, y, z)>()];
  }
  static SLIP_FN void put(const Sending<T>& s, T* own) {
    unrolled<1, D3Q19::q>([&](auto i) {
      if constexpr (D3Q19::velocity[i()][0] != 0 || D3Q19::velocity[i()][1] != 0)
        own[slot<i()>() * cells] = s.template population<i()>();
    });
  }

  /// A cell of the tile or of its ring: its place in fast memory, -1 where no cell of the box reads it, and in memory.
  struct Seat {
    int place = -1;
    std::int32_t column = 0;  ///< within a plane
  };
  SLIP_FN Seat seat(int base_x, int base_y, int at_x, int at_y) const {
    const int x = base_x + at_x - 1, y = base_y + at_y - 1;
    const auto& in = step.in;
    if (x > high[0] || y > high[1] || (walls && (in.walls.behind(0, x) || in.walls.behind(1, y)))) return {};
    return {at_y * row + at_x, static_cast<std::int32_t>(in.wrapped(x, 0) + in.wrapped(y, 1) * in.row)};
  }
  SLIP_FN Seat ring_seat(int base_x, int base_y, int thread) const {
    if (thread >= ring) return {};
    if (thread < row) return seat(base_x, base_y, thread, 0);
    if (thread < 2 * row) return seat(base_x, base_y, thread - row, height + 1);
    const int n = thread - 2 * row;
    return seat(base_x, base_y, n % 2 == 0 ? 0 : row - 1, 1 + n / 2);
  }

  /// Threads share out the lines of a plane's tile, in all ten moments: that of one of them in plane 0, or null.
  SLIP_FN const Word* line_of(int base_x, int base_y, int thread) const {
    constexpr int lines = std::max(1, width * static_cast<int>(sizeof(Word)) / 128), tile = lines * height;
    static_assert(shape.ahead == 0 || 10 * tile <= threads, "a thread fetches one line");
    const int x = base_x + thread % lines * (width / lines), y = base_y + thread / lines % height;
    if (thread >= 10 * tile || x >= high[0] || y >= high[1]) return nullptr;
    return step.in.origin + thread / tile * step.in.component + x + y * step.in.row;
  }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    T* const memory = team.template shared<T>();
    const auto tile = static_cast<int>(team.index() % (tiles_x * tiles_y)),
               layer = static_cast<int>(team.index() / (tiles_x * tiles_y));
    const int base_x = low[0] + tile % tiles_x * width, base_y = low[1] + tile / tiles_x * height;
    const int first = low[2] + layer * depth, end = first + depth < high[2] ? first + depth : high[2];
    // What a thread keeps from plane to plane.
    Seat own, beside;
    bool inside = false;
    TenMoments<T> next{}, next_beside{};
    T rest = 0, up = 0, down = 0;
    Five rising{};
    Arrived<T> arrived;
    const Word* line = nullptr;
    unsigned beside_column = 0;  // sides along x and y
    T kept[2][6];

    const auto sides_of = [&](int k) { return beside_column | step.in.walls.along(2, k); };
    const auto plane_of = [&](int k) { return step.in.wrapped(k, 2) * step.in.plane; };
    const auto load = [&](Seat& at, int k, TenMoments<T>& to) {
      if (at.place < 0 || k > end || (walls && step.in.walls.behind(2, k))) return;
      const Word* const from = step.in.origin + plane_of(k) + at.column;
      to = load_moments<S>(from, step.in.component);
    };
    const auto load_own = [&](int k) { load(own, k, next); };
    const auto load_ring = [&](int k) { load(beside, k, next_beside); };
    const auto fetch = [&](int k) {
      if (line != nullptr && k <= end) fetch_ahead(line + plane_of(k));
    };
    // Beside walls, once a plane has been sent. What a cell sent lies where it was put until it puts another there.
    const auto beside_walls = [&](int k, bool beyond, T* here) {
      const T* const before = memory + ((k - 1 - first) & 1) * shared * cells + own.place;
      if ((beside_column & side_bit(0, false)) != 0) rising.px = put_back<1, 0>(before, here);
      if ((beside_column & side_bit(0, true)) != 0) rising.mx = put_back<-1, 0>(before, here);
      if ((beside_column & side_bit(1, false)) != 0) rising.py = put_back<0, 1>(before, here);
      if ((beside_column & side_bit(1, true)) != 0) rising.my = put_back<0, -1>(before, here);
      if ((step.in.walls.along(2, k) & side_bit(2, false)) != 0)
        rising = {down, from_place<-1, 0, -1>(here), from_place<1, 0, -1>(here), from_place<0, -1, -1>(here),
                  from_place<0, 1, -1>(here)};
      if (beyond && k > 0) {
        down = up;
        at_reader<1, 0, -1>(here) = from_place<-1, 0, 1>(before);
        at_reader<-1, 0, -1>(here) = from_place<1, 0, 1>(before);
        at_reader<0, 1, -1>(here) = from_place<0, -1, 1>(before);
        at_reader<0, -1, -1>(here) = from_place<0, 1, 1>(before);
      }
    };
    // A plane that has been loaded, and the next one's load.
    const auto send = [&](int k) {
      T* const plane = memory + ((k - first) & 1) * shared * cells;
      const TenMoments<T> mine = next, theirs = next_beside;
      if constexpr (walls)
        if (inside && sides_of(k) != 0) step.collision.keep(mine, kept[k & 1]);
      if constexpr (shape.early) load_own(k + 1);
      if constexpr (shape.ring_early) load_ring(k + 1);
      const bool beyond = walls && step.in.walls.behind(2, k);
      if (own.place >= 0 && !beyond) {
        const Sending<T> s(mine, recursive);
        rest = s.template population<0>();
        up = s.template population<index_of<D3Q19>(0, 0, 1)>();
        down = s.template population<index_of<D3Q19>(0, 0, -1)>();
        put(s, plane + own.place);
      }
      if (beside.place >= 0 && !beyond) put(Sending<T>(theirs, recursive), plane + beside.place);
      if constexpr (walls)
        if (inside) beside_walls(k, beyond, plane + own.place);
      if constexpr (!shape.early) load_own(k + 1);
      if constexpr (!shape.ring_early) load_ring(k + 1);
    };
    const auto receive = [&](int k) {
      const T* const plane = memory + ((k - first) & 1) * shared * cells + own.place;
      if (k > first) {
        const std::int64_t at = (k - 1) * step.in.plane + own.column;
        const Five falling = crossing<-1>(plane, down);
        TenMoments<T> m = arrived.with(falling.sums());
        step.collision(m);
        if constexpr (walls)
          if (sides_of(k - 1) != 0) step.collision.smooth(m, kept[(k - 1) & 1]);
        store_moments<S>(step.out + at, step.in.component, m);
      }
      arrived = Arrived<T>(rising.sums(), staying(plane, rest));
      rising = crossing<1>(plane, up);
    };
    team.each([&](int thread) {
      own = seat(base_x, base_y, 1 + thread % width, 1 + thread / width);
      beside = ring_seat(base_x, base_y, thread);
      inside = base_x + thread % width < high[0] && base_y + thread / width < high[1];
      if constexpr (walls)
        beside_column =
            step.in.walls.along(0, base_x + thread % width) | step.in.walls.along(1, base_y + thread / width);
      if constexpr (shape.ahead > 0) line = line_of(base_x, base_y, thread);
      for (int n = 1; n <= shape.ahead; ++n) fetch(first + n);
      load_own(first - 1);
      load_ring(first - 1);
      send(first - 1);
    });
    for (int k = first - 1; k <= end; ++k)
      team.each([&](int) {
        if constexpr (shape.ahead > 0) fetch(k + 2 + shape.ahead);
        if (inside) receive(k);
        if (k < end) send(k + 1);
      });
  }
};

/// As deep as gives the multiprocessors the least to do, by whole rounds of teams: each reads two planes more.
inline int march_depth(std::int64_t tiles, std::int64_t planes, std::int64_t at_once, std::int64_t deepest) {
  std::int64_t best = std::min(planes, deepest), least = 0;
  for (std::int64_t layers = 1; layers <= planes; ++layers) {
    const std::int64_t depth = (planes + layers - 1) / layers, teams = tiles * ((planes + depth - 1) / depth),
                       time = (teams + at_once - 1) / at_once * (depth + 2);
    if (depth > deepest) continue;
    if (depth < 4 && layers > 1) break;
    if (least == 0 || time < least) {
      least = time;
      best = depth;
    }
  }
  return static_cast<int>(best);
}

/// `deepest`: planes of a team at most; 0: as many as suit the shape.
template <int width, bool walls, class S, class Collision>
void launch_tiles(Stream& stream, const Box& box, const StepCells<S, Collision>& step, int deepest) {
  using March = MarchTiles<S, Collision, width, walls>;
  const auto tiles = [&](int axis, int size) { return static_cast<int>((box.extent(axis) + size - 1) / size); };
  const int x = tiles(0, March::width), y = tiles(1, March::height);
  const int depth =
      march_depth(std::int64_t{x} * y, box.extent(2), std::int64_t{info(stream.device()).processors} * March::resident,
                  deepest > 0 ? deepest : March::shape.deepest);
  const auto corner = [](const Extent& p, int axis) { return static_cast<int>(p[axis]); };
  launch_teams_on_gpu(stream, std::int64_t{x} * y * ((box.extent(2) + depth - 1) / depth), March::threads,
                      March::shared_bytes,
                      March{step,
                            {corner(box.lo, 0), corner(box.lo, 1), corner(box.lo, 2)},
                            {corner(box.hi, 0), corner(box.hi, 1), corner(box.hi, 2)},
                            x,
                            y,
                            depth});
}

/// `tile`: its width, 64 or 32; 0: what suits the numbers, as where walls are known.
template <class S, class Collision>
void launch_march(Stream& stream, const Box& box, const StepCells<S, Collision>& step, int tile, int deepest) {
  constexpr int usual = usual_tile_width(sizeof(typename S::Word)), other = 96 - usual;
  if (step.in.walls.sides != 0) return launch_tiles<usual, true>(stream, box, step, deepest);
  tile == other ? launch_tiles<other, false>(stream, box, step, deepest)
                : launch_tiles<usual, false>(stream, box, step, deepest);
}

}  // namespace slipstream::lbm
