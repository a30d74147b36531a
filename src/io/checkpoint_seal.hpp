#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slipstream {

/// Bytes of the first page of a checkpoint, which HDF5 reserves for users. The page is text with the version, the size
/// of the file and a checksum of everything but the values. A damaged file must not reach HDF5, which may crash on it,
/// then or at the end of the program.
constexpr std::int64_t seal_bytes = 4096;

/// Range of bytes [first, second) in a file.
using ByteRange = std::pair<std::int64_t, std::int64_t>;

/// Writes the first page of a complete checkpoint. `values`: ranges with checksums of their own, and those checksums.
void seal_checkpoint(const std::string& path, const std::string& written_by, std::vector<ByteRange> values);

/// Throws Error if a file is no checkpoint, has another version, or is truncated or damaged. Does not use HDF5.
void check_seal(const std::string& path);

}  // namespace slipstream
