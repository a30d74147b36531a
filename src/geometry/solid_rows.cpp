#include "geometry/solid_rows.hpp"

#include <algorithm>
#include <cmath>

#include "device/work_items.hpp"

namespace slipstream {
namespace {

using Spans = std::vector<SolidSpan>;

void append(Spans& spans, const SolidSpan& span) {
  if (!spans.empty() && spans.back().body == span.body && spans.back().hi == span.lo) {
    spans.back().hi = span.hi;
  } else {
    spans.push_back(span);
  }
}

// Where bodies overlap, the cell belongs to the body with the smallest index.
Spans without_overlaps(Spans spans) {
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.lo < b.lo; });
  const auto overlap = [](const auto& a, const auto& b) { return b.lo < a.hi; };
  Spans result;
  if (std::adjacent_find(spans.begin(), spans.end(), overlap) == spans.end()) {
    for (const SolidSpan& span : spans) append(result, span);
    return result;
  }
  std::vector<std::int32_t> bounds;
  for (const SolidSpan& span : spans) bounds.insert(bounds.end(), {span.lo, span.hi});
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  for (std::size_t b = 0; b + 1 < bounds.size(); ++b) {
    std::int32_t body = -1;
    for (const SolidSpan& span : spans)
      if (span.lo <= bounds[b] && bounds[b] < span.hi && (body < 0 || span.body < body)) body = span.body;
    if (body >= 0) append(result, {bounds[b], bounds[b + 1], body});
  }
  return result;
}

/// Spans of solid cells in neighbouring grid rows along x: all spans, row by row, and the number of spans per row.
struct TileRows {
  struct Row {
    std::int64_t number;
    std::size_t count;
  };
  std::vector<Row> rows;
  Spans spans;
};

}  // namespace

SolidSpan span_of(const Inside& piece, const Box& cells) {
  const auto edge = [&](double x) {
    return static_cast<std::int32_t>(
        std::clamp(std::ceil(x), static_cast<double>(cells.lo[0]), static_cast<double>(cells.hi[0])));
  };
  return {edge(piece.in), edge(piece.out), piece.body};
}

SolidRows::SolidRows(const LineIndex& along_x, const Box& cells) : box_(cells) {
  const auto tiles = along_x.tiles_through(cells);
  std::vector<TileRows> found(tiles.size());
  for_each_item(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t item) {
    const auto pieces = along_x.inside(tiles[item], cells);
    for (std::size_t first = 0, last = 0; first < pieces.size(); first = last) {
      Spans row;
      for (; last < pieces.size() && pieces[last].v == pieces[first].v && pieces[last].w == pieces[first].w; ++last) {
        const SolidSpan span = span_of(pieces[last], cells);
        if (span.lo < span.hi) row.push_back(span);
      }
      row = without_overlaps(std::move(row));
      found[item].rows.push_back({row_number(pieces[first].v, pieces[first].w), row.size()});
      found[item].spans.insert(found[item].spans.end(), row.begin(), row.end());
    }
  });

  first_.assign(cells.empty() ? 1 : cells.extent(1) * cells.extent(2) + 1, 0);
  for (const TileRows& tile : found)
    for (const auto& row : tile.rows) first_[row.number + 1] = static_cast<std::int64_t>(row.count);
  for (std::size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
  spans_.resize(first_.back());
  for (const TileRows& tile : found) {
    auto from = tile.spans.begin();
    for (const auto& row : tile.rows) {
      std::copy_n(from, row.count, spans_.begin() + first_[row.number]);
      from += static_cast<std::ptrdiff_t>(row.count);
    }
  }
}

std::span<const SolidSpan> SolidRows::row(std::int64_t y, std::int64_t z) const {
  const std::int64_t number = row_number(y, z);
  return {spans_.data() + first_[number], static_cast<std::size_t>(first_[number + 1] - first_[number])};
}

bool SolidRows::solid(const Extent& cell) const {
  const auto spans = row(cell[1], cell[2]);
  const auto after = std::upper_bound(spans.begin(), spans.end(), cell[0],
                                      [](std::int64_t x, const SolidSpan& span) { return x < span.lo; });
  return after != spans.begin() && cell[0] < std::prev(after)->hi;
}

std::int64_t SolidRows::cells() const {
  std::int64_t sum = 0;
  for (const SolidSpan& span : spans_) sum += span.hi - span.lo;
  return sum;
}

}  // namespace slipstream
