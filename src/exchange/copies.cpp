#include "exchange/copies.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include <slipstream/error.hpp>

#include "exchange/holders.hpp"
#include "exchange/in_parallel.hpp"
#include "exchange/unique_copies.hpp"
#include "machine/agree.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"

namespace slipstream {
namespace {

/// Neighbouring numbers go to different ranks.
int home_of(std::int64_t id, int ranks) {
  std::uint64_t x = static_cast<std::uint64_t>(id);
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x ^= x >> 29;
  return static_cast<int>(x % static_cast<std::uint64_t>(ranks));
}

std::vector<Holder> holders_in(const std::map<int, std::string>& texts) {
  std::vector<Holder> holders;
  for (const auto& [rank, text] : texts) read_records(text, holders);
  return holders;
}

std::vector<Point> sorted_points(const SharedPoints& points) {
  const auto count = static_cast<std::int64_t>(points.ids.size());
  require(count <= most_points, "a gather-scatter was given " + std::to_string(count) +
                                    " points on one device, and takes at most " + std::to_string(most_points) +
                                    ": use more devices");
  require(points.block >= 1,
          "a gather-scatter needs blocks of one point or more, not of " + std::to_string(points.block));
  std::vector<Point> found;
  found.reserve(static_cast<std::size_t>(count - std::count(points.ids.begin(), points.ids.end(), 0)));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t id = points.ids[static_cast<std::size_t>(i)];
    if (id < 0)
      throw Error("point " + std::to_string(i) + " of a gather-scatter has the id " + std::to_string(id) +
                  ": ids are positive, and 0 where a point is shared with nobody");
    if (id > 0) found.push_back({id, static_cast<std::uint32_t>(i)});
  }
  radix_sort(found, [](const Point& point) { return point.id; });
  return found;
}

/// From the least to the greatest id of a device.
struct Range {
  std::int64_t low = 0, high = -1;
  bool holds(std::int64_t id) const { return low <= id && id <= high; }
};

/// The ids that several devices have, each with all its holders in the order of blocks.
std::vector<Holder> meet(const Communicator& comm, const Machine& machine, const std::vector<Holder>& mine,
                         double seconds) {
  std::map<int, std::string> letters;
  for (const Holder& holder : mine) append_record(letters[home_of(holder.id, comm.size())], holder);
  std::vector<Holder> met = holders_in(rendezvous(comm, letters, seconds));
  letters.clear();
  std::string problem;
  std::sort(met.begin(), met.end());
  each_id(met, [&](std::size_t first, std::size_t last) {
    bool several = false;
    std::vector<int> ranks;
    for (std::size_t n = first; n < last; ++n) {
      several |= met[n].device != met[first].device;
      ranks.push_back(machine.device(static_cast<int>(met[n].device)).rank);
      if (n > first && met[n].block == met[n - 1].block && problem.empty())
        problem = "block " + std::to_string(met[n].block) + " of a gather-scatter lies on device " +
                  std::to_string(met[n - 1].device) + " and on device " + std::to_string(met[n].device) +
                  ": number the blocks of all devices through (first_block)";
    }
    if (!several) return;
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (const int rank : ranks)
      for (std::size_t n = first; n < last; ++n) append_record(letters[rank], met[n]);
  });
  agree(comm, problem);
  std::vector<Holder> shared = holders_in(rendezvous(comm, letters, seconds));
  std::sort(shared.begin(), shared.end());
  return shared;
}

}  // namespace

Mailbox laid_out(std::map<int, Mail>& mail) {
  Mailbox box;
  for (auto& [device, one] : mail) {
    one.device = device;
    one.outgoing = box.size;
    box.size += one.outgoing_count;
  }
  for (auto& [device, one] : mail) {
    one.incoming = box.size;
    box.size += one.incoming_count;
    box.mail.push_back(one);
  }
  require(box.size < (std::int64_t{1} << 31), "a device shares too many points with others for one gather-scatter");
  return box;
}

namespace {

/// Lists of one device, from its points and from all holders of ids that it shares with others.
class Compiler {
 public:
  Compiler(int device, const SharedPoints& points, const std::vector<Point>& sorted, const std::vector<Holder>& shared)
      : points_(points), sorted_(sorted), shared_(shared) {
    copies_.device = device;
    copies_.block = points.block;
    copies_.points = static_cast<std::int64_t>(points.ids.size());
  }

  Copies compiled(bool host_packed) {
    each_id(shared_, [&](std::size_t first, std::size_t last) { note(first, last); });
    lay_out_mail();
    list_local();
    for (const auto& [first, last] : groups_) list_shared(first, last);
    for (const Mail& mail : copies_.mailbox.mail) list_outgoing(mail.device);
    if (host_packed) list_partials();
    return std::move(copies_);
  }

 private:
  bool own(const Holder& holder) const { return holder.device == copies_.device; }

  /// The holders of one id, if this device is among them.
  void note(std::size_t first, std::size_t last) {
    if (std::none_of(shared_.begin() + first, shared_.begin() + last, [&](const Holder& h) { return own(h); })) return;
    groups_.push_back({first, last});
    std::vector<int> others;
    std::int64_t mine = 0;
    for (std::size_t n = first; n < last; ++n) {
      if (own(shared_[n])) {
        ++mine;
      } else {
        const int other = static_cast<int>(shared_[n].device);
        ++mail_[other].incoming_count;
        others.push_back(other);
      }
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    for (const int other : others) mail_[other].outgoing_count += mine;
  }

  void lay_out_mail() {
    copies_.mailbox = laid_out(mail_);
    for (const Mail& mail : copies_.mailbox.mail) next_incoming_[mail.device] = mail.incoming;
  }

  /// In the order of their first points, so that a tile reads neighbouring values.
  void list_local() {
    struct Run {
      std::uint32_t index, first, count;  // of the first point, of its place in sorted_, of the copies
    };
    std::vector<Run> runs;
    std::size_t next = 0;
    each_id(sorted_, [&](std::size_t first, std::size_t last) {
      while (next < groups_.size() && shared_[groups_[next].first].id < sorted_[first].id) ++next;
      const bool remote = next < groups_.size() && shared_[groups_[next].first].id == sorted_[first].id;
      if (remote || last - first == 1) return;
      runs.push_back(
          {sorted_[first].index, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first)});
    });
    radix_sort(runs, [](const Run& run) { return run.index; });
    Lists<std::uint32_t> local;
    local.starts.reserve(runs.size() + 1);
    std::uint32_t end = 0;
    for (const Run& run : runs) local.starts.push_back(end += run.count);
    local.items.resize(end);
    in_parallel(threads_for(runs.size()), runs.size(), [&](std::size_t, std::size_t begin, std::size_t past) {
      for (std::size_t r = begin; r < past; ++r)
        for (std::uint32_t n = 0; n < runs[r].count; ++n)
          local.items[local.starts[r] + n] = sorted_[runs[r].first + n].index;
    });
    copies_.local = group_tiles(local, points_.block);
  }

  void list_shared(std::size_t first, std::size_t last) {
    std::size_t at = place_of(sorted_, shared_[first].id);
    for (std::size_t n = first; n < last; ++n) {
      const Holder& holder = shared_[n];
      if (!own(holder)) {
        const auto index = static_cast<std::uint32_t>(next_incoming_[static_cast<int>(holder.device)]++);
        copies_.shared.items.push_back({index, 1});
        continue;
      }
      each_copy(points_, sorted_, holder, at, [&](std::uint32_t index) { copies_.shared.items.push_back({index, 0}); });
    }
    copies_.shared.close();
  }

  /// In the order in which the other device lists what it receives: of ids, then of blocks.
  void list_outgoing(int other) {
    for (const auto& [first, last] : groups_) {
      const auto begin = shared_.begin() + first, end = shared_.begin() + last;
      if (std::none_of(begin, end, [&](const Holder& h) { return h.device == other; })) continue;
      std::size_t at = place_of(sorted_, begin->id);
      for (auto holder = begin; holder != end; ++holder) {
        if (!own(*holder)) continue;
        each_copy(points_, sorted_, *holder, at, [&](std::uint32_t index) { copies_.outgoing.items.push_back(index); });
        copies_.outgoing.close();
      }
    }
  }

  void list_partials() {
    Partials& partials = copies_.partials.emplace();
    partials.first_block = points_.first_block;
    for (const auto& [first, last] : groups_) {
      std::size_t at = place_of(sorted_, shared_[first].id);
      for (std::size_t n = first; n < last; ++n) {
        if (!own(shared_[n])) continue;
        partials.ids.push_back(shared_[n].id);
        each_copy(points_, sorted_, shared_[n], at,
                  [&](std::uint32_t index) { partials.copies.items.push_back(index); });
        partials.copies.close();
      }
    }
  }

  const SharedPoints& points_;
  const std::vector<Point>& sorted_;
  const std::vector<Holder>& shared_;
  std::vector<std::pair<std::size_t, std::size_t>> groups_;  // of this device's ids in shared_
  std::map<int, Mail> mail_;
  std::map<int, std::int64_t> next_incoming_;
  Copies copies_;
};

}  // namespace

std::vector<Copies> find_copies(const Communicator& comm, const Machine& machine,
                                const std::vector<SharedPoints>& points, bool unique, bool host_packed,
                                double seconds) {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  std::vector<std::vector<Point>> sorted;
  std::vector<Range> ranges;
  std::vector<Holder> mine;
  on_all_ranks(comm, [&] {
    require(points.size() == devices.size(),
            "a gather-scatter was given the points of " + std::to_string(points.size()) + " devices, and rank " +
                std::to_string(comm.rank()) + " drives " + std::to_string(devices.size()));
    for (std::size_t d = 0; d < devices.size(); ++d) {
      sorted.push_back(sorted_points(points[d]));
      ranges.emplace_back();
      if (!sorted.back().empty()) ranges.back() = {sorted.back().front().id, sorted.back().back().id};
    }
  });
  // Where devices hold parts of a numbered mesh, few ids can be another's: no others need to be asked about.
  const std::vector<Range> all = by_device(comm, machine, ranges);
  on_all_ranks(comm, [&] {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      std::vector<Range> others = all;
      others.erase(others.begin() + devices[d]);
      const auto elsewhere = [&](std::int64_t id) {
        return std::any_of(others.begin(), others.end(), [&](const Range& range) { return range.holds(id); });
      };
      for (const Point& point : sorted[d]) {
        if (!elsewhere(point.id)) continue;
        const Holder holder{point.id, block_of(points[d], point), devices[d]};
        if (mine.empty() || mine.back().id != holder.id || mine.back().block != holder.block ||
            mine.back().device != holder.device)
          mine.push_back(holder);
      }
    }
  });
  const std::vector<Holder> shared = meet(comm, machine, mine, seconds);
  std::vector<Copies> found;
  on_all_ranks(comm, [&] {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      found.push_back(Compiler(devices[d], points[d], sorted[d], shared).compiled(host_packed));
      if (unique) found.back().unique = find_unique(devices[d], points[d], sorted[d], shared);
    }
  });
  return found;
}

}  // namespace slipstream
