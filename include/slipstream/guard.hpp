#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// The first fault in a row of cells along the axis shape.row_axis of the field's block. Rows are counted along y
/// first, then along the third axis.
struct RowFinding {
  std::int32_t at = -1;  ///< coordinate along the row of the first cell with an invalid value; -1: all values are valid
  double value = 0;
};

/// A block whose values are checked for NaN, infinity and limits. The first bad value of cell row n goes to rows[n].
struct InspectedBlock {
  std::int64_t block = 0;
  RowFinding* rows = nullptr;  ///< first invalid value of each row of cells, in memory of the block's device
};

/// A quantity that must stay finite and in range in every interior cell, at the end of a step.
struct Watched {
  std::string name;
  /// The field to inspect: each of its components, f32 or f64, unless `inspect` is set.
  const Field* field = nullptr;
  /// For a quantity that is computed from the field: queues the inspection of blocks of the stream's device. A value is
  /// a fault unless lowest <= value <= highest.
  std::function<void(Stream&, std::span<const InspectedBlock>, double lowest, double highest)> inspect = {};
};

struct GuardOptions {
  std::int64_t every = 100;  ///< number of steps between inspections
  /// Lowest and highest value by name of the quantity; those not named here need only be finite.
  std::map<std::string, std::array<double, 2>> ranges;
  std::array<double, 3> origin{0, 0, 0};   ///< position of the low corner of cell (0, 0, 0)
  std::array<double, 3> spacing{1, 1, 1};  ///< lengths of a cell's edges
};

/// The first value of a run that is not finite or out of range.
struct Finding {
  std::string quantity;
  double value = 0;
  std::int64_t step = 0;
  int rank = 0;
  Extent cell{0, 0, 0};                     ///< coordinates of the cell in the whole grid
  std::array<double, 3> position{0, 0, 0};  ///< position of the cell's centre
};

/// The flow has values that are not finite or out of range. Thrown on all ranks, after the devices have stopped.
class Diverged : public Error {
 public:
  Diverged(const Finding& finding, const std::string& text, const Facts& more = {});
  Finding finding;
};

/// Searches values that are not finite or out of range, on the devices. Each inspection reads the watched fields once
/// and leaves a few bytes. The host reads these one inspection later, so that it need not wait for them. Between
/// inspections it costs nothing.
class Guard {
 public:
  /// Throws Error where GuardOptions::ranges names an unknown quantity, or a watched field is neither f32 nor f64.
  Guard(const Communicator& comm, std::vector<Watched> watched, GuardOptions options);
  ~Guard();

  std::int64_t every() const;
  /// Queues a check of the watched fields for bad values after the streams' work; streams[i]: this rank's device i.
  void inspect(std::vector<Stream>& streams, std::int64_t step);
  /// The finding of the last inspection, from the lowest rank that has one; the same on all ranks. Waits for the
  /// inspection. Empty where there was no inspection since the last call. Collective.
  std::optional<Finding> look();
  std::string explain(const Finding& finding) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
