#pragma once
// Cells that an exchange both reads and writes: of fields that are moved onto themselves.
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/intervals.hpp"
#include "exchange/plan.hpp"

namespace slipstream {

/// From the first value of a block, ghosts among them, to behind the last one: an array may end before its shape's
/// elements do, which count the room that aligned rows leave in front.
Bytes bytes_of(const std::byte* array, const BlockShape& shape, const FieldOptions& field);

/// The values at one end of a transfer, in one array.
struct Touched {
  const std::byte* array = nullptr;
  BlockShape shape;
  DType type = DType::f32;
  const IndexSet* set = nullptr;
  Bytes bytes;  ///< of all of the array's values

  /// Laid out alike from the same address on.
  bool alike(const Touched& other) const;
};

/// What transfers read from the arrays of this rank.
class Reads {
 public:
  Reads(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles);
  /// Whether some value that the transfer writes is read, too. Where arrays share memory and are laid out in different
  /// ways, it is not asked which.
  bool touched_by(const Leg& leg) const;

 private:
  struct InArray {
    std::vector<Touched> sets;
    bool alike = true;           // all of them
    Box around;                  // the least box that holds those of all sets
    std::vector<bool> elements;  // that are read, where some are listed
    void add(const Touched& t);
    bool holds_some_of(const Touched& t) const;
  };
  const Grid& grid_;
  const std::vector<ExchangeItem>& items_;
  Intervals<InArray> arrays_;
};

/// Leaves out what already lies where it would go: nothing has to be moved.
void leave_what_rests(const Grid& grid, const std::vector<ExchangeItem>& items, Bundles& bundles);

/// Whether some transfer writes what another one reads: values must be taken from everywhere before any is changed.
bool moved_onto_itself(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles);

}  // namespace slipstream
