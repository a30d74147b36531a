#pragma once
// Streams and collides the populations of a cell. Populations are stored as deviations from the weights, g_i = f_i -
// w_i, so that f32 keeps its digits where the flow is nearly at rest.
#include <algorithm>
#include <array>
#include <bit>

#include <slipstream/launch.hpp>

#include <slipstream/device/bits.hpp>

#include "device/streaming_stores.hpp"
#include "device/together.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {

/// Treatment of solid cells by the step. `none`: there are none. `rest`: their populations are put at rest, which needs
/// no decision and so vectorises. `leave`: the block chooses. Then only their flag is read (skip_solids), or they are
/// read, concurrently with the flag, but not written (leave_solids), or they are put at rest.
enum class AtSolids : std::uint8_t { none, rest, leave };

/// Treatment of a block's sides by a lattice Boltzmann step. `open`: none, which vectorises. `wrap`: periodic along x.
/// `walls`: also walls at rest, which reflect populations. A separate pass over wall links would access a whole memory
/// sector for each end of a row.
enum class Sides : std::uint8_t { open, wrap, walls };

/// Whether a lattice Boltzmann step can also reflect populations at resting walls. Steps in one array cannot, as they
/// access the ghost cells at walls anyway. Groups of four 16-bit cells lack the registers for it.
template <class S>
constexpr bool step_knows_walls(bool in_place) {
  return !in_place && sizeof(typename S::Word) >= 4;
}

/// Pulls the populations of a cell, collides them and writes them. In place it writes only where it has read (see
/// Form). Each element belongs to one cell in a step, so cells may run in any order, in the interior and the boundary
/// region.
template <class L, class S, Strides strides, AtSolids solids, Sides sides, bool in_place, class Collision>
struct StreamCollide {
  static_assert(!in_place || sides != Sides::walls, "by one array a step touches the ghosts beside walls in any case");
  using Word = typename S::Word;
  using T = typename S::Number;
  Access<L, const Word, strides> in;
  Access<L, Word, strides> out;
  Scalars<const std::uint8_t> flags;
  Wrap wrap;
  std::int64_t turn;  ///< in-place steps: component stride if opposite populations have swapped places; else 0
  Collision collision;
  bool leave_solids, skip_solids, flags_by_word;
  std::uint8_t walls;        ///< bits of sides with resting walls, as in BlockArrays
  int last[3];               ///< index of the block's last cell on each axis
  bool along_z = false;      ///< whether cells are counted along z first, instead of x
  bool past_caches = false;  ///< whether the host writes with streaming stores

  /// A row of cells, which the host updates in one loop.
  struct Row {
    StreamCollide kernel;
    std::int64_t start, flags_start;
    Steps<L> steps;
    std::uint8_t walls;  ///< bit for each side of the block: set if it is a resting wall next to this row in y or z
    SLIP_FN void operator()(int i) const {
      kernel.cell(*this, i,
                  [&](auto q, std::int64_t there, Word word) { kernel.out.template population<q()>()[there] = word; });
    }
    /// Updates cells first to end of the row, on the host.
    void cells(int first, int end) const {
      if constexpr (may_go_past_caches) {
        cells_by_lines(first, end);
      } else {
#pragma GCC ivdep
        for (int i = first; i < end; ++i) (*this)(i);
      }
    }

   private:
    /// The two arrays alternate: results are read in the next step, when the caches of a large block hold other cells.
    /// So some cells are collided into a buffer, and streamed out from it population by population, by cache lines.
    /// Small blocks use the same loop, as it dominates compile time.
    void cells_by_lines(int first, int end) const {
      constexpr int line = static_cast<int>(cache_line / sizeof(Word)), values = 4 * line;
      Word kept[L::q][values];
      const auto begun = reinterpret_cast<std::uintptr_t>(kernel.out.template population<0>() + start + first);
      int count = values - static_cast<int>(begun % cache_line / sizeof(Word));
      for (int from = first; from < end; from += count, count = values) {
        count = std::min(end - from, count);
#pragma GCC ivdep
        for (int i = 0; i < count; ++i)
          kernel.cell(*this, from + i, [&](auto q, std::int64_t, Word word) { kept[q()][i] = word; });
        unrolled<0, L::q>([&](auto q) {
          Word* const there = kernel.out.template population<q()>() + start + from;
          kernel.past_caches ? store_past_caches(there, kept[q()], count)
                             : static_cast<void>(std::copy_n(kept[q()], count, there));
        });
      }
      if (kernel.past_caches) streaming_stores_done();
    }
  };
  // Steps with 16-bit numbers are bound by their conversion, not by memory.
  static constexpr bool may_go_past_caches = !in_place && sides == Sides::open && sizeof(Word) >= 4;
  SLIP_FN Row row(int j, int k) const {
    return {*this,
            in.at(0, j, k),
            flags.at(0, j, k),
            {Step(in.row, j, wrap.extent[1]), Step(in.plane, k, wrap.extent[2])},
            static_cast<std::uint8_t>(walls_at<1>(j, j) | walls_at<2>(k, k))};
  }
  /// Bits of those walls at the two ends of an axis that touch the cells with indices `first` to `to` along the axis.
  template <int axis>
  SLIP_FN std::uint8_t walls_at(int first, int to) const {
    if constexpr (sides != Sides::walls) return 0;
    return static_cast<std::uint8_t>((first == 0 ? walls & side_bit(axis, false) : 0) |
                                     (to == last[axis] ? walls & side_bit(axis, true) : 0));
  }
  /// Whether population q of a cell comes from a wall, given the bits of the walls next to the cell.
  template <int q>
  SLIP_FN static bool comes_from(std::uint8_t walls) {
    constexpr int mask = out_of<q>(0) | out_of<q>(1) | out_of<q>(2);
    return sides == Sides::walls && (walls & mask) != 0;
  }
  template <int q>
  static constexpr int out_of(int axis) {
    const int c = L::velocity[q][axis];
    return c == 0 ? 0 : side_bit(axis, c < 0);
  }
  SLIP_FN void operator()(int i, int j, int k) const {
    if (strides == Strides::any && along_z) {
      row(j, i)(k);
    } else {
      row(j, k)(i);
    }
  }

  /// Offset from a cell's population q to the one that arrives in its place; at a wall to the one that the cell sent.
  template <int q>
  SLIP_FN std::int64_t incoming(const Steps<L>& steps, const Step& x, [[maybe_unused]] bool wall = false) const {
    if constexpr (q == 0) {
      return 0;
    } else if constexpr (!in_place) {
      return wall ? (opposite_of(q) - q) * in.component : steps.template upstream<q>(x);
    } else if constexpr (q % 2 == 1) {
      return turn;
    } else {
      return steps.template upstream<q>(x) - turn;
    }
  }

  /// Whether some of four cells are flagged: reads four flags at once, because rows of flags begin on multiples of four
  /// bytes.
  SLIP_FN bool flagged(std::int64_t at) const {
    if (!flags_by_word) return flags.origin[at] != 0;
    const std::int64_t first = at & ~std::int64_t{3};
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(flags.origin + first);
    return (bytes_that_differ(word, 0) >> (8 * (at - first)) & 1) != 0;
  }

  SLIP_FN static void read_by_now(T& value) {
    using Words = std::array<std::uint32_t, sizeof(T) / sizeof(std::uint32_t)>;
    auto words = std::bit_cast<Words>(value);
    unrolled<0, static_cast<int>(words.size())>([&](auto n) { have_by_now(words[n()]); });
    value = std::bit_cast<T>(words);
  }

  /// Updates a cell. Calls `store` with the number of each population, the array index to write, and the encoded value.
  template <class Store>
  SLIP_FN void cell(const Row& row, int i, const Store& store) const {
    bool solid = false;
    const std::int64_t flag = row.flags_start + (strides == Strides::any ? flags.at(i, 0, 0) : i);
    if constexpr (solids == AtSolids::rest) solid = flags.origin[flag] != 0;
    if constexpr (solids == AtSolids::leave) {
      solid = flagged(flag);
      if (skip_solids && solid) return;
    }
    const std::int64_t at = row.start + in.at(i, 0, 0);
    const Step x(in.at(1, 0, 0), i, sides == Sides::open ? 0 : wrap.extent[0]);
    const auto beside = static_cast<std::uint8_t>(row.walls | walls_at<0>(i, i));
    T g[L::q];
    unrolled<0, L::q>([&](auto q) {
      const bool wall = comes_from<q()>(beside);
      g[q()] = S::load(in.template population<q()>()[at + incoming<q()>(row.steps, x, wall)]);
    });
    if constexpr (solids == AtSolids::leave) {
      unrolled<0, L::q>([&](auto q) { read_by_now(g[q()]); });
      if (leave_solids && solid) return;
    }
    collision(g);
    const typename S::Rounding rounded(g[0]);
    unrolled<0, L::q>([&](auto q) {
      constexpr int to = in_place ? opposite_of(q()) : q();
      const std::int64_t there = in_place ? at + incoming<to>(row.steps, x) : at;
      store(std::integral_constant<int, to>(), there, rounded(solids != AtSolids::none && solid ? T(0) : g[q()]));
    });
  }
};

template <class L, class S, Strides strides, AtSolids solids, Sides sides, bool in_place, class Collision>
StreamCollide<L, S, strides, solids, sides, in_place, Collision> step_of(const BlockArrays& b,
                                                                         const Collision& collision) {
  const Extent& n = b.populations.shape.extent;
  using Word = typename S::Word;
  return {Access<L, const Word, strides>(b.populations),
          Access<L, Word, strides>(in_place ? b.populations : b.populations_out),
          Scalars<const std::uint8_t>(b.flags),
          b.wrap,
          b.form == Form::turned ? b.populations.shape.component_stride : 0,
          collision,
          b.leave_solids,
          b.skip_solids,
          b.flags_by_word,
          b.walls,
          {static_cast<int>(n[0]) - 1, static_cast<int>(n[1]) - 1, static_cast<int>(n[2]) - 1}};
}

/// Wraps a step that also updates whole rows, so that launches run it cell by cell.
template <class Step>
struct CellByCell {
  Step step;
  SLIP_FN void operator()(int i, int j, int k) const { step(i, j, k); }
};

/// Launches the step cell by cell, with the kernel that suits any memory layout, any block, host and GPU.
template <class L, class S, Sides sides, bool in_place, class Collision>
void launch_any_step(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
  auto step = step_of<L, S, Strides::any, AtSolids::leave, sides, in_place>(b, collision);
  // Cells are counted along rows of memory, so that adjacent threads process adjacent cells.
  step.along_z = b.populations.shape.row_axis == 2;
  const Box cells = step.along_z ? along_z(box) : box;
  if (stream.device().backend == Backend::host) return launch_on_host(stream, cells, CellByCell{step});
  b.together ? b.together->add_on_gpu(cells, step) : launch_on_gpu(stream, cells, step);
}

/// Launches the kernel of a step that suits the sides of the block.
template <class L, class S, bool in_place, class Collision>
void launch_any_step(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
  if constexpr (step_knows_walls<S>(in_place))
    if (b.walls != 0) return launch_any_step<L, S, Sides::walls, in_place>(stream, box, b, collision);
  launch_any_step<L, S, Sides::wrap, in_place>(stream, box, b, collision);
}

/// Whether the vectorised step of the host can be used for a block.
inline bool has_vector_step(const Stream& stream, const BlockArrays& b, Layout layout) {
  return stream.device().backend == Backend::host && layout == Layout::soa && b.wrap.extent[0] == 0 && b.walls == 0 &&
         !(b.has_solids && b.leave_solids);
}

/// Launches the step that the compiler vectorises, on the host.
template <class L, class S, bool in_place, class Collision>
void launch_vector_step(Stream& stream, const Box& box, const BlockArrays& b, const Collision& collision) {
  auto step = step_of<L, S, Strides::soa, AtSolids::rest, Sides::open, in_place>(b, collision);
  step.past_caches = b.past_caches;
  launch_on_host(stream, box, step);
}

}  // namespace slipstream::lbm
