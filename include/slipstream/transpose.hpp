#pragma once
#include <array>
#include <utility>
#include <vector>

#include <slipstream/pattern.hpp>

namespace slipstream {

/// Moves a whole grid of values to another decomposition, with its axes permuted.
///
/// Let n be the extent of the source's grid and m that of the target's. For a permutation s = axes of {0, 1, 2} with
/// m[s[a]] = n[a], and for every cell p of the source,
///
///     target(q) = source(p),   q[s[a]] = p[a],
///
/// for every component. axes = {0, 1, 2} moves cells between blocks without a permutation; {2, 1, 0} swaps x and z. In
/// memory the axes are permuted once more where the fields' layouts differ. Each grid may be cut in any way: slabs,
/// pencils, bricks, the user's own boxes, unevenly, with devices that hold nothing. Values that stay on a device are
/// moved within it. Ghosts are neither read nor written. With the inverse axes t, t[s[a]] = a, a Transpose from the
/// target to the source is its inverse.
class Transpose final : public Pattern {
 public:
  /// Range of cells: the first cell, and one past the last.
  using Range = std::pair<std::int64_t, std::int64_t>;
  struct Options {
    std::array<int, 3> axes{0, 1, 2};
    /// Along each axis of the source: cells that travel, as ascending ranges with gaps between them; empty: all. For a
    /// truncated Fourier transform these are the modes that are kept. Cells of the target that get nothing keep their
    /// values.
    std::array<std::vector<Range>, 3> kept;
  };
  /// Both grids must outlive the pattern and lie on the same machine. Throws Error where axes is not a permutation,
  /// extents do not match or a range leaves its axis.
  Transpose(const Grid& source, const Grid& target, Options options);
  Transpose(const Grid& source, const Grid& target) : Transpose(source, target, Options{}) {}

  std::string name() const override { return "transpose"; }
  std::uint64_t fingerprint() const override;
  const Grid& target(const Grid&) const override { return target_; }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;
  /// Inverse of a permutation of the three axes, as the transpose back to the source needs it.
  static std::array<int, 3> inverse(const std::array<int, 3>& axes);

 private:
  Box there(const Box& cells) const;
  Box here(const Box& cells) const;
  void add(const Block& from, const Block& to, const std::vector<int>& components, std::vector<Transfer>& found) const;

  const Grid& target_;
  Options options_;
  std::vector<Box> kept_;  // boxes of cells of the source grid that the transpose moves
};

}  // namespace slipstream
