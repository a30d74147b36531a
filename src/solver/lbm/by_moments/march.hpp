#pragma once
// Fused step in ten moments on GPUs. A thread block takes a tile of a plane and marches along z. Populations within the
// tile are exchanged through shared memory; cells of the ring around it are computed by both adjacent tiles. So each
// cell except those of the ring is read once, and each is written once.
#include <algorithm>
#include <array>

#include <slipstream/device/caches.hpp>
#include <slipstream/launch.hpp>

#include "solver/lbm/by_moments/step.hpp"
#include "solver/lbm/by_moments/tiles.hpp"

namespace slipstream::lbm {

struct MarchShape {
  int width, height;  ///< width and height of a tile in cells
  int lanes;          ///< number of adjacent cells along x of a thread, loaded and stored at once
  int resident;       ///< number of thread blocks that a multiprocessor runs at the same time
  /// largest number of planes along z per thread block; blocks that drift apart no longer share edge cells in L2
  int deepest;
  bool early;       ///< whether cells of a plane are loaded while the plane before is processed
  bool ring_early;  ///< whether cells around the tile are loaded one plane ahead, too; f64 lacks the registers
  int ahead;        ///< number of planes to prefetch into the L2 cache, if few bytes are in flight
};
/// Shapes of the tiles of cells that thread blocks process, as fastest on an H100. They depend on the bytes of a stored
/// moment and on the tile's width in cells; docs/notes/performance.md has others.
constexpr MarchShape march_shape(std::size_t bytes, int width) {
  const int height = tiles_of(bytes)[width == 64 ? 0 : 1][1];
  if (bytes == 8) return {width, height, 1, 2, 32, true, false, 0};
  if (bytes == 4) return {width, height, 1, 3, 128, true, true, 0};
  return {width, height, 2, 2, 48, false, false, width == 64 ? 2 : 0};
}

/// Tiles of cells (each for one thread block) whose kernel handles walls: none, all, or only those next to walls.
enum class WallTiles : std::uint8_t { none, all, apart };
/// Chooses the tiles of cells whose kernel handles walls, by bytes of a number: for f64 those next to walls; else all.
constexpr WallTiles wall_tiles(std::size_t bytes) { return bytes == 8 ? WallTiles::apart : WallTiles::all; }

/// A part of a box that is divided among thread blocks: columns of tiles, cut into layers of `depth` planes.
struct MarchPart {
  std::array<int, 3> low, high;
  int tiles_x, tiles_y, depth;
  SLIP_FN int teams() const { return tiles_x * tiles_y * ((high[2] - low[2] + depth - 1) / depth); }
};

/// A lattice Boltzmann step in part of a box; each thread block marches along z with a tile of cells. Solid cells count
/// as fluid, because testing flags costs more than it saves. `walls`: the step handles walls at the grid block's sides.
template <class S, class Collision, MarchShape shape, bool walls>
struct MarchTiles {
  using T = typename S::Number;
  using Word = typename S::Word;
  static constexpr bool recursive = Collision::third_order;
  static constexpr int width = shape.width, height = shape.height, lanes = shape.lanes;
  static constexpr int threads = width * height / lanes, resident = shape.resident;
  static constexpr int row = width + 2, cells = row * (height + 2), ring = 2 * row + 2 * height;
  static_assert(ring <= threads, "a thread takes one cell of the ring");
  static_assert(lanes == 1 || lanes == 2);
  /// Number of populations that move to another column of cells: all but those at rest and along z.
  static constexpr int shared = 16;
  static constexpr std::size_t shared_bytes = 2 * shared * cells * sizeof(T);

  const StepCells<S, Collision>& step;
  const MarchPart& part;

  /// Offset in shared memory of a cell of a plane: one that the thread block updates, or one beside these. If threads
  /// update two cells, even positions in x precede odd ones, so that adjacent threads access adjacent addresses.
  static SLIP_FN int column_place(int at_x, int at_y) {
    return at_y * row + (lanes == 1 ? at_x : at_x % 2 * (row / 2) + at_x / 2);
  }
  /// Offset in shared memory of a neighbour of a cell that a thread updates. It counts from the thread's only cell; if
  /// the thread has two cells, adjacent along x, it counts from the cell before them.
  template <int lane, int x, int y>
  static constexpr int neighbour() {
    constexpr int along = 1 + lane + x;
    return y * row + (lanes == 1 ? x : along % 2 * (row / 2) + along / 2);
  }
  /// Index of a population among those that travel through shared memory.
  template <int i>
  static constexpr int slot() {
    int n = 0;
    for (int p = 1; p < i; ++p) n += D3Q19::velocity[p][0] != 0 || D3Q19::velocity[p][1] != 0;
    return n;
  }
  /// Address in shared memory where a cell writes an outgoing population; next, the one where it reads an incoming one.
  template <int lane, int x, int y, int z>
  static SLIP_FN T& sent(T* place) {
    return place[slot<index_of<D3Q19>(x, y, z)>() * cells + neighbour<lane, 0, 0>()];
  }
  template <int lane, int x, int y, int z>
  static SLIP_FN T& coming(T* place) {
    return place[slot<index_of<D3Q19>(x, y, z)>() * cells + neighbour<lane, -x, -y>()];
  }
  /// The five populations of a cell that cross a plane, named by their velocity within the plane.
  struct Five {
    T across, px, mx, py, my;
    SLIP_FN Crossing<T> sums() const { return {across, px, mx, py, my}; }
  };
  template <int lane, int z>
  static SLIP_FN Five crossing(T* p, T across) {
    return {across, coming<lane, 1, 0, z>(p), coming<lane, -1, 0, z>(p), coming<lane, 0, 1, z>(p),
            coming<lane, 0, -1, z>(p)};
  }
  template <int lane>
  static SLIP_FN Staying<T> staying(T* p, T rest) {
    return {rest,
            coming<lane, 1, 0, 0>(p),
            coming<lane, -1, 0, 0>(p),
            coming<lane, 0, 1, 0>(p),
            coming<lane, 0, -1, 0>(p),
            coming<lane, 1, 1, 0>(p),
            coming<lane, -1, -1, 0>(p),
            coming<lane, 1, -1, 0>(p),
            coming<lane, -1, 1, 0>(p)};
  }
  /// Bounce-back for a cell next to a wall along x or y; (x, y) points out of the wall. It moves populations that the
  /// cell sent, in this plane and the one before, to the places where the cell reads them. The one from below has been
  /// read already, so it is returned.
  template <int lane, int x, int y>
  static SLIP_FN T put_back(T* before, T* here) {
    constexpr int tx = y != 0, ty = x != 0;
    const T straight = sent<lane, -x, -y, 0>(here), one = sent<lane, -x - tx, -y - ty, 0>(here),
            other = sent<lane, -x + tx, -y + ty, 0>(here), falling = sent<lane, -x, -y, 1>(before);
    coming<lane, x, y, 0>(here) = straight;
    coming<lane, x + tx, y + ty, 0>(here) = one;
    coming<lane, x - tx, y - ty, 0>(here) = other;
    coming<lane, x, y, -1>(here) = falling;
    return sent<lane, -x, -y, -1>(here);
  }
  template <int lane>
  static SLIP_FN void put(const Sending<T>& s, T* place) {
    unrolled<1, D3Q19::q>([&](auto i) {
      constexpr int x = D3Q19::velocity[i()][0], y = D3Q19::velocity[i()][1], z = D3Q19::velocity[i()][2];
      if constexpr (x != 0 || y != 0) sent<lane, x, y, z>(place) = s.template population<i()>();
    });
  }
  static SLIP_FN void put_of_ring(const Sending<T>& s, T* place) {
    unrolled<1, D3Q19::q>([&](auto i) {
      if constexpr (D3Q19::velocity[i()][0] != 0 || D3Q19::velocity[i()][1] != 0)
        place[slot<i()>() * cells] = s.template population<i()>();
    });
  }

  /// Whether a cell of the box needs populations from the column of cells at (x, y).
  SLIP_FN bool needed(int x, int y) const {
    const auto& in = step.in;
    return x >= part.low[0] - 1 && x <= part.high[0] && y <= part.high[1] &&
           !(walls && (in.walls.behind(0, x) || in.walls.behind(1, y)));
  }
  SLIP_FN std::int32_t column(int x, int y) const {
    return static_cast<std::int32_t>(step.in.wrapped(x, 0) + step.in.wrapped(y, 1) * step.in.row);
  }

  /// Cells of the tile that a thread processes.
  struct Own {
    int place = 0;
    std::int32_t column[lanes] = {};
    unsigned facts = 0;  ///< bits per cell: whether to load it, whether to update it, and which walls lie next to it
    SLIP_FN bool needed(int lane) const { return (facts >> lane & 1u) != 0; }
    SLIP_FN bool inside(int lane) const { return (facts >> (2 + lane) & 1u) != 0; }
    SLIP_FN bool all_inside() const { return (facts >> 2 & 3u) == (1u << lanes) - 1; }
    SLIP_FN bool any_inside() const { return (facts >> 2 & 3u) != 0; }
    /// Whether the cells of a thread are adjacent in memory, so that they can be loaded at once.
    SLIP_FN bool at_once() const { return lanes == 1 ? needed(0) : (facts & 16u) != 0; }
    SLIP_FN unsigned sides(int lane) const { return facts >> (8 + 8 * lane) & 15u; }
  };
  SLIP_FN Own own_cells(int base_x, int base_y, int thread) const {
    Own own;
    const int at_x = thread % (width / lanes), at_y = thread / (width / lanes), y = base_y + at_y;
    own.place = lanes == 1 ? column_place(1 + at_x, 1 + at_y) : (1 + at_y) * row + at_x;
    bool all = true;
    unrolled<0, lanes>([&](auto lane) {
      const int x = base_x + lanes * at_x + lane();
      if (needed(x, y)) {
        own.facts |= 1u << lane();
        own.column[lane()] = column(x, y);
      }
      all = all && needed(x, y) && own.column[lane()] == own.column[0] + lane();
      if (x >= part.low[0] && x < part.high[0] && y < part.high[1]) own.facts |= 4u << lane();
      if constexpr (walls) own.facts |= (step.in.walls.along(0, x) | step.in.walls.along(1, y)) << (8 + 8 * lane());
    });
    if (all) own.facts |= 16u;
    return own;
  }
  /// A cell beside a thread block's tile: offset in shared memory (-1: not needed) and index within a plane of cells.
  struct Seat {
    int place = -1;
    std::int32_t column = 0;
  };
  SLIP_FN Seat ring_seat(int base_x, int base_y, int thread) const {
    if (thread >= ring) return {};
    const int n = thread - 2 * row;
    const int at_x = n < 0 ? thread % row : n % 2 * (row - 1), at_y = n < 0 ? thread / row * (height + 1) : 1 + n / 2;
    const int x = base_x + at_x - 1, y = base_y + at_y - 1;
    if (!needed(x, y)) return {};
    return {column_place(at_x, at_y), column(x, y)};
  }

  /// Address of the cache line of plane 0 that a thread prefetches, for each of the ten moments; null if the thread has
  /// none.
  SLIP_FN const Word* line_of(int base_x, int base_y, int thread) const {
    constexpr int lines = std::max(1, width * static_cast<int>(sizeof(Word)) / 128), tile = lines * height;
    static_assert(shape.ahead == 0 || 10 * tile <= threads, "a thread fetches one line");
    const int x = base_x + thread % lines * (width / lines), y = base_y + thread / lines % height;
    if (thread >= 10 * tile || x >= part.high[0] || y >= part.high[1]) return nullptr;
    return step.in.origin + thread / tile * step.in.component + x + y * step.in.row;
  }

  /// Advances one thread block's cells by a time step. `index`: its number among thread blocks that share a region.
  template <class Team>
  SLIP_FN void run(const Team& team, int index) const {
    T* const memory = team.template shared<T>();
    const int tiles_x = part.tiles_x, tiles = tiles_x * part.tiles_y, tile = index % tiles, layer = index / tiles;
    const int base_x = part.low[0] / lanes * lanes + tile % tiles_x * width,
              base_y = part.low[1] + tile / tiles_x * height;
    const int first = part.low[2] + layer * part.depth,
              end = first + part.depth < part.high[2] ? first + part.depth : part.high[2];
    const auto& near_walls = step.in.walls;
    // These variables of a thread persist from plane to plane.
    Own own;
    Seat beside;
    TenWords<S, lanes> next{};
    TenWords<S, 1> next_near{};
    struct Lane {
      T rest = 0, up = 0, down = 0;
      Five rising{};
      Arrived<T> arrived;
    };
    Lane lane[lanes];
    const Word* line = nullptr;
    T kept[2][lanes][6];

    const auto plane_of = [&](int k) { return step.in.wrapped(k, 2) * step.in.plane; };
    const auto plane_at = [&](int k) { return memory + ((k - first) & 1) * shared * cells; };
    const auto nobody = [&](int k) { return k > end || (walls && near_walls.behind(2, k)); };
    const auto load_own = [&](int k) {
      if (nobody(k)) return;
      const Word* const from = step.in.origin + plane_of(k);
      if (own.at_once()) return next.load(from + own.column[0], step.in.component);
      if constexpr (lanes > 1)
        unrolled<0, lanes>([&](auto l) {
          if (own.needed(l())) next.template load_one<l()>(from + own.column[l()], step.in.component);
        });
    };
    const auto load_ring = [&](int k) {
      if (beside.place >= 0 && !nobody(k))
        next_near.load(step.in.origin + plane_of(k) + beside.column, step.in.component);
    };
    const auto fetch = [&](int k) {
      if (line != nullptr && k <= end) fetch_ahead(line + plane_of(k));
    };
    // Applies bounce-back after a plane was sent: populations stay in place until the cell sends the next ones.
    const auto put_all_back = [&](int k, bool beyond, auto l) {
      T *const here = plane_at(k) + own.place, *const before = plane_at(k - 1) + own.place;
      Lane& at = lane[l()];
      const unsigned sides = own.sides(l());
      if ((sides & side_bit(0, false)) != 0) at.rising.px = put_back<l(), 1, 0>(before, here);
      if ((sides & side_bit(0, true)) != 0) at.rising.mx = put_back<l(), -1, 0>(before, here);
      if ((sides & side_bit(1, false)) != 0) at.rising.py = put_back<l(), 0, 1>(before, here);
      if ((sides & side_bit(1, true)) != 0) at.rising.my = put_back<l(), 0, -1>(before, here);
      if ((near_walls.along(2, k) & side_bit(2, false)) != 0)
        at.rising = {at.down, sent<l(), -1, 0, -1>(here), sent<l(), 1, 0, -1>(here), sent<l(), 0, -1, -1>(here),
                     sent<l(), 0, 1, -1>(here)};
      if (beyond && k > 0) {
        at.down = at.up;
        coming<l(), 1, 0, -1>(here) = sent<l(), -1, 0, 1>(before);
        coming<l(), -1, 0, -1>(here) = sent<l(), 1, 0, 1>(before);
        coming<l(), 0, 1, -1>(here) = sent<l(), 0, -1, 1>(before);
        coming<l(), 0, -1, -1>(here) = sent<l(), 0, 1, 1>(before);
      }
    };
    // Sends populations of a loaded plane, and loads the next plane.
    const auto send = [&](int k) {
      T* const plane = plane_at(k);
      const TenWords<S, lanes> mine = next;
      const TenWords<S, 1> theirs = next_near;
      if constexpr (shape.early) load_own(k + 1);
      if constexpr (shape.ring_early) load_ring(k + 1);
      const bool beyond = walls && near_walls.behind(2, k);
      unrolled<0, lanes>([&](auto l) {
        if (own.needed(l()) && !beyond) {
          const TenMoments<T> m = mine.template moments<l()>();
          if constexpr (walls)
            if (own.inside(l()) && (own.sides(l()) | near_walls.along(2, k)) != 0)
              step.collision.keep(m, kept[k & 1][l()]);
          const Sending<T> s(m, recursive);
          lane[l()].rest = s.template population<0>();
          lane[l()].up = s.template population<index_of<D3Q19>(0, 0, 1)>();
          lane[l()].down = s.template population<index_of<D3Q19>(0, 0, -1)>();
          put<l()>(s, plane + own.place);
        }
      });
      if (beside.place >= 0 && !beyond) put_of_ring({theirs.template moments<0>(), recursive}, plane + beside.place);
      if constexpr (walls)
        unrolled<0, lanes>([&](auto l) {
          if (own.inside(l())) put_all_back(k, beyond, l);
        });
      if constexpr (!shape.early) load_own(k + 1);
      if constexpr (!shape.ring_early) load_ring(k + 1);
    };
    const auto receive = [&](int k) {
      if (!own.any_inside()) return;
      T* const plane = plane_at(k) + own.place;
      TenWords<S, lanes> words;
      unrolled<0, lanes>([&](auto l) {
        Lane& at = lane[l()];
        if (k > first) {
          const Five falling = crossing<l(), -1>(plane, at.down);
          TenMoments<T> m = at.arrived.with(falling.sums());
          step.collision(m);
          if constexpr (walls)
            if ((own.sides(l()) | near_walls.along(2, k - 1)) != 0) step.collision.smooth(m, kept[(k - 1) & 1][l()]);
          if constexpr (lanes == 1) {
            store_moments<S>(step.out + ((k - 1) * step.in.plane + own.column[0]), step.in.component, m);
          } else {
            words.template set<l()>(m);
          }
        }
        at.arrived = Arrived<T>(at.rising.sums(), staying<l()>(plane, at.rest));
        at.rising = crossing<l(), 1>(plane, at.up);
      });
      if (lanes == 1 || k <= first) return;
      Word* const to = step.out + (k - 1) * step.in.plane;
      if (own.all_inside()) return words.store(to + own.column[0], step.in.component);
      unrolled<0, lanes>([&](auto l) {
        if (own.inside(l())) words.template store_one<l()>(to + own.column[l()], step.in.component);
      });
    };
    team.each([&](int thread) {
      own = own_cells(base_x, base_y, thread);
      beside = ring_seat(base_x, base_y, thread);
      if constexpr (shape.ahead > 0) line = line_of(base_x, base_y, thread);
      for (int n = 1; n <= shape.ahead; ++n) fetch(first + n);
      load_own(first - 1);
      load_ring(first - 1);
      send(first - 1);
    });
    for (int k = first - 1; k <= end; ++k)
      team.each([&](int) {
        if constexpr (shape.ahead > 0) fetch(k + 2 + shape.ahead);
        receive(k);
        if (k < end) send(k + 1);
      });
  }
};

/// Advances a whole box by a step, divided into parts.
template <class S, class Collision, MarchShape usual, MarchShape beside, WallTiles which>
struct March {
  using Usual = MarchTiles<S, Collision, usual, which == WallTiles::all>;
  using NearWalls = MarchTiles<S, Collision, beside, true>;
  static constexpr bool apart = which == WallTiles::apart;
  static constexpr int threads = Usual::threads, resident = usual.resident, most_parts = apart ? 7 : 1;
  static constexpr std::size_t shared_bytes =
      apart ? std::max(Usual::shared_bytes, NearWalls::shared_bytes) : Usual::shared_bytes;
  static_assert(threads == NearWalls::threads);

  StepCells<S, Collision> step;
  MarchPart parts[most_parts];  ///< boxes that together cover the cells: up to six layers along walls, then the rest
  int ends[most_parts];         ///< number of thread blocks for each box of cells and all boxes before it

  std::int64_t teams() const { return ends[most_parts - 1]; }

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const auto index = static_cast<int>(team.index());
    if constexpr (!apart) {
      Usual{step, parts[0]}.run(team, index);
    } else {
      // Parts of the box next to walls take longer, so their thread blocks have the lowest indices and start first.
      if (const int those = ends[most_parts - 2]; index >= those)
        return Usual{step, parts[most_parts - 1]}.run(team, index - those);
      MarchPart part = parts[0];
      int begin = 0;
      unrolled<1, most_parts - 1>([&](auto n) {
        if (index < ends[n() - 1]) return;
        part = parts[n()];
        begin = ends[n() - 1];
      });
      NearWalls{step, part}.run(team, index - begin);
    }
  }
};

/// Number of planes per thread block with the least total work: blocks run in waves, and each reads two extra planes.
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

/// Divides a box among thread blocks. `deepest`: largest number of planes along z per thread block; 0: shape.deepest.
inline MarchPart part_of(const Box& box, const MarchShape& shape, int processors, int deepest) {
  const auto corner = [](const Extent& p) {
    return std::array{static_cast<int>(p[0]), static_cast<int>(p[1]), static_cast<int>(p[2])};
  };
  if (box.empty()) return {{}, {}, 0, 0, 1};
  const auto tiles = [](std::int64_t extent, int size) { return static_cast<int>((extent + size - 1) / size); };
  // A thread loads two neighbouring cells along x at once, from an even x. A box that begins at an odd x is widened.
  const int x = tiles(box.extent(0) + box.lo[0] % shape.lanes, shape.width), y = tiles(box.extent(1), shape.height);
  const int depth = march_depth(std::int64_t{x} * y, box.extent(2), std::int64_t{processors} * shape.resident,
                                deepest > 0 ? deepest : shape.deepest);
  return {corner(box.lo), corner(box.hi), x, y, depth};
}

/// Cuts a layer of `cells` cells off a box at one of its sides, and returns it.
inline Box cut_off(Box& box, int side, std::int64_t cells) {
  const int a = side / 2;
  Box off = box;
  if (side % 2 == 0) {
    box.lo[a] = off.hi[a] = std::min(box.lo[a] + cells, box.hi[a]);
  } else {
    box.hi[a] = off.lo[a] = std::max(box.hi[a] - cells, box.lo[a]);
  }
  return off;
}

template <MarchShape usual, MarchShape beside, WallTiles which, class S, class Collision>
auto march_of(Box box, const StepCells<S, Collision>& step, int processors, int deepest) {
  March<S, Collision, usual, beside, which> march{step, {}, {}};
  int n = 0, teams = 0;
  const auto add = [&](const Box& part, const MarchShape& shape) {
    march.parts[n] = part_of(part, shape, processors, deepest);
    march.ends[n] = teams += march.parts[n].teams();
    ++n;
  };
  if constexpr (march.apart)
    for (int side = 0; side < 6; ++side) {
      const int a = side / 2;
      const bool there = (step.in.walls.sides >> side & 1u) != 0 &&
                         (side % 2 == 0 ? box.lo[a] == 0 : box.hi[a] == step.in.walls.extent[a]);
      const int deep = a == 0 ? beside.width : a == 1 ? beside.height : 1;
      add(there && !box.empty() ? cut_off(box, side, deep) : Box{}, beside);
    }
  add(box, usual);
  return march;
}

template <int width, WallTiles which, class S, class Collision>
void launch_tiles(Stream& stream, const Box& box, const StepCells<S, Collision>& step, int deepest) {
  constexpr std::size_t bytes = sizeof(typename S::Word);
  const auto march = march_of<march_shape(bytes, width), march_shape(bytes, 32), which>(
      box, step, info(stream.device()).processors, deepest);
  launch_teams_on_gpu(stream, march.teams(), march.threads, march.shared_bytes, march);
}

/// Launches the step in thread blocks that march along z. `tile`: width of tiles, 64 or 32; 0, or with walls that the
/// step handles: the usual width of the number format.
template <class S, class Collision>
void launch_march(Stream& stream, const Box& box, const StepCells<S, Collision>& step, int tile, int deepest) {
  constexpr std::size_t bytes = sizeof(typename S::Word);
  constexpr int usual = usual_tile_width(bytes), other = 96 - usual;
  if (step.in.walls.sides != 0) return launch_tiles<usual, wall_tiles(bytes)>(stream, box, step, deepest);
  tile == other ? launch_tiles<other, WallTiles::none>(stream, box, step, deepest)
                : launch_tiles<usual, WallTiles::none>(stream, box, step, deepest);
}

}  // namespace slipstream::lbm
