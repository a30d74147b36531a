#pragma once
// Checks the transfers of patterns, which may be user-defined.
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/plan.hpp"

namespace slipstream {

/// Checks the transfers of one item against the blocks and fields of its two ends. Grid and item must outlive it.
class TransferChecks {
 public:
  TransferChecks(const Grid& grid, const PlannedItem& item);
  /// Checks a transfer. Throws Error unless both ends list the same number of values in the same order. Also throws if
  /// an end exceeds its block with ghosts, or the components of its field. The error names pattern, blocks and place.
  void check(const Transfer& t) const;

 private:
  struct End {
    const char* name;
    const Grid& grid;
    const FieldOptions& field;
  };
  [[noreturn]] void refuse(const Transfer& t, const std::string& what, Facts facts) const;
  void check_block(const Transfer& t, const End& end, std::int64_t block) const;
  void check_shapes(const Transfer& t) const;
  void check_values(const Transfer& t, const End& end, std::int64_t block, const IndexSet& set) const;
  void check_cells(const Transfer& t, const End& end, std::int64_t block, const IndexSet& set) const;
  void check_elements(const Transfer& t, const End& end, std::int64_t block, const IndexSet& set) const;
  const PlannedItem& item_;
  End source_, target_;
};

/// Throws Error if two transfers write the same value of a block of this rank and one of them copies, because their
/// order is undefined. The transfers may belong to one item, or to two with the same target field.
void check_writers(const Grid& grid, const std::vector<ExchangeItem>& items, const Bundles& bundles);

}  // namespace slipstream
