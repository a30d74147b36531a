#include "grid/box_index.hpp"

#include <algorithm>

namespace slipstream::detail {
namespace {

/// Distinct lower bounds of the boxes along an axis, ascending.
std::vector<std::int64_t> beginnings(const std::vector<Box>& boxes, int axis) {
  std::vector<std::int64_t> found;
  for (const Box& box : boxes) found.push_back(box.lo[axis]);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.empty()) found.push_back(0);
  return found;
}

/// Halves the number of bins: drops every second bound.
std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < values.size(); i += 2) kept.push_back(values[i]);
  return kept;
}

}  // namespace

BoxIndex::BoxIndex(std::vector<Box> boxes) : boxes_(std::move(boxes)) {
  for (int a = 0; a < 3; ++a) starts_[a] = beginnings(boxes_, a);
  // Boxes that are not aligned begin at many places, so the number of bins is limited relative to that of boxes.
  const auto bins = [&] { return starts_[0].size() * starts_[1].size() * starts_[2].size(); };
  while (bins() > 8 * boxes_.size() + 64) {
    const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    auto& longest = *std::max_element(starts_.begin(), starts_.end(), shorter);
    longest = thinned(longest);
  }
  first_.assign(bins() + 1, 0);
  for (const Box& box : boxes_) for_each_bin(range(box), [&](std::int64_t b) { ++first_[b + 1]; });
  for (std::size_t b = 1; b < first_.size(); ++b) first_[b] += first_[b - 1];
  held_.resize(first_.back());
  std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t i = 0; i < boxes_.size(); ++i)
    for_each_bin(range(boxes_[i]), [&](std::int64_t b) { held_[next[b]++] = static_cast<std::int64_t>(i); });
}

BoxIndex::Range BoxIndex::range(const Box& box) const {
  Range range;
  if (box.empty()) return range;
  for (int a = 0; a < 3; ++a) {
    const auto& starts = starts_[a];
    const auto first = std::upper_bound(starts.begin(), starts.end(), box.lo[a]) - starts.begin();
    const auto last = std::lower_bound(starts.begin(), starts.end(), box.hi[a]) - starts.begin();
    range.first[a] = std::max<std::int64_t>(0, first - 1);
    range.last[a] = last;
  }
  return range;
}

std::int64_t BoxIndex::bin(std::int64_t x, std::int64_t y, std::int64_t z) const {
  return (z * static_cast<std::int64_t>(starts_[1].size()) + y) * static_cast<std::int64_t>(starts_[0].size()) + x;
}

template <class F>
void BoxIndex::for_each_bin(const Range& range, F f) const {
  for (std::int64_t z = range.first[2]; z < range.last[2]; ++z)
    for (std::int64_t y = range.first[1]; y < range.last[1]; ++y)
      for (std::int64_t x = range.first[0]; x < range.last[0]; ++x) f(bin(x, y, z));
}

std::vector<std::int64_t> BoxIndex::overlapping(const Box& box) const {
  std::vector<std::int64_t> found;
  for_each_bin(range(box), [&](std::int64_t b) {
    for (std::int64_t i = first_[b]; i < first_[b + 1]; ++i)
      if (!intersection(boxes_[held_[i]], box).empty()) found.push_back(held_[i]);
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace slipstream::detail
