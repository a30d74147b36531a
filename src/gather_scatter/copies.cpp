#include "gather_scatter/copies.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include <slipstream/error.hpp>

#include "device/in_parallel.hpp"
#include "gather_scatter/holders.hpp"
#include "gather_scatter/sorted_points.hpp"
#include "gather_scatter/unique_copies.hpp"
#include "machine/agree.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"

namespace slipstream {
namespace {

/// Home rank of an id. The hash spreads neighbouring ids over the ranks.
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

/// Writes all holders (blocks and devices) of each id that several devices have, one message for each rank that holds
/// the id. `problem`: set to an error if two devices have the same block.
void list_shared(std::vector<Holder> met, const Machine& machine, std::map<int, std::string>& letters,
                 Problem& problem) {
  std::sort(met.begin(), met.end());
  each_id(met, [&](std::size_t first, std::size_t last) {
    bool several = false;
    std::vector<int> ranks;
    for (std::size_t n = first; n < last; ++n) {
      several |= met[n].device != met[first].device;
      ranks.push_back(machine.device(static_cast<int>(met[n].device)).rank);
      if (n > first && met[n].block == met[n - 1].block && !problem)
        problem = Error(ErrorCode::mismatch,
                        "block " + std::to_string(met[n].block) + " of a gather-scatter lies on device " +
                            std::to_string(met[n - 1].device) + " and on device " + std::to_string(met[n].device) +
                            ": number the blocks of all devices through (first_block)",
                        {{"block", met[n].block}, {"device", met[n - 1].device}, {"peer", met[n].device}});
    }
    if (!several) return;
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (const int rank : ranks)
      for (std::size_t n = first; n < last; ++n) append_record(letters[rank], met[n]);
  });
}

/// Ids that several devices have, each with all its blocks and devices in the order of blocks. Clears `mine`.
std::vector<Holder> meet(const Communicator& comm, const Machine& machine, std::vector<std::vector<Holder>>& mine,
                         double seconds) {
  std::map<int, std::string> letters;
  for (std::vector<Holder>& of_device : mine) {
    for (const Holder& holder : of_device) append_record(letters[home_of(holder.id, comm.size())], holder);
    of_device = {};
  }
  PrivateCommunicator own(comm, "the points of a gather-scatter");
  std::map<int, std::string> told = rendezvous(own, std::move(letters), seconds);
  letters.clear();
  Problem problem;
  attempt(problem, [&] { list_shared(holders_in(std::exchange(told, {})), machine, letters, problem); });
  agree(comm, problem);
  std::vector<Holder> shared = holders_in(rendezvous(own, std::move(letters), seconds));
  std::sort(shared.begin(), shared.end());
  return shared;
}

}  // namespace

Mailbox laid_out(std::map<int, MailboxShare>& mail) {
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

namespace {

/// Compiles the lists of one device for a gather-scatter. `asked`: its points whose ids other devices may have.
/// `shared`: all blocks that hold the ids which several devices have.
class Compiler {
 public:
  Compiler(int device, const SharedPoints& points, const Points& asked, const std::vector<Holder>& shared)
      : points_(points), asked_(asked), shared_(shared) {
    copies_.device = device;
    copies_.block = points.block;
    copies_.points = static_cast<std::int64_t>(points.ids.size());
  }

  Copies compiled(SortedPoints& sorted, bool host_packed) {
    each_id(shared_, [&](std::size_t first, std::size_t last) { note(first, last); });
    lay_out_mail();
    list_local(sorted);
    for (const IdHolders& group : groups_) list_shared(group);
    for (const MailboxShare& mail : copies_.mailbox.mail) list_outgoing(mail.device);
    if (host_packed) list_partials();
    return std::move(copies_);
  }

 private:
  bool own(const Holder& holder) const { return holder.device == copies_.device; }

  /// Records the range of one id's holders (blocks that have it), if this device is among them.
  void note(std::size_t first, std::size_t last) {
    if (std::none_of(shared_.begin() + first, shared_.begin() + last, [&](const Holder& h) { return own(h); })) return;
    const IdHolders& group = groups_.emplace_back(IdHolders{first, last});
    std::int64_t mine = 0;
    for (std::size_t n = first; n < last; ++n) {
      if (own(shared_[n])) {
        ++mine;
      } else {
        ++mail_[static_cast<int>(shared_[n].device)].incoming_count;
      }
    }
    for (const int other : devices_but(shared_, group, copies_.device)) mail_[other].outgoing_count += mine;
  }

  void lay_out_mail() {
    copies_.mailbox = laid_out(mail_);
    for (const MailboxShare& mail : copies_.mailbox.mail) next_incoming_[mail.device] = mail.incoming;
  }

  void list_local(SortedPoints& sorted) {
    std::vector<std::int64_t> shared;
    for (const IdHolders& group : groups_) shared.push_back(shared_[group.first].id);
    const DeviceRows<std::uint32_t> rows = sorted.copies_but(shared);
    copies_.local_groups = rows.count;
    copies_.local_copies = static_cast<std::int64_t>(rows.items.size());
    copies_.local = group_tiles(sorted.stream(), rows, points_.block);
  }

  void list_shared(const IdHolders& group) {
    std::size_t at = place_of(asked_, shared_[group.first].id);
    for (std::size_t n = group.first; n < group.last; ++n) {
      const Holder& holder = shared_[n];
      if (!own(holder)) {
        const auto index = static_cast<std::uint32_t>(next_incoming_[static_cast<int>(holder.device)]++);
        copies_.shared.items.push_back({index, 1});
        continue;
      }
      each_copy(points_, asked_, holder, at, [&](std::uint32_t index) { copies_.shared.items.push_back({index, 0}); });
    }
    copies_.shared.close();
  }

  /// Lists the values for another device in the order in which it lists what it receives: by id, then by block.
  void list_outgoing(int other) {
    for (const IdHolders& group : groups_)
      if (std::any_of(shared_.begin() + group.first, shared_.begin() + group.last,
                      [&](const Holder& h) { return h.device == other; }))
        list_blocks(points_, asked_, shared_, group, copies_.device, copies_.outgoing);
  }

  void list_partials() {
    Partials& partials = copies_.partials.emplace();
    partials.first_block = points_.first_block;
    for (const IdHolders& group : groups_)
      partials.ids.resize(
          partials.ids.size() + list_blocks(points_, asked_, shared_, group, copies_.device, partials.copies),
          shared_[group.first].id);
  }

  const SharedPoints& points_;
  const Points& asked_;
  const std::vector<Holder>& shared_;
  std::vector<IdHolders> groups_;  // ranges of the blocks that hold each id of this device
  std::map<int, MailboxShare> mail_;
  std::map<int, std::int64_t> next_incoming_;
  Copies copies_;
};

}  // namespace

Copies copies_of(int device, const SharedPoints& points, SortedPoints& sorted, const Points& asked,
                 const std::vector<Holder>& shared, bool host_packed) {
  return Compiler(device, points, asked, shared).compiled(sorted, host_packed);
}

std::vector<Copies> find_copies(const Communicator& comm, const Machine& machine,
                                const std::vector<SharedPoints>& points, bool unique, bool host_packed,
                                double seconds) {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  std::vector<std::optional<SortedPoints>> sorted(devices.size());
  std::vector<Range> ranges(devices.size());
  std::vector<Points> asked(devices.size());
  std::vector<std::vector<Holder>> mine(devices.size());
  const auto each_device = [&](const auto& work) {
    in_parallel(devices.size(), devices.size(), [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t d = first; d < last; ++d) work(d);
    });
  };
  on_all_ranks(comm, [&] {
    require(points.size() == devices.size(), ErrorCode::mismatch,
            "a gather-scatter was given the points of " + std::to_string(points.size()) + " devices, and rank " +
                std::to_string(comm.rank()) + " drives " + std::to_string(devices.size()),
            {{"given", points.size()}, {"needed", devices.size()}});
    each_device([&](std::size_t d) {
      sorted[d].emplace(machine.device(devices[d]).local, points[d]);
      ranges[d] = sorted[d]->range();
    });
  });
  // If devices hold parts of a numbered mesh, few id ranges overlap. Ids outside the overlaps are not exchanged.
  const std::vector<Range> all = by_device(comm, machine, ranges);
  on_all_ranks(comm, [&] {
    each_device([&](std::size_t d) {
      std::vector<Range> others = all;
      others.erase(others.begin() + devices[d]);
      asked[d] = sorted[d]->in(others);
      for (const Point& point : asked[d]) {
        const Holder holder{point.id, block_of(points[d], point), devices[d]};
        if (mine[d].empty() || mine[d].back().id != holder.id || mine[d].back().block != holder.block)
          mine[d].push_back(holder);
      }
    });
  });
  const std::vector<Holder> shared = meet(comm, machine, mine, seconds);
  std::vector<Copies> found(devices.size());
  on_all_ranks(comm, [&] {
    each_device([&](std::size_t d) {
      found[d] = copies_of(devices[d], points[d], *sorted[d], asked[d], shared, host_packed);
      if (unique) found[d].unique = find_unique(devices[d], points[d], sorted[d]->all(), shared);
      sorted[d].reset();
    });
  });
  return found;
}

}  // namespace slipstream
