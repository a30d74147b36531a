#include "gather_scatter/sorted_points.hpp"

#include <algorithm>
#include <string>

#include <slipstream/error.hpp>

#include "device/in_parallel.hpp"
#include "device/upload.hpp"
#include "gather_scatter/launch_rows.hpp"

namespace slipstream {
inline namespace sorted_points_kernels {

struct Split {
  const Point* points;
  std::uint64_t* ids;
  std::uint32_t* indices;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = row_of(i, j);
    ids[n] = static_cast<std::uint64_t>(points[n].id);
    indices[n] = points[n].index;
  }
};

struct FindPlaces {
  const std::uint64_t* sorted;
  std::int64_t count;
  const std::uint64_t* ids;
  std::int64_t* places;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = row_of(i, j);
    places[n] = place_among(sorted, count, ids[n]);
  }
};

/// Sorted ids and the indices of their points. A run is a range of equal ids.
struct Runs {
  const std::uint64_t* ids;
  const std::uint32_t* indices;
  std::int64_t count;

  /// End of a run of equal ids by exponential search, then binary search: most runs are short.
  SLIP_FN std::int64_t end(std::int64_t first) const {
    const std::uint64_t id = ids[first];
    std::int64_t step = 1;
    while (first + step < count && ids[first + step] == id) step *= 2;
    const std::int64_t low = first + step / 2 + 1, high = first + step < count ? first + step : count;
    return low + place_among(ids + low, high - low, id + 1);
  }
};

/// Marks the first index of each run (range of equal ids) of two or more points, except runs of excluded ids.
struct MarkRuns {
  Runs runs;
  const std::uint64_t* but;
  std::int64_t but_count;
  std::uint32_t* marks;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = row_of(i, j);
    const std::uint64_t id = runs.ids[n];
    bool begins = (n == 0 || runs.ids[n - 1] != id) && n + 1 < runs.count && runs.ids[n + 1] == id;
    if (begins && but_count > 0) {
      const std::int64_t at = place_among(but, but_count, id);
      begins = at == but_count || but[at] != id;
    }
    marks[n] = begins;
  }
};

/// Lists the marked runs of equal ids with their first points.
struct ListRuns {
  Runs runs;
  const std::uint32_t* places;
  std::uint64_t* first_points;
  std::uint32_t* begins;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t n = row_of(i, j);
    const std::uint32_t place = places[n];
    if (places[n + 1] == place) return;
    first_points[place] = runs.indices[n];
    begins[place] = static_cast<std::uint32_t>(n);
  }
};

struct CountCopies {
  Runs runs;
  const std::uint32_t* begins;
  std::uint32_t* counts;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    counts[row] = static_cast<std::uint32_t>(runs.end(begins[row]) - begins[row]);
  }
};

struct ListCopies {
  Runs runs;
  const std::uint32_t *begins, *starts;
  std::uint32_t* items;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t row = row_of(i, j);
    const std::uint32_t first = starts[row], last = starts[row + 1];
    for (std::uint32_t n = first; n < last; ++n) items[n] = runs.indices[begins[row] + (n - first)];
  }
};

Points points_with_ids(const SharedPoints& points) {
  const auto count = static_cast<std::int64_t>(points.ids.size());
  require(count <= most_points, ErrorCode::unsupported,
          "a gather-scatter was given " + std::to_string(count) + " points on one device, and takes at most " +
              std::to_string(most_points) + ": use more devices",
          {{"given", count}, {"limit", most_points}});
  require(points.block >= 1,
          "a gather-scatter needs blocks of one point or more, not of " + std::to_string(points.block),
          {{"option", "block"}, {"given", points.block}});
  return found_in_parallel<Point>(points.ids.size(), [&](std::size_t first, std::size_t last, const auto& add) {
    for (std::size_t i = first; i < last; ++i) {
      const std::int64_t id = points.ids[i];
      if (id < 0)
        throw Error(ErrorCode::invalid_argument,
                    "point " + std::to_string(i) + " of a gather-scatter has the id " + std::to_string(id) +
                        ": ids are positive, and 0 where a point is shared with nobody",
                    {{"point", i}, {"given", id}});
      if (id > 0) add({id, static_cast<std::uint32_t>(i)});
    }
  });
}

/// Runs a kernel with a thread per row of a list, and waits: an error thereafter must not free memory that it uses.
template <class Kernel>
void for_rows(Stream& stream, std::int64_t rows, const Kernel& kernel) {
  launch_rows(stream, rows, kernel);
  stream.synchronize();
}

/// Last element of an array in device memory.
std::uint32_t last_of(Stream& stream, const Buffer<std::uint32_t>& numbers) {
  std::uint32_t last = 0;
  download(stream, numbers.data() + numbers.size() - 1, 1, &last);
  return last;
}

}  // namespace sorted_points_kernels

SortedPoints::SortedPoints(Device device, const SharedPoints& points) : stream_(device) {
  const Points found = points_with_ids(points);
  const std::size_t count = counted(found.size());
  if (count == 0) return;
  {
    const Buffer<Point> there = upload(stream_, found);
    sorted_ = {Buffer<std::uint64_t>(device, count), Buffer<std::uint32_t>(device, count)};
    for_rows(stream_, static_cast<std::int64_t>(count),
             Split{there.data(), sorted_.keys.data(), sorted_.values.data()});
  }
  sort_by_key(stream_, sorted_);
}

Range SortedPoints::range() {
  if (size() == 0) return {};
  std::uint64_t low = 0, high = 0;
  download(stream_, sorted_.keys.data(), 1, &low);
  download(stream_, sorted_.keys.data() + size() - 1, 1, &high);
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

void SortedPoints::add(std::size_t first, std::size_t count, Points& to) {
  const std::size_t before = to.size();
  to.resize(before + count);
  std::vector<std::uint64_t> ids(count);
  std::vector<std::uint32_t> indices(count);
  download(stream_, sorted_.keys.data() + first, count, ids.data());
  download(stream_, sorted_.values.data() + first, count, indices.data());
  for (std::size_t n = 0; n < count; ++n) to[before + n] = {static_cast<std::int64_t>(ids[n]), indices[n]};
}

Points SortedPoints::in(const std::vector<Range>& ranges) {
  std::vector<std::uint64_t> ids;
  for (const Range& range : ranges) {
    if (range.high < range.low) continue;
    ids.push_back(static_cast<std::uint64_t>(range.low));
    ids.push_back(static_cast<std::uint64_t>(range.high) + 1);
  }
  Points found;
  if (ids.empty() || size() == 0) return found;
  const Buffer<std::uint64_t> asked = upload(stream_, ids);
  const Buffer<std::int64_t> answers(stream_.device(), ids.size());
  for_rows(stream_, static_cast<std::int64_t>(ids.size()),
           FindPlaces{sorted_.keys.data(), static_cast<std::int64_t>(size()), asked.data(), answers.data()});
  std::vector<std::int64_t> places(ids.size());
  download(stream_, answers.data(), places.size(), places.data());
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (std::size_t n = 0; n < places.size(); n += 2) parts.push_back({places[n], places[n + 1]});
  std::sort(parts.begin(), parts.end());
  std::int64_t done = 0;
  for (const auto& [first, last] : parts) {
    const std::int64_t from = std::max(first, done);
    if (from >= last) continue;
    add(static_cast<std::size_t>(from), static_cast<std::size_t>(last - from), found);
    done = last;
  }
  return found;
}

Points SortedPoints::all() {
  Points found;
  add(0, size(), found);
  return found;
}

DeviceRows<std::uint32_t> SortedPoints::copies_but(const std::vector<std::int64_t>& ids) {
  const Device device = stream_.device();
  if (size() == 0) return {};
  const auto count = static_cast<std::int64_t>(size());
  const Runs runs{sorted_.keys.data(), sorted_.values.data(), count};
  KeyedValues begins;
  {
    Buffer<std::uint32_t> places(device, size() + 1);
    const Buffer<std::uint64_t> but = upload(stream_, std::vector<std::uint64_t>(ids.begin(), ids.end()));
    for_rows(stream_, count, MarkRuns{runs, but.data(), static_cast<std::int64_t>(but.size()), places.data()});
    sum_before(stream_, places);
    const std::uint32_t rows = last_of(stream_, places);
    if (rows == 0) return {};
    begins = {Buffer<std::uint64_t>(device, rows), Buffer<std::uint32_t>(device, rows)};
    for_rows(stream_, count, ListRuns{runs, places.data(), begins.keys.data(), begins.values.data()});
  }
  sort_by_key(stream_, begins);
  begins.keys = {};
  const auto rows = static_cast<std::int64_t>(begins.values.size());
  DeviceRows<std::uint32_t> found{Buffer<std::uint32_t>(device, begins.values.size() + 1), {}, rows};
  for_rows(stream_, rows, CountCopies{runs, begins.values.data(), found.starts.data()});
  sum_before(stream_, found.starts);
  found.items = Buffer<std::uint32_t>(device, last_of(stream_, found.starts));
  for_rows(stream_, rows, ListCopies{runs, begins.values.data(), found.starts.data(), found.items.data()});
  return found;
}

}  // namespace slipstream
