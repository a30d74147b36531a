#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slipstream {

/// The first page of a checkpoint, which HDF5 leaves to its user: a few lines of text with the version, the size of the
/// file and a checksum of all that is not values. HDF5 must not be given a damaged file: it may crash over one, then or
/// when the program ends.
constexpr std::int64_t seal_bytes = 4096;

/// Bytes [first, second) of a file.
using ByteRange = std::pair<std::int64_t, std::int64_t>;

/// Writes the seal of a complete file; `values` are the ranges that have checksums of their own, or are such.
void seal_checkpoint(const std::string& path, const std::string& written_by, std::vector<ByteRange> values);

/// Throws Error saying what is wrong with a file: no checkpoint, another version, truncated, damaged. Each is told
/// without HDF5.
void check_seal(const std::string& path);

}  // namespace slipstream
