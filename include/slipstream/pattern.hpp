#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <slipstream/grid.hpp>
#include <slipstream/stencil.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// A communication pattern: lists the transfers of a field between blocks. A pattern whose transfers do not follow from
/// the grid alone determines them once, with the other ranks, when it is constructed. No member here communicates. An
/// exchange throws Error on all ranks for a transfer that leaves its block and the ghosts, or has a component that the
/// field lacks. It also throws where two transfers copy to one value of a field. Transfers of no values are left out.
class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual std::string name() const = 0;
  /// Hash of the pattern's options and transfers, by which exchange plans are compared. The same on all ranks; it
  /// differs where transfers differ.
  virtual std::uint64_t fingerprint() const { return 0; }
  /// The grid that receives values from `source`: the same grid, except for patterns between two grids.
  virtual const Grid& target(const Grid& source) const { return source; }
  /// How all transfers of the pattern store values at the target: copy, add, multiply, min or max.
  virtual Op op() const { return Op::copy; }
  /// Every transfer whose source or target block lies on `rank`. All ranks use the same order: two ranks list the
  /// transfers between them in the same sequence. Uses no device.
  virtual std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const = 0;
};

/// Ghost cells take the values of the neighbours' interior cells.
class Halo final : public Pattern {
 public:
  /// Components that are needed in the ghost cells in direction d of a block; empty function: all.
  using Components = std::function<std::vector<int>(const Direction& d)>;
  struct Options {
    Reach reach = Reach::all;
    /// number of ghost layers filled on the low side of each axis; none along z in two dimensions
    Extent low{1, 1, 1};
    Extent high{1, 1, 1};  ///< number of ghost layers filled on the high side of each axis
    Components components;
  };
  explicit Halo(Options options) : options_(std::move(options)) {}
  std::string name() const override { return "halo"; }
  std::uint64_t fingerprint() const override;
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;

 private:
  Options options_;
};

/// The reverse of Halo: adds values of ghost cells (or combines them by `op`) into interior cells. These are the cells
/// from which a Halo of the same options would fill the ghosts. Ghost cells keep their values. With Op::add it is the
/// transpose of Halo as a matrix from interior cells to interior and ghost cells: <H x, y> = <x, H* y>. Each cell
/// combines its own value and those of ghost cells in the order of the blocks' ids. So bits do not depend on ranks,
/// devices or routes.
class HaloAdjoint final : public Pattern {
 public:
  /// `op` combines ghost values with interior values. Any operation is allowed but copy, which throws Error.
  explicit HaloAdjoint(Halo::Options options, Op op = Op::add);
  std::string name() const override { return "halo adjoint"; }
  std::uint64_t fingerprint() const override;
  Op op() const override { return op_; }
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;

 private:
  Halo halo_;
  Op op_;
};

}  // namespace slipstream
