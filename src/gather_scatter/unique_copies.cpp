#include "gather_scatter/unique_copies.hpp"

#include "device/in_parallel.hpp"

namespace slipstream {
namespace {

class Finder {
 public:
  Finder(int device, const SharedPoints& points, const Points& sorted, const std::vector<Holder>& shared)
      : device_(device), points_(points), sorted_(sorted), shared_(shared) {}

  UniqueCopies found() {
    each_id(shared_, [&](std::size_t first, std::size_t last) { note(first, last); });
    found_.gather = laid_out(gather_mail_);
    found_.scatter = laid_out(scatter_mail_);
    for (const MailboxShare& mail : found_.gather.mail) next_gathered_[mail.device] = mail.incoming;
    for (const MailboxShare& mail : found_.scatter.mail) next_scattered_[mail.device] = mail.incoming;
    list_owned();
    for (const Group& group : groups_) list_shared(group);
    for (const MailboxShare& mail : found_.gather.mail) list_gathered(mail.device);
    for (const MailboxShare& mail : found_.scatter.mail) list_sent(mail.device);
    return std::move(found_);
  }

 private:
  /// Blocks that hold an id which this device has too.
  struct Group : IdHolders {
    std::uint32_t at = 0;  // index of the id's unique value, if this device owns it
  };
  int owner(const Group& group) const { return static_cast<int>(shared_[group.first].device); }
  bool owned(const Group& group) const { return owner(group) == device_; }

  std::vector<int> others(const Group& group) const { return devices_but(shared_, group, device_); }

  void note(std::size_t first, std::size_t last) {
    std::int64_t mine = 0;
    for (std::size_t n = first; n < last; ++n) mine += shared_[n].device == device_;
    if (mine == 0) return;
    groups_.push_back({{first, last}});
    const Group& group = groups_.back();
    if (!owned(group)) {
      gather_mail_[owner(group)].outgoing_count += mine;
      ++scatter_mail_[owner(group)].incoming_count;
      return;
    }
    for (std::size_t n = first; n < last; ++n)
      if (shared_[n].device != device_) ++gather_mail_[static_cast<int>(shared_[n].device)].incoming_count;
    for (const int other : others(group)) ++scatter_mail_[other].outgoing_count;
  }

  /// Lists the unique values in the order of their first points, and the copies of ids that only this device has.
  void list_owned() {
    struct Run {
      std::uint32_t index, first, count;  // index of first point; position in sorted_; number of copies
      Group* group;                       // null: only this device has the id
    };
    std::vector<Run> runs;
    std::size_t next = 0;
    each_id(sorted_, [&](std::size_t first, std::size_t last) {
      while (next < groups_.size() && shared_[groups_[next].first].id < sorted_[first].id) ++next;
      Group* const group =
          next < groups_.size() && shared_[groups_[next].first].id == sorted_[first].id ? &groups_[next] : nullptr;
      if (group && !owned(*group)) return;
      runs.push_back(
          {sorted_[first].index, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first), group});
    });
    radix_sort(runs, [](const Run& run) { return run.index; });
    for (const Run& run : runs) {
      const auto at = static_cast<std::uint32_t>(found_.points.size());
      found_.points.push_back(run.index);
      if (run.group) {
        run.group->at = at;
        continue;
      }
      for (std::uint32_t n = 0; n < run.count; ++n) found_.own.items.push_back(sorted_[run.first + n].index);
      found_.own.close();
      found_.own_at.push_back(at);
    }
  }

  void list_shared(const Group& group) {
    std::size_t at = place_of(sorted_, shared_[group.first].id);
    Lists<std::uint32_t>& copies = owned(group) ? found_.met_copies : found_.theirs;
    for (std::size_t n = group.first; n < group.last; ++n) {
      const int device = static_cast<int>(shared_[n].device);
      if (device == device_) {
        each_copy(points_, sorted_, shared_[n], at, [&](std::uint32_t index) {
          copies.items.push_back(index);
          if (owned(group)) found_.met.items.push_back({index, 0});
        });
      } else if (owned(group)) {
        found_.met.items.push_back({static_cast<std::uint32_t>(next_gathered_[device]++), 1});
      }
    }
    copies.close();
    if (owned(group)) {
      found_.met.close();
      found_.met_at.push_back(group.at);
    } else {
      found_.theirs_at.push_back(static_cast<std::uint32_t>(next_scattered_[owner(group)]++));
    }
  }

  /// Lists the values to send to an owner, in the order in which it lists what it receives: by id, then by block.
  void list_gathered(int to) {
    for (const Group& group : groups_)
      if (!owned(group) && owner(group) == to) list_blocks(points_, sorted_, shared_, group, device_, found_.gathered);
  }

  void list_sent(int to) {
    for (const Group& group : groups_) {
      if (!owned(group)) continue;
      const std::vector<int> devices = others(group);
      if (std::find(devices.begin(), devices.end(), to) != devices.end()) found_.sent.push_back(group.at);
    }
  }

  int device_;
  const SharedPoints& points_;
  const Points& sorted_;
  const std::vector<Holder>& shared_;
  std::vector<Group> groups_;  // ids that this device shares, in ascending order
  std::map<int, MailboxShare> gather_mail_, scatter_mail_;
  std::map<int, std::int64_t> next_gathered_, next_scattered_;
  UniqueCopies found_;
};

}  // namespace

UniqueCopies find_unique(int device, const SharedPoints& points, const Points& sorted,
                         const std::vector<Holder>& shared) {
  return Finder(device, points, sorted, shared).found();
}

}  // namespace slipstream
