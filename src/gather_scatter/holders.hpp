#pragma once
// Who has which id: what the lists of gather-scatters are compiled from.
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <slipstream/gather_scatter.hpp>

#include "device/in_parallel.hpp"
#include "gather_scatter/copies.hpp"

namespace slipstream {

/// Of a device: lists hold indices of 32 bits.
constexpr std::int64_t most_points = std::int64_t{1} << 32;

struct Point {
  std::int64_t id;
  std::uint32_t index;
  bool operator<(const Point& other) const { return std::tie(id, index) < std::tie(other.id, other.index); }
};

/// Many: threads write them first.
using Points = Unset<Point>;

/// That a block has an id.
struct Holder {
  std::int64_t id, block, device;
  bool operator<(const Holder& other) const { return std::tie(id, block) < std::tie(other.id, other.block); }
};

/// Calls f(first, last) for each run of one id.
template <class Items, class F>
void each_id(const Items& items, const F& f) {
  for (std::size_t first = 0; first < items.size();) {
    std::size_t last = first + 1;
    while (last < items.size() && items[last].id == items[first].id) ++last;
    f(first, last);
    first = last;
  }
}

inline std::int64_t block_of(const SharedPoints& points, const Point& point) {
  return points.first_block + point.index / points.block;
}

/// Of the first copy of an id.
inline std::size_t place_of(const Points& sorted, std::int64_t id) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), Point{id, 0}) - sorted.begin());
}

/// Calls f(index) for the copies that a holder, this device, has; `at` is the first of the id that was not.
template <class F>
void each_copy(const SharedPoints& points, const Points& sorted, const Holder& holder, std::size_t& at, const F& f) {
  for (; at < sorted.size() && sorted[at].id == holder.id && block_of(points, sorted[at]) == holder.block; ++at)
    f(sorted[at].index);
}

class SortedPoints;

/// The lists of one device. `asked`: those of its points that may be others', too. `shared`: all holders of the ids
/// that it shares with others, in the order of ids and blocks.
Copies copies_of(int device, const SharedPoints& points, SortedPoints& sorted, const Points& asked,
                 const std::vector<Holder>& shared, bool host_packed);

/// Lays out what each message holds, by the other device: what leaves, then what comes.
Mailbox laid_out(std::map<int, MailboxShare>& mail);

}  // namespace slipstream
