#pragma once
#include <cstddef>
#include <cstdint>

#include <slipstream/field.hpp>
#include <slipstream/stream.hpp>

#include "io/checkpoint_file.hpp"

namespace slipstream {

/// Whether the values of a piece are copied as [cell][component] and not, as in files, as [component][cell].
bool interleaved(const Field& field);
std::size_t bytes_of(const Field& field, const CheckpointPiece& piece);
/// Queues the copy of a piece of a local block to contiguous memory, in rows along x.
void copy_piece(Stream& stream, const Field& field, std::int64_t block, const CheckpointPiece& piece, std::byte* to);

}  // namespace slipstream
