#include <slipstream/block_sums.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include <slipstream/error.hpp>

#include "collective/block_sums_kernels.hpp"
#include "exchange/calls_in_order.hpp"
#include "machine/agree.hpp"
#include "machine/records.hpp"
#include "machine/same_ranks.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

/// A range of consecutive blocks, whose values are summed, on one device.
struct Run {
  std::int64_t first = 0, behind = 0, device = 0;
};

std::vector<Run> runs_of(const std::vector<std::int64_t>& blocks, int device) {
  std::vector<Run> runs;
  for (const std::int64_t block : blocks) {
    if (runs.empty() || runs.back().behind != block) runs.push_back({block, block, device});
    ++runs.back().behind;
  }
  return runs;
}

void add_at(Levels& levels, int level, const Addition& addition) {
  if (levels.size() <= static_cast<std::size_t>(level)) levels.resize(static_cast<std::size_t>(level) + 1);
  levels[static_cast<std::size_t>(level)].push_back(addition);
}

/// The summation tree over all blocks, down to its branches: subtrees on single devices.
class Tree {
 public:
  explicit Tree(std::vector<Run> runs) : runs_(std::move(runs)) {
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
    for (std::size_t n = 1; n < runs_.size(); ++n)
      require(runs_[n - 1].behind <= runs_[n].first, ErrorCode::mismatch,
              "block " + std::to_string(runs_[n].first) + " of a sum lies on device " +
                  std::to_string(runs_[n - 1].device) + " and on device " + std::to_string(runs_[n].device) +
                  ": every block has a number of its own",
              {{"block", runs_[n].first}, {"device", runs_[n - 1].device}, {"peer", runs_[n].device}});
    if (runs_.empty()) return;
    root = descend(0, std::bit_width(static_cast<std::uint64_t>(runs_.back().behind - 1)));
  }

  std::vector<Run> branches;  // largest subtrees of the binary summation tree whose blocks lie on one device
  Levels additions;           // additions of the sums of `branches` (subtrees of blocks), by level of the tree
  std::optional<int> root;

 private:
  /// Plans the sum of the 2^level grid blocks from block `first` on. Returns its index, or nothing without such blocks.
  std::optional<int> descend(std::int64_t first, int level) {
    const std::int64_t behind = first + (std::int64_t{1} << level);
    const auto begin =
        std::partition_point(runs_.begin(), runs_.end(), [&](const Run& r) { return r.behind <= first; });
    const auto end = std::partition_point(begin, runs_.end(), [&](const Run& r) { return r.first < behind; });
    if (begin == end) return {};
    if (std::all_of(begin, end, [&](const Run& r) { return r.device == begin->device; })) {
      branches.push_back({first, behind, begin->device});
      return static_cast<int>(branches.size()) - 1;
    }
    const auto left = descend(first, level - 1), right = descend(first + (behind - first) / 2, level - 1);
    if (!left || !right) return left ? left : right;
    add_at(additions, level, {*left, *right});
    return left;
  }

  std::vector<Run> runs_;
};

/// Lists the additions of block sums in a subtree of the summation tree. Returns the device's block that gets the sum.
std::optional<int> within(const std::vector<std::int64_t>& blocks, std::int64_t first, std::int64_t behind,
                          Levels& levels) {
  const auto begin = std::lower_bound(blocks.begin(), blocks.end(), first);
  const auto end = std::lower_bound(begin, blocks.end(), behind);
  if (begin == end) return {};
  if (end - begin == 1) return static_cast<int>(begin - blocks.begin());
  const std::int64_t middle = first + (behind - first) / 2;
  const auto left = within(blocks, first, middle, levels), right = within(blocks, middle, behind, levels);
  if (!left || !right) return left ? left : right;
  add_at(levels, std::bit_width(static_cast<std::uint64_t>(behind - first)) - 1, {*left, *right});
  return left;
}

std::vector<Run> runs_of_all(const Communicator& comm, const Machine& machine,
                             const std::vector<std::vector<std::int64_t>>& blocks, double wait_limit) {
  const std::vector<int> devices = machine.devices_of_rank(comm.rank());
  std::string mine;
  on_all_ranks(comm, "a sum over blocks could not be made", [&] {
    require_ranks_of(comm, machine, "a sum over blocks");
    wait_limit_ns(wait_limit, "a sum over blocks");
    require(blocks.size() == devices.size(), ErrorCode::mismatch,
            "a sum over blocks was given those of " + std::to_string(blocks.size()) + " devices for the " +
                std::to_string(devices.size()) + " of this rank",
            {{"given", blocks.size()}, {"needed", devices.size()}});
    for (std::size_t d = 0; d < blocks.size(); ++d) {
      const auto out_of_order = std::adjacent_find(blocks[d].begin(), blocks[d].end(), std::greater_equal<>());
      require(out_of_order == blocks[d].end() && (blocks[d].empty() || blocks[d].front() >= 0),
              "the blocks of a sum must be numbered from 0, ascending on each device",
              {{"option", "blocks"}, {"device", devices[d]}});
      for (const Run& run : runs_of(blocks[d], devices[d])) append_record(mine, run);
    }
  });
  return records_of<Run>(comm.all_gather(mine));
}

}  // namespace

struct BlockSums::Impl {
  Impl(const Communicator& comm, const Machine& machine, const std::vector<std::vector<std::int64_t>>& blocks, int sums,
       const AllReduceOptions& options) {
    const Tree tree(runs_of_all(comm, machine, blocks, options.wait_limit));
    require(sums >= 1, ErrorCode::invalid_argument,
            "a sum over blocks of " + std::to_string(sums) + " sums: at least one",
            {{"option", "sums"}, {"given", sums}});
    branches = static_cast<int>(tree.branches.size());
    require(branches * sums <= AllReduce::most_values, ErrorCode::unsupported,
            std::to_string(sums) + " sums over blocks have " + std::to_string(branches) +
                " branches each that lie on one device, and an all-reduce takes " +
                std::to_string(AllReduce::most_values) + " values: give devices consecutive blocks",
            {{"needed", branches * sums}, {"limit", AllReduce::most_values}});
    const std::vector<int> devices = machine.devices_of_rank(comm.rank());
    on_all_ranks(comm, "a sum over blocks could not be made", [&] {
      for (std::size_t d = 0; d < devices.size(); ++d) {
        const Device device = machine.device(devices[d]).local;
        Levels levels;
        std::vector<std::int32_t> sources(static_cast<std::size_t>(branches), -1);
        for (std::size_t b = 0; b < sources.size(); ++b) {
          const Run& branch = tree.branches[b];
          if (branch.device == devices[d])
            sources[b] = within(blocks[d], branch.first, branch.behind, levels).value_or(-1);
        }
        TreeOnDevice lower(device, static_cast<int>(blocks[d].size()), levels, sources, sums);
        TreeOnDevice upper(device, branches, tree.additions, {tree.root.value_or(-1)}, sums);
        on_devices.emplace_back(device, std::move(lower), std::move(upper), machine.devices());
        in_order.add(device);
      }
    });
    if (machine.devices() > 1 && branches > 0)
      reduce.emplace(comm, machine, branches * sums, DType::f64, Op::add, options);
  }

  void run(std::vector<Stream>& streams, const std::vector<const double*>& parts, const std::vector<double*>& results) {
    const std::size_t devices = on_devices.size();
    if (!(streams.size() == devices && parts.size() == devices && results.size() == devices))
      throw Error(ErrorCode::mismatch,
                  "a sum over blocks was given " + std::to_string(streams.size()) + " streams, " +
                      std::to_string(parts.size()) + " parts and " + std::to_string(results.size()) +
                      " results for the " + std::to_string(devices) + " devices of this rank",
                  {{"needed", devices}});
    in_order.begin(streams);
    if (reduce) reduce->run_sums(streams, on_devices, parts, results);
    // Without an all-reduce, one device has all blocks and adds up their values alone, or there are no blocks: sum 0.
    for (std::size_t d = 0; d < devices && !reduce; ++d) {
      const SumOnDevice& sum = on_devices[d];
      const TreeOnDevice& tree = branches == 1 ? sum.lower : sum.upper;
      tree.run(streams[d], branches == 1 ? parts[d] : sum.gathered.data(), results[d]);
    }
    in_order.end(streams);
  }

  /// The all-reduce is destroyed first, because it waits for operations in flight. Then the destructor waits for work
  /// on the devices.
  ~Impl() {
    in_order.close();
    reduce.reset();
    in_order.wait();
  }

  int branches = 0;
  std::vector<SumOnDevice> on_devices;
  std::optional<AllReduce> reduce;
  CallsInOrder in_order{"a sum over blocks"};  // serialises calls of run(), which share device memory
};

BlockSums::BlockSums(const Communicator& comm, const Machine& machine,
                     const std::vector<std::vector<std::int64_t>>& blocks, int sums, AllReduceOptions options)
    : impl_(std::make_unique<Impl>(comm, machine, blocks, sums, options)) {}
BlockSums::~BlockSums() = default;
BlockSums::BlockSums(BlockSums&&) noexcept = default;
void BlockSums::run(std::vector<Stream>& streams, const std::vector<const double*>& parts,
                    const std::vector<double*>& results) {
  impl_->run(streams, parts, results);
}
void BlockSums::check() const {
  if (impl_->reduce) impl_->reduce->check();
}
bool BlockSums::capturable() const { return !impl_->reduce || !impl_->reduce->needs_host(); }
bool BlockSums::loopable() const { return !impl_->reduce || impl_->reduce->method() == ReduceMethod::peer; }
int BlockSums::branches() const { return impl_->branches; }

}  // namespace slipstream
