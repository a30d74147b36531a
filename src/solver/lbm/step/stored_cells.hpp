#pragma once
// Which cells of the blocks are stored, known on the host.
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <slipstream/lbm.hpp>

#include "solver/lbm/lattice/numbering.hpp"
#include "solver/lbm/links/links.hpp"

namespace slipstream::lbm {

/// The stored cells of one block: its fluid cells, and all that a step, or a boundary, reads or writes around them. Of
/// a body that is the layer of cells next to the fluid.
class StoredCells {
 public:
  StoredCells(const Grid& grid, const Block& block, const Options& options, const Surroundings& surroundings);

  std::int64_t count() const { return count_; }
  const std::vector<CellWord>& words() const { return words_; }
  /// With a null pointer for the words.
  const Numbering& numbering() const { return numbering_; }
  /// The number of a cell, by local coordinates; -1 where it is not stored.
  std::int64_t number(const Extent& local) const;
  /// Bytes that a list of its fluid cells may take.
  std::int64_t list_bytes(Lattice lattice) const;

 private:
  std::vector<CellWord> words_;
  Numbering numbering_;
  std::int64_t count_ = 0;
};

/// How the cells of a block are kept.
enum class Kept : std::uint8_t {
  all,    ///< all in memory, all computed
  fluid,  ///< all in memory, only fluid cells computed
  packed  ///< only those that are needed in memory
};

/// What that depends on, where nobody says it.
struct Solidity {
  double share = 0;       ///< of the block's cells
  double long_share = 0;  ///< of the solid ones, those that fill a stretch of a row such as a warp takes
};
Solidity solidity_of(const Block& block, const Surroundings& s, int row_axis);
Kept kept_by(const Options& options, bool gpu, const Solidity& solidity);

/// How those of each block are kept. Any rank can tell for any block, as long as the surfaces may be asked.
class Keeping {
 public:
  /// `chosen`: blocks for which it is known already.
  Keeping(const Grid& grid, const Options& options, const Surfaces& surfaces, std::map<std::int64_t, Kept> chosen = {});

  Kept of(std::int64_t block);
  /// Values of a component of a packed block.
  std::int64_t values(std::int64_t block);
  /// Of a packed block.
  const StoredCells& stored(std::int64_t block);
  bool any_packed() const { return any_packed_; }
  /// What Field must know: values of a component by block, -1 where it is a box. Collective.
  std::shared_ptr<const std::vector<std::int64_t>> packed(const Communicator& comm);
  /// Forgets blocks of other ranks, and the surfaces.
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

/// As memory_needed of Options, with the cells that bodies leave to be stored and the links that meet them; all blocks
/// are looked at.
std::vector<ArrayBytes> memory_needed(const Grid& grid, const Options& options, const Surfaces& surfaces);

/// The same blocks, given to the devices so that each has as many fluid cells as the others; unchanged without bodies,
/// or where every device has one block. Collective.
GridOptions balanced(const Communicator& comm, const Machine& machine, const Extent& cells, GridOptions options,
                     const Surfaces& surfaces);

/// The links of a block's resting walls as cells with a wall each, in the order of memory.
std::vector<ListedCell> resting_walls_of(const Box& cells, const Links& links);
/// Fluid cells of a block with their walls: those of some boxes, in the order of memory.
std::vector<ListedCell> fluid_cells_of(const Box& cells, const std::vector<Box>& boxes, const Surroundings& s,
                                       const std::vector<ListedCell>& walls);
/// The same as the step takes them.
std::vector<std::uint32_t> listed_words(const std::vector<ListedCell>& cells, Lattice lattice);

}  // namespace slipstream::lbm
