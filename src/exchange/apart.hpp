#pragma once
// Tests whether arrays that were passed to a call share memory.
#include <cstddef>
#include <cstdint>

namespace slipstream {

/// Rows of an array, each of `bytes` bytes. The starts of successive rows are `step` bytes apart.
struct ByteRows {
  const void* first = nullptr;
  std::int64_t bytes = 0, rows = 1, step = 0;
};

/// Whether two strided arrays overlap in memory: some byte belongs to rows of both. Gaps between rows do not count.
inline bool share_memory(const ByteRows& a, const ByteRows& b) {
  if (a.bytes <= 0 || b.bytes <= 0 || a.rows <= 0 || b.rows <= 0) return false;
  const auto row = [](const ByteRows& of, std::int64_t n) {
    return static_cast<const std::byte*>(of.first) + n * of.step;
  };
  if (row(a, 0) >= row(b, b.rows - 1) + b.bytes || row(b, 0) >= row(a, a.rows - 1) + a.bytes) return false;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < b.rows; ++j)
      if (row(a, i) < row(b, j) + b.bytes && row(b, j) < row(a, i) + a.bytes) return true;
  return false;
}

}  // namespace slipstream
