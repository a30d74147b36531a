#pragma once
#include <array>
#include <utility>
#include <vector>

#include <slipstream/pattern.hpp>

namespace slipstream {

/// A whole grid of values goes from one decomposition to another, with its axes in another order.
///
/// Let n be the extent of the source's grid and m that of the target's. For a permutation s = axes of {0, 1, 2} with
/// m[s[a]] = n[a], and for every cell p of the source,
///
///     target(q) = source(p),   q[s[a]] = p[a],
///
/// for every component. axes = {0, 1, 2} moves cells between blocks and turns nothing; {2, 1, 0} changes x for z. In
/// memory the axes turn once more where the fields' layouts differ. Each grid may be cut in any way: slabs, pencils,
/// bricks, by the user's own boxes, unevenly, with devices that hold nothing. Values that stay on a device are moved
/// within it. Ghosts are neither read nor written. With axes t of the way back, t[s[a]] = a, a Transpose from the
/// target to the source is its inverse.
class Transpose final : public Pattern {
 public:
  /// First cell, and one behind the last.
  using Range = std::pair<std::int64_t, std::int64_t>;
  struct Options {
    std::array<int, 3> axes{0, 1, 2};
    /// Along each axis of the source: cells that travel, as ascending ranges that do not meet; none: all. Of the
    /// modes of a Fourier transform these are those that truncation leaves. Cells of the target that get nothing keep
    /// what they hold.
    std::array<std::vector<Range>, 3> kept;
  };
  /// Both grids must outlive it and lie on the same machine. Throws Error where axes is no permutation, extents do not
  /// match or a range leaves its axis.
  Transpose(const Grid& source, const Grid& target, Options options);
  Transpose(const Grid& source, const Grid& target) : Transpose(source, target, Options{}) {}

  std::string name() const override { return "transpose"; }
  std::uint64_t fingerprint() const override;
  const Grid& target(const Grid&) const override { return target_; }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;
  /// The permutation of the way back.
  static std::array<int, 3> inverse(const std::array<int, 3>& axes);

 private:
  Box there(const Box& cells) const;
  Box here(const Box& cells) const;
  void add(const Block& from, const Block& to, const std::vector<int>& components, std::vector<Transfer>& found) const;

  const Grid& target_;
  Options options_;
  std::vector<Box> kept_;  // of the source
};

}  // namespace slipstream
