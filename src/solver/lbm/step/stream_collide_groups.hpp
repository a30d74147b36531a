#pragma once
// A lattice Boltzmann step on groups of cells, for GPUs.
#include <bit>
#include <cstdint>

#include <slipstream/device/bits.hpp>

#include "solver/lbm/step/stream_collide.hpp"

namespace slipstream::lbm {

/// Updates a few adjacent cells of a row at once, 8 bytes of each population. A GPU loads and addresses them together
/// if the population is not shifted in x; else as an aligned group and one adjacent cell. The bits are those of
/// StreamCollide.
template <class L, class S, AtSolids solids, Sides sides, bool in_place, class Collision>
struct StreamCollideGroups {
  using Word = typename S::Word;
  using T = typename S::Number;
  using Cells = StreamCollide<L, S, Strides::soa, solids, sides, in_place, Collision>;
  static constexpr int size = 8 / sizeof(Word);
  // Blocks of threads are small, so that 128 or 170 registers hold all values of a thread.
  static constexpr int threads = size == 4 ? 64 : 128;
  static constexpr int resident = (L::q > 19 ? 384 : 512) / threads;
  struct alignas(8) Group {
    Word word[size];
  };
  struct alignas(size) Flags {
    std::uint8_t flag[size];
  };
  /// Position of cells that are adjacent along x and updated by one thread. It has offsets to neighbouring rows, x
  /// offsets to neighbours of the first and the last cell, and bits of adjacent walls.
  struct Site {
    Steps<L> steps;
    Step first, last;
    std::uint8_t walls, end_walls;
  };
  Cells cells;
  bool alone = false;

  /// Kernels may start before the previous one ends, but not if other kernels run: waiting blocks would displace
  /// these.
  bool early() const { return alone; }

  SLIP_FN void operator()(int group, int j, int k) const {
    const int i = size * group, extent = sides == Sides::open ? 0 : cells.wrap.extent[0];
    const auto row = cells.row(j, k);
    const std::int64_t at = row.start + i;
    const Flags solid = flags_of(row.flags_start + i);
    if constexpr (solids == AtSolids::leave)
      if (cells.skip_solids && all(solid)) return;
    const Site site{row.steps, Step(1, i, extent), Step(1, i + size - 1, extent), row.walls,
                    cells.template walls_at<0>(i, i + size - 1)};
    Group words[L::q];
    unrolled<0, L::q>([&](auto q) { words[q()] = read<q()>(cells.in.template population<q()>() + at, site); });
    if constexpr (solids == AtSolids::leave) {
      unrolled<0, L::q>([&](auto q) { read_by_now(words[q()]); });
      if (all(solid)) return;
    }
    unrolled<0, size>([&](auto n) {
      T g[L::q];
      unrolled<0, L::q>([&](auto q) { g[q()] = S::load(words[q()].word[n()]); });
      cells.collision(g);
      const typename S::Rounding rounded(g[0]);
      unrolled<0, L::q>([&](auto q) { words[q()].word[n()] = rounded(solid.flag[n()] ? T(0) : g[q()]); });
    });
    unrolled<0, L::q>([&](auto q) {
      constexpr int to = in_place ? opposite_of(q()) : q();
      Word* const there = cells.out.template population<to>() + at;
      if constexpr (in_place) {
        write<to>(there, site, words[q()]);
      } else {
        put(there, words[q()]);
      }
    });
  }

 private:
  struct Halves {
    std::uint32_t part[2];
  };
  /// Stores the group as one number, because compilers would write four values one by one.
  SLIP_FN static void put(Word* there, const Group& group) {
    const auto half = std::bit_cast<Halves>(group);
    *reinterpret_cast<std::uint64_t*>(there) = half.part[0] | std::uint64_t{half.part[1]} << 32;
  }

  SLIP_FN static void read_by_now(Group& group) {
    auto half = std::bit_cast<Halves>(group);
    have_by_now(half.part[0]);
    have_by_now(half.part[1]);
    group = std::bit_cast<Group>(half);
  }

  SLIP_FN Flags flags_of(std::int64_t at) const {
    if constexpr (solids == AtSolids::none) {
      return {};
    } else {
      return *reinterpret_cast<const Flags*>(cells.flags.origin + at);
    }
  }
  SLIP_FN static bool all(const Flags& flags) {
    bool every = true;
    unrolled<0, size>([&](auto n) { every &= flags.flag[n()] != 0; });
    return every;
  }

  /// Offset in memory from population q of a group of adjacent cells to the row of upstream cells from which q comes.
  template <int q>
  SLIP_FN std::int64_t row_of(const Site& site, bool wall = false) const {
    return cells.template incoming<q>(site.steps, Step(0, 1, 0), wall);
  }
  template <int q>
  static constexpr bool shifted() {
    return L::velocity[q][0] != 0 && !(in_place && q % 2 == 1);
  }
  /// Offset of the one cell beside a thread's group of cells along x from which the group receives population q.
  template <int q>
  SLIP_FN static std::int64_t beside(const Site& site) {
    constexpr bool from_below = L::velocity[q][0] > 0;
    return from_below ? site.first.below : size - 1 + site.last.above;
  }

  template <int q>
  SLIP_FN Group read(const Word* own, const Site& site) const {
    const bool wall = Cells::template comes_from<q>(site.walls);
    const Word* const row = own + row_of<q>(site, wall);
    const Group aligned = *reinterpret_cast<const Group*>(row);
    if constexpr (!shifted<q>()) return aligned;
    constexpr bool from_below = L::velocity[q][0] > 0;
    constexpr int end = from_below ? 0 : size - 1;
    // At a wall, a cell reads the population that it sent there.
    const bool end_wall = wall || Cells::template comes_from<q>(site.end_walls);
    Group found;
    found.word[end] = end_wall ? own[row_of<q>(site, true) + end] : row[beside<q>(site)];
    unrolled<1, size>([&](auto n) {
      constexpr int to = from_below ? n() : n() - 1, from = from_below ? n() - 1 : n();
      found.word[to] = aligned.word[wall ? to : from];
    });
    return found;
  }
  template <int q>
  SLIP_FN void write(Word* own, const Site& site, const Group& group) const {
    Word* const row = own + row_of<q>(site);
    if constexpr (!shifted<q>()) {
      put(row, group);
    } else {
      constexpr bool from_below = L::velocity[q][0] > 0;
      row[beside<q>(site)] = group.word[from_below ? 0 : size - 1];
      unrolled<1, size>([&](auto n) { row[from_below ? n() - 1 : n()] = group.word[from_below ? n() : n() - 1]; });
    }
  }
};

/// Whether rows of a box and its arrays consist of whole groups: adjacent cells that one thread updates together.
template <class Groups>
bool in_groups(const Box& box, const BlockArrays& b) {
  const auto whole = [](std::int64_t n) { return n % Groups::size == 0; };
  const auto fits = [&](const BlockData& place) {
    return reinterpret_cast<std::uintptr_t>(place.origin) % alignof(typename Groups::Group) == 0 &&
           whole(place.shape.stride[1]) && whole(place.shape.stride[2]) && whole(place.shape.component_stride);
  };
  const BlockShape& flags = b.flags.shape;
  return whole(box.lo[0]) && whole(box.hi[0]) && fits(b.populations) && fits(b.populations_out) &&
         (!b.has_solids || (reinterpret_cast<std::uintptr_t>(b.flags.origin) % alignof(typename Groups::Flags) == 0 &&
                            whole(flags.stride[1]) && whole(flags.stride[2])));
}

/// Converts a box of cells to a box of groups, each of `size` adjacent cells along x that one thread updates.
template <class Groups>
Box groups_of(Box box) {
  box.lo[0] /= Groups::size;
  box.hi[0] /= Groups::size;
  return box;
}

/// Launches a kernel with a group of adjacent cells per thread, if on a GPU with aligned rows. Returns whether it did.
template <class L, class S, AtSolids solids, Sides sides, bool in_place, class Collision>
bool launch_groups(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
  using Groups = StreamCollideGroups<L, S, solids, sides, in_place, Collision>;
  if constexpr (Groups::size > 1) {
    if (stream.device().backend != Backend::host && in_groups<Groups>(box, b)) {
      launch_on_gpu(stream, groups_of<Groups>(box),
                    Groups{step_of<L, S, Strides::soa, solids, sides, in_place>(b, collision), b.alone});
      return true;
    }
  }
  return false;
}

}  // namespace slipstream::lbm
