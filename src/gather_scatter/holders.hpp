#pragma once
// Holders of an id: the blocks that have it. The lists of gather-scatters are compiled from them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <slipstream/gather_scatter.hpp>

#include "device/in_parallel.hpp"
#include "gather_scatter/copies.hpp"

namespace slipstream {

/// Maximum number of points of a device, because lists hold 32-bit indices.
constexpr std::int64_t most_points = std::int64_t{1} << 32;

struct Point {
  std::int64_t id;
  std::uint32_t index;
  bool operator<(const Point& other) const { return std::tie(id, index) < std::tie(other.id, other.index); }
};

/// An array of points whose memory is not zeroed: threads write the points first.
using Points = Unset<Point>;

/// A block that has an id.
struct Holder {
  std::int64_t id, block, device;
  bool operator<(const Holder& other) const { return std::tie(id, block) < std::tie(other.id, other.block); }
};

/// Calls f(first, last) for each run of items with equal ids.
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

/// Index of the first copy of an id in the sorted points (lower bound).
inline std::size_t place_of(const Points& sorted, std::int64_t id) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), Point{id, 0}) - sorted.begin());
}

/// Calls f(index) for the copies of an id in one block. `at`: the id's next copy; advanced behind the copies visited.
template <class F>
void each_copy(const SharedPoints& points, const Points& sorted, const Holder& holder, std::size_t& at, const F& f) {
  for (; at < sorted.size() && sorted[at].id == holder.id && block_of(points, sorted[at]) == holder.block; ++at)
    f(sorted[at].index);
}

/// Holders (blocks) of one id, as a range of the list of all holders.
struct IdHolders {
  std::size_t first, last;
};

/// The devices that have an id, except one, in ascending order.
inline std::vector<int> devices_but(const std::vector<Holder>& shared, const IdHolders& id, int but) {
  std::vector<int> devices;
  for (std::size_t n = id.first; n < id.last; ++n)
    if (shared[n].device != but) devices.push_back(static_cast<int>(shared[n].device));
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

/// Adds a row for each block of the device that holds the id, with its copies there. Returns the number of rows.
inline std::int64_t list_blocks(const SharedPoints& points, const Points& sorted, const std::vector<Holder>& shared,
                                const IdHolders& id, int device, Lists<std::uint32_t>& rows) {
  std::size_t at = place_of(sorted, shared[id.first].id);
  const std::size_t before = rows.rows();
  for (std::size_t n = id.first; n < id.last; ++n) {
    if (shared[n].device != device) continue;
    each_copy(points, sorted, shared[n], at, [&](std::uint32_t index) { rows.items.push_back(index); });
    rows.close();
  }
  return static_cast<std::int64_t>(rows.rows() - before);
}

class SortedPoints;

/// Compiles the lists of one device for a gather-scatter. `asked`: its points whose ids other devices may have.
/// `shared`: all holders of the ids that several devices have, in the order of ids and blocks.
Copies copies_of(int device, const SharedPoints& points, SortedPoints& sorted, const Points& asked,
                 const std::vector<Holder>& shared, bool host_packed);

/// Lays out a mailbox: all outgoing ranges, then all incoming ones, both in the order of the other device.
Mailbox laid_out(std::map<int, MailboxShare>& mail);

}  // namespace slipstream
