#pragma once
#include <cstdint>
#include <functional>
#include <slipstream/communicator.hpp>
#include <slipstream/field.hpp>
#include <string>
#include <vector>

#include "io/vtkhdf/vtkhdf_file.hpp"

namespace slipstream {

/// Where the values of an array come from.
struct ValueSource {
  VtkhdfArray array;
  const Field* field;
  double scale;
  std::function<void(const Box&, void*)> derive;  ///< before the scale; may be empty
};

/// Fill the reserved rows of a file; collective, all ranks throw the same Error. In both, ranks copy out and write
/// piece by piece, at most `piece_bytes` at once.

/// Every rank writes its own blocks, together with the others.
void write_values_in_parallel(const Communicator& comm, const std::string& path,
                              const std::vector<ValueSource>& sources, std::int64_t piece_bytes);

/// Rank 0 receives the blocks of all ranks and writes them.
void write_values_by_collecting(const Communicator& comm, const std::string& path,
                                const std::vector<ValueSource>& sources, std::int64_t piece_bytes);

}  // namespace slipstream
