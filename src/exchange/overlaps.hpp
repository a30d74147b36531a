#pragma once
// Finds values that an exchange both reads and writes, if fields are moved onto themselves.
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/intervals.hpp"
#include "exchange/plan.hpp"

namespace slipstream {

/// Addresses from the first value of a block, ghosts included, to the end of the last one. An array may be shorter than
/// its shape's elements, which include the padding in front of aligned rows.
Bytes bytes_of(const std::byte* array, const BlockShape& shape, const FieldOptions& field);

/// Values at one end of a transfer, in one array.
struct Touched {
  const std::byte* array = nullptr;
  BlockShape shape;
  DType type = DType::f32;
  const IndexSet* set = nullptr;
  Bytes bytes;  ///< addresses of all values of the array

  /// Whether both arrays have the same address and layout.
  bool alike(const Touched& other) const;
};

/// Values that the transfers of this rank read.
class Reads {
 public:
  Reads(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles);
  /// Whether the transfer writes a value that is read. Returns true without a closer look if arrays share memory but
  /// have different layouts.
  bool touched_by(const Leg& leg) const;

 private:
  struct InArray {
    std::vector<Touched> sets;
    bool alike = true;           // whether all transfers that read the array state the same memory layout for it
    Box around;                  // bounding box of the cells that transfers read
    std::vector<bool> elements;  // marks of the array's values that are read; empty unless transfers list values
    void add(const Touched& t);
    bool holds_some_of(const Touched& t) const;
  };
  const Grid& grid_;
  const std::vector<ExchangeItem>& items_;
  Intervals<InArray> arrays_;
};

/// Removes transfers whose source and target values are the same memory.
void leave_what_rests(const Grid& grid, const std::vector<ExchangeItem>& items, Bundles& bundles);

/// Whether some transfer writes values that another one reads. Then all values must be packed before any is changed.
bool moved_onto_itself(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles);

}  // namespace slipstream
