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

/// Where the values of a dataset come from: boxes of cells, each of one rank.
struct ValueSource {
  std::string dataset;  ///< its path in the file; it has its whole size already
  DType type;
  std::int64_t values_per_cell;
  std::vector<std::pair<int, Box>> parts;                    ///< ranks and what they have
  std::function<void(const Box& piece, void* values)> fill;  ///< [z][y][x][value], on the rank that has the piece
  std::function<Hdf5Slab(const Box& piece)> slab;            ///< where a piece lies in the dataset
};

/// The blocks of a field are its parts. `fill` copies values out, has them `derived` and scales them. The caller sets
/// the dataset and the slabs.
ValueSource source_of(const Field& field, double scale, std::function<void(const Box&, void*)> derived);

/// Fill datasets of a file; collective, all ranks throw the same Error. In both, ranks copy out and write piece by
/// piece, at most `piece_bytes` at once.

/// Every rank writes its own parts, together with the others.
void write_values_in_parallel(const Communicator& comm, const std::string& path,
                              const std::vector<ValueSource>& sources, std::int64_t piece_bytes);

/// Rank 0 receives the parts of all ranks and writes them.
void write_values_by_collecting(const Communicator& comm, const std::string& path,
                                const std::vector<ValueSource>& sources, std::int64_t piece_bytes);

}  // namespace slipstream
