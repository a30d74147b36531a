#pragma once
// The parts of a checkpoint file that HDF5 writes and reads: all but the values of a file in the making.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <slipstream/checkpoint.hpp>

#include "io/hdf5/hdf5_file.hpp"

namespace slipstream {

/// A box of cells of one field.
struct CheckpointPiece {
  Box box;
  std::int64_t first = 0;  ///< its first value in the dataset
  int rank = 0;            ///< that writes it; unknown where the file was read

  std::array<std::int64_t, 7> row() const {
    return {box.lo[0], box.lo[1], box.lo[2], box.hi[0], box.hi[1], box.hi[2], first};
  }
};

struct CheckpointArray {
  std::string name;
  DType type = DType::f32;
  int components = 1;
  Extent extent{0, 0, 0};  ///< cells of its grid
  std::vector<CheckpointPiece> pieces;
  std::int64_t values = 0;        ///< of the dataset, gaps between pieces among them
  std::int64_t values_at = 0;     ///< byte of the file
  std::int64_t checksums_at = 0;  ///< byte of the file

  std::int64_t bytes_per_cell() const { return components * static_cast<std::int64_t>(size_of(type)); }
};

/// How a field is cut into pieces of at most so many bytes: the same on all ranks.
CheckpointArray cut_field(const std::string& name, const Field& field, std::int64_t piece_bytes);

/// What the checksum of a piece is of: where it belongs, and its values.
std::uint32_t checksum(const CheckpointPiece& piece, const void* values, std::size_t bytes);

/// Makes a file for these arrays, with room for all on the disk, and says in them where values and checksums belong.
void create_checkpoint(const CheckpointInfo& info, std::vector<CheckpointArray>& arrays);

/// A checkpoint that is open for reading.
class CheckpointReader {
 public:
  /// Throws Error that names the file, and the dataset where one is at fault.
  explicit CheckpointReader(const std::string& path);
  const CheckpointInfo& info() const { return info_; }
  /// Cells of the grid of an array.
  Extent extent(const std::string& name) const;
  /// An array with its pieces, which lie inside the grid.
  CheckpointArray array(const std::string& name) const;
  /// The values of a piece, [component][z][y][x], if its checksum is right.
  std::vector<std::byte> values(const CheckpointArray& array, std::size_t piece) const;

 private:
  std::string text(const std::string& name) const;
  [[noreturn]] void damaged(const std::string& dataset, const Error& error) const;
  CheckpointInfo info_;
  Hdf5Handle file_;
};

}  // namespace slipstream
