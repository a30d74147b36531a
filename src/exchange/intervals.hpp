#pragma once
// Sorted address ranges with a fast search for overlaps.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace slipstream {

/// Range of addresses, first <= address < behind.
struct Bytes {
  const std::byte *first = nullptr, *behind = nullptr;
  bool meet(const Bytes& other) const { return first < other.behind && other.first < behind; }
};

/// Values keyed by ranges, which may overlap. A query takes O(log n), plus the ranges between the first possible and
/// the last possible overlap.
template <class T>
class Intervals {
 public:
  Intervals() = default;
  explicit Intervals(std::vector<std::pair<Bytes, T>> entries) : entries_(std::move(entries)) {
    std::sort(entries_.begin(), entries_.end(),
              [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
    for (const auto& [bytes, value] : entries_)
      farthest_.push_back(farthest_.empty() ? bytes.behind : std::max(farthest_.back(), bytes.behind));
  }

  /// Calls f(value) for the ranges that overlap `bytes`, until f returns true. Returns whether it did.
  template <class F>
  bool any_meeting(const Bytes& bytes, F f) const {
    const auto behind = std::lower_bound(entries_.begin(), entries_.end(), bytes.behind,
                                         [](const auto& entry, const std::byte* at) { return entry.first.first < at; });
    for (auto n = static_cast<std::size_t>(behind - entries_.begin()); n > 0 && farthest_[n - 1] > bytes.first; --n)
      if (entries_[n - 1].first.meet(bytes) && f(entries_[n - 1].second)) return true;
    return false;
  }

 private:
  std::vector<std::pair<Bytes, T>> entries_;  // address ranges, each with its value, sorted by first address
  std::vector<const std::byte*> farthest_;    // address behind the ranges up to this one (prefix maximum)
};

}  // namespace slipstream
