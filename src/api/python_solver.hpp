#pragma once
// What the bindings of all solvers have in common.
#include <functional>

#include <slipstream/simulation.hpp>
#include <slipstream/vtkhdf.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

/// Arrays and their bytes, of anything with device, array and bytes.
template <class Array>
nb::list array_list(const std::vector<Array>& needed) {
  nb::list arrays;
  for (const Array& array : needed) {
    nb::dict entry;
    entry["device"] = array.device;
    entry["array"] = array.array;
    entry["bytes"] = array.bytes;
    arrays.append(entry);
  }
  return arrays;
}

/// The largest share of its memory that any device needs: above 1 the grid does not fit.
template <class Array>
double fullness(const Machine& machine, const std::vector<Array>& needed) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(machine.devices()), 0);
  for (const Array& array : needed) bytes[static_cast<std::size_t>(array.device)] += array.bytes;
  double most = 0;
  for (int d = 0; d < machine.devices(); ++d)
    most = std::max(
        most, static_cast<double>(bytes[static_cast<std::size_t>(d)]) / static_cast<double>(machine.device(d).memory));
  return most;
}

nb::dict plan_dict(const Grid& grid, const nb::list& arrays, const std::vector<MessageInfo>& messages, Layout layout,
                   int bytes_per_cell);
/// The largest grid of the same shape that fits, zeros where none does. `full`: of so many cells, as fullness(); throws
/// Error where they cannot be cut.
Extent largest_extent(const Machine& machine, const Extent& shape, const std::function<double(const Extent&)>& full);
/// A box of a field on rank 0 as an array [z][y][x][component], None elsewhere. Collective; `field` is asked for
/// without the interpreter.
nb::object gathered(const Communicator& comm, const std::function<const Field&()>& field, const Box& box);
/// This rank's blocks with their interiors [z][y][x][component], without copies: NumPy on the host, else DLPack.
nb::list block_arrays(const Grid& grid, const Field& field, nb::handle owner);
nb::list phases(const TimeLoop& loop);

/// Fields over time in one VTKHDF file, as they stand. What is given must outlive it.
class FieldSeries {
 public:
  using Item = std::pair<std::string, std::string>;  ///< name, unit
  FieldSeries(const Communicator& comm, const Grid& grid, const std::string& path, const std::array<double, 3>& spacing,
              std::function<const Field&(const std::string&)> field);
  void write(double time, const std::vector<Item>& items);
  void close() { series_.close(); }

 private:
  std::function<const Field&(const std::string&)> field_;
  VtkhdfSeries series_;
};

}  // namespace slipstream::python
