#include "io/copy_piece.hpp"

#include <slipstream/launch.hpp>

namespace slipstream {
inline namespace copy_piece_kernels {

/// Copies a piece value by value, if rows of the block are not along x: axes change their order.
template <class Word>
struct Turn {
  const Word* from;
  Word* to;
  std::int64_t stride[3], row, plane;
  SLIP_FN void operator()(int i, int j, int k) const {
    to[i + j * row + k * plane] = from[i * stride[0] + j * stride[1] + k * stride[2]];
  }
};

template <class Word>
void turn(Stream& stream, const std::byte* from, const BlockShape& shape, const Extent& cells, std::byte* to) {
  const std::int64_t* const s = shape.stride;
  launch(stream, Box{{0, 0, 0}, cells},
         Turn<Word>{reinterpret_cast<const Word*>(from),
                    reinterpret_cast<Word*>(to),
                    {s[0], s[1], s[2]},
                    cells[0],
                    cells[0] * cells[1]});
}

}  // namespace copy_piece_kernels

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
  if (shape.row_axis != 0) {
    const auto turn_words = size == 1   ? turn<std::uint8_t>
                            : size == 2 ? turn<std::uint16_t>
                            : size == 4 ? turn<std::uint32_t>
                                        : turn<std::uint64_t>;
    for (int c = 0; c < passes; ++c)
      turn_words(stream, field.data(block) + (first + c * shape.component_stride) * size, shape, cells,
                 to + c * volume(cells) * size);
    return;
  }
  for (int pass = 0; pass < passes; ++pass)
    copy_box(stream, to + pass * volume(rows),
             {static_cast<std::size_t>(rows[0]), static_cast<std::size_t>(rows[0] * rows[1])},
             field.data(block) + (first + pass * shape.component_stride) * size,
             {static_cast<std::size_t>(shape.stride[1] * size), static_cast<std::size_t>(shape.stride[2] * size)},
             rows);
}

}  // namespace slipstream
