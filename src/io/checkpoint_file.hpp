#pragma once
// The parts of a checkpoint file that HDF5 writes and reads: everything except the values of a new file.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/checkpoint.hpp>

#include "io/hdf5/hdf5_file.hpp"

namespace slipstream {

/// A piece: a box of cells of one field, the unit that is written and checked.
struct CheckpointPiece {
  Box box;
  std::int64_t first = 0;  ///< index of the piece's first value in the dataset
  int rank = 0;            ///< rank that writes the piece; unknown for a file that was read

  std::array<std::int64_t, 7> row() const {
    return {box.lo[0], box.lo[1], box.lo[2], box.hi[0], box.hi[1], box.hi[2], first};
  }
};

struct CheckpointArray {
  std::string name;
  DType type = DType::f32;
  int components = 1;
  Extent extent{0, 0, 0};  ///< extent in cells of the array's grid
  std::vector<CheckpointPiece> pieces;
  std::int64_t values = 0;        ///< number of values in the dataset, including gaps between pieces
  std::int64_t values_at = 0;     ///< byte offset of the values in the file
  std::int64_t checksums_at = 0;  ///< byte offset of the checksums in the file

  std::int64_t bytes_per_cell() const { return components * static_cast<std::int64_t>(size_of(type)); }
};

/// Splits a field into pieces of at most `piece_bytes` bytes, in the same way on all ranks.
CheckpointArray cut_field(const std::string& name, const Field& field, std::int64_t piece_bytes);

/// Checksum of a piece, which covers its position and its values.
std::uint32_t checksum(const CheckpointPiece& piece, const void* values, std::size_t bytes);

/// Creates a file for these arrays and reserves its disk space. Sets the offsets of values and checksums in the arrays.
void create_checkpoint(const CheckpointInfo& info, std::vector<CheckpointArray>& arrays);

/// A checkpoint opened for reading.
class CheckpointReader {
 public:
  /// Opens a checkpoint. Throws Error with the name of the file, and of the dataset if one is invalid.
  explicit CheckpointReader(const std::string& path);
  const CheckpointInfo& info() const { return info_; }
  /// Extent in cells of an array's grid.
  Extent extent(const std::string& name) const;
  /// An array with its pieces, which are checked to be inside the grid.
  CheckpointArray array(const std::string& name) const;
  /// Values of a piece, [component][z][y][x]. Throws Error if the checksum is wrong.
  std::vector<std::byte> values(const CheckpointArray& array, std::size_t piece) const;

 private:
  std::string text(const std::string& name) const;
  [[noreturn]] void damaged(const std::string& dataset, const Error& error) const;
  CheckpointInfo info_;
  Hdf5Handle file_;
};

}  // namespace slipstream
