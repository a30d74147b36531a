#include <algorithm>
#include <map>
#include <span>

#include <slipstream/error.hpp>

#include "gather_scatter/holders.hpp"
#include "gather_scatter/sorted_points.hpp"

namespace slipstream {
namespace {

/// Compiles the lists of one device for a gather-scatter.
class Compiler {
 public:
  /// Finds a device's shared points. `sorted`: its points by id, at least the shared ones. `shared`: blocks with these.
  Compiler(int device, const SharedPoints& points, const Points& sorted, const std::vector<Holder>& shared)
      : device_(device), points_(points), sorted_(sorted) {
    each_id(shared, [&](std::size_t first, std::size_t last) {
      const Group group{std::span(shared).subspan(first, last - first)};
      if (holds(group, device)) groups_.push_back(group);
    });
  }

  Copies compiled(SortedPoints& on_device, bool host_packed) const {
    Copies found;
    found.device = device_;
    found.mailbox = mailbox([&](const Group& group, Mail& mail) {
      count_incoming(group, mail);
      const std::int64_t mine = blocks_here(group);
      for (const int other : others(group)) mail[other].outgoing_count += mine;
    });
    list_local(on_device, found);
    Next incoming = first_incoming(found.mailbox);
    for (const Group& group : groups_) add_terms(group, incoming, found.shared);
    // Values are sent in the order in which the receiving device lists them: by id, then by block.
    for (const MailboxShare& mail : found.mailbox.mail)
      for (const Group& group : groups_)
        if (holds(group, mail.device)) add_blocks(group, found.outgoing);
    if (!host_packed) return found;
    Partials& partials = found.partials.emplace();
    partials.first_block = points_.first_block;
    for (const Group& group : groups_) {
      add_blocks(group, partials.copies);
      partials.ids.resize(partials.copies.rows(), group.id());
    }
    return found;
  }

  /// Lists the points by which a device gathers one value per id and scatters it back. Needs all points of the device.
  UniqueCopies unique() {
    UniqueCopies found;
    found.gather = mailbox([&](const Group& group, Mail& mail) {
      if (owned(group)) return count_incoming(group, mail);
      mail[group.owner()].outgoing_count += blocks_here(group);
    });
    found.scatter = mailbox([&](const Group& group, Mail& mail) {
      if (!owned(group)) ++mail[group.owner()].incoming_count;
      if (owned(group))
        for (const int other : others(group)) ++mail[other].outgoing_count;
    });
    list_owned(found);
    Next gathered = first_incoming(found.gather), scattered = first_incoming(found.scatter);
    for (const Group& group : groups_) {
      add_copies(group, owned(group) ? found.met_copies : found.theirs);
      if (owned(group)) {
        add_terms(group, gathered, found.met);
        found.met_at.push_back(group.at);
      } else {
        found.theirs_at.push_back(static_cast<std::uint32_t>(scattered[group.owner()]++));
      }
    }
    for (const MailboxShare& mail : found.gather.mail)
      for (const Group& group : groups_)
        if (group.owner() == mail.device) add_blocks(group, found.gathered);
    for (const MailboxShare& mail : found.scatter.mail)
      for (const Group& group : groups_)
        if (owned(group) && holds(group, mail.device)) found.sent.push_back(group.at);
    return found;
  }

 private:
  using Mail = std::map<int, MailboxShare>;
  using Next = std::map<int, std::int64_t>;

  /// An id that this device has and others may have.
  struct Group {
    std::span<const Holder> holders;  // blocks that have the id, in ascending order
    std::uint32_t at = 0;             // index of the id's combined value in the owner device's list of unique values
    std::int64_t id() const { return holders.front().id; }
    int owner() const { return static_cast<int>(holders.front().device); }
  };

  static bool holds(const Group& group, int device) {
    return std::any_of(group.holders.begin(), group.holders.end(),
                       [&](const Holder& holder) { return holder.device == device; });
  }
  bool owned(const Group& group) const { return group.owner() == device_; }
  std::int64_t blocks_here(const Group& group) const {
    return std::count_if(group.holders.begin(), group.holders.end(),
                         [&](const Holder& holder) { return holder.device == device_; });
  }
  /// Other devices that hold copies of a shared point (points with equal ids), in ascending order.
  std::vector<int> others(const Group& group) const {
    std::vector<int> devices;
    for (const Holder& holder : group.holders)
      if (holder.device != device_) devices.push_back(static_cast<int>(holder.device));
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    return devices;
  }

  /// Counts received values of an id: one from each block of another device that has the id.
  void count_incoming(const Group& group, Mail& mail) const {
    for (const Holder& holder : group.holders)
      if (holder.device != device_) ++mail[static_cast<int>(holder.device)].incoming_count;
  }

  /// Lays out a device's buffer of values sent and received: one range for each receiver, then one for each sender, in
  /// device order. `count` adds one point id's numbers of values to the sizes of the ranges.
  template <class Count>
  Mailbox mailbox(const Count& count) const {
    Mail mail;
    for (const Group& group : groups_) count(group, mail);
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
    require(box.size < (std::int64_t{1} << 31), ErrorCode::unsupported,
            "a device shares too many points with others for one gather-scatter");
    return box;
  }

  static Next first_incoming(const Mailbox& box) {
    Next next;
    for (const MailboxShare& mail : box.mail) next[mail.device] = mail.incoming;
    return next;
  }

  void list_local(SortedPoints& on_device, Copies& found) const {
    std::vector<std::int64_t> shared;
    for (const Group& group : groups_) shared.push_back(group.id());
    const DeviceRows<std::uint32_t> rows = on_device.copies_but(shared);
    found.local_groups = rows.count;
    found.local_copies = static_cast<std::int64_t>(rows.items.size());
    found.local = group_tiles(on_device.stream(), rows, points_.block);
  }

  /// Lists the unique values in the order of their first points, and the copies of ids that only this device has.
  void list_owned(UniqueCopies& found) {
    struct Run {
      std::uint32_t index, first, count;  // index of an id's first point, place in sorted points, number of points
      Group* group;                       // null: only this device has the id
    };
    std::vector<Run> runs;
    auto next = groups_.begin();
    each_id(sorted_, [&](std::size_t first, std::size_t last) {
      next = std::find_if(next, groups_.end(), [&](const Group& group) { return group.id() >= sorted_[first].id; });
      Group* const group = next != groups_.end() && next->id() == sorted_[first].id ? &*next : nullptr;
      if (group && !owned(*group)) return;
      runs.push_back(
          {sorted_[first].index, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first), group});
    });
    radix_sort(runs, [](const Run& run) { return run.index; });
    for (const Run& run : runs) {
      const auto at = static_cast<std::uint32_t>(found.points.size());
      found.points.push_back(run.index);
      if (run.group) {
        run.group->at = at;
        continue;
      }
      for (std::uint32_t n = 0; n < run.count; ++n) found.own.items.push_back(sorted_[run.first + n].index);
      found.own.close();
      found.own_at.push_back(at);
    }
  }

  Points::const_iterator first_copy(const Group& group) const {
    return std::lower_bound(sorted_.begin(), sorted_.end(), Point{group.id(), 0});
  }
  /// Calls f for the points of one block that share an id. `at` begins at the id's first unvisited point, and advances.
  template <class F>
  void each_copy(const Holder& holder, Points::const_iterator& at, const F& f) const {
    for (; at != sorted_.end() && at->id == holder.id && block_of(points_, *at) == holder.block; ++at) f(at->index);
  }

  /// Adds a row for an id: its copies on this device, and values from other devices, in the order of blocks.
  void add_terms(const Group& group, Next& next, Lists<Term>& terms) const {
    auto at = first_copy(group);
    for (const Holder& holder : group.holders) {
      if (holder.device == device_)
        each_copy(holder, at, [&](std::uint32_t index) { terms.items.push_back({index, 0}); });
      else
        terms.items.push_back({static_cast<std::uint32_t>(next[static_cast<int>(holder.device)]++), 1});
    }
    terms.close();
  }
  /// Appends a list of all points on this device that are copies of one point (have the same id).
  void add_copies(const Group& group, Lists<std::uint32_t>& rows) const {
    for (auto at = first_copy(group); at != sorted_.end() && at->id == group.id(); ++at)
      rows.items.push_back(at->index);
    rows.close();
  }
  /// Appends, for each block of this device that has a point id, a list of the id's copies in the block.
  void add_blocks(const Group& group, Lists<std::uint32_t>& rows) const {
    auto at = first_copy(group);
    for (const Holder& holder : group.holders) {
      if (holder.device != device_) continue;
      each_copy(holder, at, [&](std::uint32_t index) { rows.items.push_back(index); });
      rows.close();
    }
  }

  int device_;
  const SharedPoints& points_;
  const Points& sorted_;
  std::vector<Group> groups_;  // ids that this device shares, in ascending order
};

}  // namespace

Copies copies_of(int device, const SharedPoints& points, SortedPoints& sorted, const Points& asked,
                 const std::vector<Holder>& shared, bool unique, bool host_packed) {
  if (!unique) return Compiler(device, points, asked, shared).compiled(sorted, host_packed);
  const Points all = sorted.all();
  Compiler compiler(device, points, all, shared);
  Copies found = compiler.compiled(sorted, host_packed);
  found.unique = compiler.unique();
  return found;
}

}  // namespace slipstream
