#include "gather_scatter/copies.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <slipstream/error.hpp>

#include "device/in_parallel.hpp"
#include "gather_scatter/holders.hpp"
#include "gather_scatter/sorted_points.hpp"
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

/// Finds the point ids that several devices have, with their blocks and devices. Empties `mine`, this rank's ids.
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
      found[d] = copies_of(devices[d], points[d], *sorted[d], asked[d], shared, unique, host_packed);
      sorted[d].reset();
    });
  });
  return found;
}

}  // namespace slipstream
