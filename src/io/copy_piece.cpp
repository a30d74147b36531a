#include "io/copy_piece.hpp"

namespace slipstream {

bool interleaved(const Field& field) { return field.options().layout == Layout::aos && field.options().components > 1; }

std::size_t bytes_of(const Field& field, const CheckpointPiece& piece) {
  return static_cast<std::size_t>(piece.box.volume() * field.options().components) * size_of(field.options().type);
}

void copy_piece(Stream& stream, const Field& field, std::int64_t block, const CheckpointPiece& piece, std::byte* to) {
  const BlockShape& shape = field.shape(block);
  const auto size = static_cast<std::int64_t>(size_of(field.options().type));
  const bool together = field.options().layout == Layout::aos;
  const int passes = together ? 1 : field.options().components;
  const Extent cells = piece.box.extents();
  const Extent rows{cells[0] * size * (together ? field.options().components : 1), cells[1], cells[2]};
  std::int64_t first = shape.origin;
  for (int a = 0; a < 3; ++a) first += (piece.box.lo[a] - field.grid().block(block).box.lo[a]) * shape.stride[a];
  for (int pass = 0; pass < passes; ++pass)
    copy_box(stream, to + pass * volume(rows),
             {static_cast<std::size_t>(rows[0]), static_cast<std::size_t>(rows[0] * rows[1])},
             field.data(block) + (first + pass * shape.component_stride) * size,
             {static_cast<std::size_t>(shape.stride[1] * size), static_cast<std::size_t>(shape.stride[2] * size)},
             rows);
}

}  // namespace slipstream
