#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <slipstream/grid.hpp>
#include <slipstream/stencil.hpp>
#include <slipstream/transfer.hpp>

namespace slipstream {

/// Who needs what: lists the transfers of a field with the given number of components. A pattern whose transfers are
/// not known from the grid alone finds them once, when it is made, with the other ranks; nothing here talks to them.
/// An exchange throws Error on all ranks for a transfer that leaves its block and the ghosts, or names a component that
/// the field does not have. It throws, too, where two transfers copy to one value of a field. Transfers of no values
/// are left out.
class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual std::string name() const = 0;
  /// Of its options and lists: the same on all ranks, another one where transfers differ. Plans are compared by it.
  virtual std::uint64_t fingerprint() const { return 0; }
  /// The blocks that it brings values to, from those of `source`: the same, but for patterns between two grids.
  virtual const Grid& target(const Grid& source) const { return source; }
  /// What all its transfers do.
  virtual Op op() const { return Op::copy; }
  /// Every transfer whose source or target block lies on `rank`, in an order on which all ranks agree: two ranks
  /// list the transfers between them in the same sequence. Touches no device.
  virtual std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const = 0;
};

/// Ghost cells take the values of the neighbours' interior cells.
class Halo final : public Pattern {
 public:
  /// Components that the ghost cells lying in direction d of a block are read for; empty function: all.
  using Components = std::function<std::vector<int>(const Direction& d)>;
  struct Options {
    Reach reach = Reach::all;
    Extent low{1, 1, 1};   ///< ghost layers filled on the low side of each axis; none along z in two dimensions
    Extent high{1, 1, 1};  ///< and on the high side
    Components components;
  };
  explicit Halo(Options options) : options_(std::move(options)) {}
  std::string name() const override { return "halo"; }
  std::uint64_t fingerprint() const override;
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent& ghost, int rank) const override;

 private:
  Options options_;
};

/// The other way round: what ghost cells hold is added (multiplied, compared) into the interior cells that a Halo of
/// the same options would have filled them from. Ghost cells stay as they are. With Op::add it is the transpose of Halo
/// as a matrix from interior cells to interior and ghost cells: <H x, y> = <x, H* y>. Each cell combines its own value
/// and those of ghost cells in the order of the blocks' ids, so that bits do not depend on ranks, devices or routes.
class HaloAdjoint final : public Pattern {
 public:
  /// `op`: all but copy, which throws Error.
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
