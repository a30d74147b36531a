#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>
#include <slipstream/grid.hpp>

namespace slipstream {

/// A time series of cell fields on a uniform grid in one VTKHDF file (ImageData, temporal), which ParaView opens by
/// double click. Two-dimensional grids are one cell thick.
///
/// Between two calls the file is closed: complete, readable by others and without a lock. A step counts as written only
/// when all its values are, so a reader never sees half a step. All members are collective, except the destructor,
/// which does nothing. Where one rank fails, all ranks throw the same Error and the file keeps the earlier steps.
class VtkhdfSeries {
 public:
  struct Options {
    std::array<double, 3> origin{0, 0, 0};   ///< position of the low corner of cell (0, 0, 0)
    std::array<double, 3> spacing{1, 1, 1};  ///< lengths of a cell's edges
    bool overwrite = false;                  ///< whether to replace an existing file
    std::optional<double> up_to = {};        ///< continues an existing file after its steps up to this time
    bool collect = false;  ///< whether rank 0 writes for all, as it does wherever only a serial HDF5 is installed
    /// largest piece in bytes that a rank copies and writes at once
    std::int64_t piece_bytes = std::int64_t{64} << 20;
  };

  /// A field to write in one time step.
  struct Item {
    std::string name;    ///< name of the field in the file
    const Field* field;  ///< field whose interior cells have the values; its devices must be idle
    double scale = 1;    ///< factor to physical units, for fields of f32 and f64
    std::string unit{};  ///< attribute "unit" of the dataset in /Series, from the first step; empty: none
    /// Computes a derived quantity from the field, which then needs no field of its own. The function replaces the
    /// values of a box of this rank's cells in place, before the scale: [z][y][x][component] in the type of the field.
    std::function<void(const Box&, void*)> derive{};
  };

  /// Creates the file without steps, or continues one. Throws where the path cannot be written, exists without
  /// `overwrite` and `up_to`, or cannot be continued. An existing file is unchanged then.
  VtkhdfSeries(const Communicator& comm, const Grid& grid, std::string path, Options options);
  VtkhdfSeries(VtkhdfSeries&&) noexcept;
  VtkhdfSeries& operator=(VtkhdfSeries&&) noexcept;
  ~VtkhdfSeries();

  /// Appends one time step; values keep the field's own type and components. Times must increase. The first step names
  /// every field of the series. A later step may omit some, such as walls and flags. These keep the values last written
  /// and take no further space. Throws where the disk is too full, before anything is written.
  void write(double time, const std::vector<Item>& items);

  /// Ends the series: a later write() is an error.
  void close();

  const std::string& path() const;
  std::int64_t steps() const;  ///< number of steps in the file so far
  double last_time() const;    ///< time of the last step; minus infinity where there is none

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slipstream
