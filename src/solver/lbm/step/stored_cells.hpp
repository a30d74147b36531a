#pragma once
// Chooses the cells that each block stores: all, or in packed blocks only fluid cells and those around them.
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/numbering.hpp"
#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {

/// The stored cells of one block: its fluid cells, and all cells that a step or a boundary reads or writes around them.
/// A body keeps only the layer next to the fluid.
class StoredCells {
 public:
  StoredCells(const Grid& grid, const Block& block, const Options& options, const Surroundings& surroundings);

  std::int64_t count() const { return count_; }
  const std::vector<CellWord>& words() const { return words_; }
  /// Numbering of the stored cells, without the pointer to their bits, which differs between host and device.
  const Numbering& numbering() const { return numbering_; }
  /// The number of a stored cell, given by local coordinates; -1 if it is not stored.
  std::int64_t number(const Extent& local) const;
  /// Upper bound of the bytes of a list of the block's fluid cells.
  std::int64_t list_bytes(Lattice lattice) const;

 private:
  std::vector<CellWord> words_;
  Numbering numbering_;
  std::int64_t count_ = 0;
};

/// The cells of a block that are stored, and those that are computed.
enum class Kept : std::uint8_t {
  all,    ///< all cells are stored and computed
  fluid,  ///< all cells are stored, only fluid cells are computed
  packed  ///< only cells whose values the updates of fluid cells need are stored
};

/// Shares of solid cells, from which `automatic` derives how a block is stored.
struct Solidity {
  double share = 0;       ///< share of cells in the block that are solid
  double long_share = 0;  ///< share of the solid cells that fill whole stretches of a row, each as long as a warp
};
Solidity solidity_of(const Block& block, const Surroundings& s, int row_axis);
Kept kept_by(const Options& options, bool gpu, const Solidity& solidity);

/// Storage of the cells of each block. Any rank can ask for any block until settle().
class Keeping {
 public:
  /// `chosen`: how a block stores its cells, for those blocks (by number) for which the ways of storage were timed.
  Keeping(const Grid& grid, const Options& options, const Surfaces& surfaces, std::map<std::int64_t, Kept> chosen = {});

  Kept of(std::int64_t block);
  /// Number of values that a packed block has per component.
  std::int64_t values(std::int64_t block);
  /// The numbering of the stored cells of a block that stores only the cells it needs.
  const StoredCells& stored(std::int64_t block);
  bool any_packed() const { return any_packed_; }
  /// Number of values per component of each block, for Field; -1 for blocks stored as boxes. Collective.
  std::shared_ptr<const std::vector<std::int64_t>> packed(const Communicator& comm);
  /// Fixes how each block stores its cells. Releases the data on blocks of other ranks, and the geometry of the bodies.
  void settle();

 private:
  struct Entry {
    Kept kept = Kept::all;
    std::optional<StoredCells> stored;
  };
  const Entry& entry(std::int64_t block);

  const Grid& grid_;
  const Options& options_;
  Surfaces surfaces_;
  std::map<std::int64_t, Kept> chosen_;
  std::map<std::int64_t, Entry> entries_;
  bool any_packed_ = false;
};

/// Bytes of a run's arrays with the effects of bodies: fewer stored cells, and links. It examines all blocks.
std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options, const Surfaces& surfaces);

/// Distributes the same blocks so that all devices have about the same number of fluid cells. Options stay unchanged
/// without bodies, or if every device has one block. Collective.
GridOptions balanced(const Communicator& comm, const Machine& machine, const Extent& cells, GridOptions options,
                     const Surfaces& surfaces);

/// Lists the links of a block's resting walls as cells with one wall each, in the order of memory.
std::vector<ListedCell> resting_walls_of(const Box& cells, const Links& links);
/// Lists the fluid cells in some boxes of a block with their walls, in the order of memory.
std::vector<ListedCell> fluid_cells_of(const Box& cells, const std::vector<Box>& boxes, const Surroundings& s,
                                       const std::vector<ListedCell>& walls);
/// Encodes a list of cells as 32-bit words, the form in which the kernel of a time step reads it.
std::vector<std::uint32_t> listed_words(const std::vector<ListedCell>& cells, Lattice lattice);

}  // namespace slipstream::lbm
