#include "grid/balance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <slipstream/error.hpp>

namespace slipstream {
namespace {

class Sharer {
 public:
  Sharer(const std::vector<Box>& boxes, const std::vector<double>& weights)
      : boxes_(boxes), weights_(weights), owners_(boxes.size(), 0) {}

  std::vector<int> owners(int parts) {
    std::vector<std::size_t> all(boxes_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    cut(std::move(all), 0, parts);
    return owners_;
  }

 private:
  void cut(std::vector<std::size_t> group, int first, int parts) {
    if (parts == 1) {
      for (const std::size_t n : group) owners_[n] = first;
      return;
    }
    sort(group, longest_axis(group));
    const int low = parts / 2, high = parts - low;
    const std::size_t at = place(group, low, high);
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(at);
    cut({group.begin(), middle}, first, low);
    cut({middle, group.end()}, first + low, high);
  }

  int longest_axis(const std::vector<std::size_t>& group) const {
    Box all = boxes_[group.front()];
    for (const std::size_t n : group)
      for (int a = 0; a < 3; ++a) {
        all.lo[a] = std::min(all.lo[a], boxes_[n].lo[a]);
        all.hi[a] = std::max(all.hi[a], boxes_[n].hi[a]);
      }
    int longest = 2;  // among axes of equal length the slowest one is cut
    for (const int a : {1, 0})
      if (all.extent(a) > all.extent(longest)) longest = a;
    return longest;
  }

  void sort(std::vector<std::size_t>& group, int axis) const {
    const auto key = [&](std::size_t n) {
      const Extent& lo = boxes_[n].lo;
      return std::tuple(lo[axis], lo[2], lo[1], lo[0]);
    };
    std::sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  }

  /// Number of boxes on the low side of a cut: their weight is as close as possible to the share of that side.
  std::size_t place(const std::vector<std::size_t>& group, int low, int high) const {
    double all = 0;
    for (const std::size_t n : group) all += weights_[n];
    const double wanted = all * low / (low + high);
    const std::size_t least = static_cast<std::size_t>(low), most = group.size() - static_cast<std::size_t>(high);
    std::size_t best = least;
    double before = 0, nearest = -1;
    for (std::size_t at = 0; at <= most; ++at) {
      const double error = std::abs(before - wanted);
      if (at >= least && (nearest < 0 || error < nearest)) {
        nearest = error;
        best = at;
      }
      if (at < group.size()) before += weights_[group[at]];
    }
    return best;
  }

  const std::vector<Box>& boxes_;
  const std::vector<double>& weights_;
  std::vector<int> owners_;
};

}  // namespace

std::vector<int> share_out(const std::vector<Box>& boxes, const std::vector<double>& weights, int parts) {
  require(boxes.size() == weights.size(), ErrorCode::mismatch,
          "there are " + std::to_string(boxes.size()) + " boxes and " + std::to_string(weights.size()) +
              " weights: give one for each",
          {{"boxes", boxes.size()}, {"weights", weights.size()}});
  require(parts >= 1 && boxes.size() >= static_cast<std::size_t>(parts), ErrorCode::unsupported,
          std::to_string(boxes.size()) + " boxes cannot be distributed over " + std::to_string(parts) +
              " devices: use more boxes or fewer devices",
          {{"boxes", boxes.size()}, {"devices", parts}});
  return Sharer(boxes, weights).owners(parts);
}

}  // namespace slipstream
