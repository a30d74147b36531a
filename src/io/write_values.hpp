#pragma once
#include <cstdint>
#include <functional>
#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5/hdf5_file.hpp"

namespace slipstream {

/// Source of the values of a dataset: boxes of cells, each owned by one rank.
struct ValueSource {
  std::string dataset;  ///< path of the dataset in the file; it must have its final size
  DType type;
  std::int64_t values_per_cell;
  std::vector<std::pair<int, Box>> parts;  ///< boxes, each with the rank that owns it
  /// Writes the values of a piece as [z][y][x][value]; called on the rank that owns the piece
  std::function<void(const Box& piece, void* values)> fill;
  std::function<Hdf5Slab(const Box& piece)> slab;  ///< function that returns the hyperslab of a piece in the dataset
};

/// Describes a field as source of values: the parts are its blocks. `fill` copies values out, applies `derived` and
/// multiplies by `scale`. The caller sets the dataset and the slabs.
ValueSource source_of(const Field& field, double scale, std::function<void(const Box&, void*)> derived);

/// Two functions that fill datasets of a file. They are collective, and all ranks throw the same Error. Ranks copy and
/// write at most `piece_bytes` at a time.

/// Fills datasets by collective writes, in which each rank writes its own boxes.
void write_values_in_parallel(const Communicator& comm, const std::string& path,
                              const std::vector<ValueSource>& sources, std::int64_t piece_bytes);

/// Fills datasets from rank 0, which receives the boxes of all ranks.
void write_values_by_collecting(const Communicator& comm, const std::string& path,
                                const std::vector<ValueSource>& sources, std::int64_t piece_bytes);

}  // namespace slipstream
