#include "collective/block_sums_kernels.hpp"

#include <algorithm>
#include <cstring>

#include <slipstream/launch.hpp>

#include "collective/peer_words.hpp"
#include "device/residency.hpp"
#include "device/upload.hpp"

namespace slipstream {
inline namespace block_sums_kernels {

constexpr int threads_of_gpu = 512;

/// Loop that threads share: calls f(sum, n) for each of `sums` sums and each index n below `count`.
template <class F>
SLIP_FN void each_of(int sums, int count, int thread, int threads, const F& f) {
  const int lanes = threads > sums ? threads / sums : 1;
  for (int sum = thread / lanes; sum < sums; sum += threads / lanes)
    for (int n = thread % lanes; n < count; n += lanes) f(sum, n);
}

/// Copies an array to shared memory. Several loads are under way at once, because each costs its latency.
template <class T>
SLIP_FN void load(const T* from, int count, int thread, int threads, T* to) {
  constexpr int at_once = 8;
  for (int first = thread; first < count; first += at_once * threads) {
    T held[at_once];
    for (int b = 0; b < at_once; ++b) held[b] = first + b * threads < count ? from[first + b * threads] : T{};
    for (int b = 0; b < at_once; ++b)
      if (first + b * threads < count) to[first + b * threads] = held[b];
  }
}

/// Loads a summation tree. Half of the threads loads the values, the other half the plan: both are under way at once.
SLIP_FN void load_tree(const SumTree& tree, const double* values, int thread, int threads, double* here,
                       std::int32_t* plan) {
  const int half = threads / 2;
  if (thread < half) {
    load(values, tree.values * tree.sums, thread, half, here);
  } else {
    load(tree.plan, tree.plan_words(), thread - half, threads - half, plan);
  }
}

/// Adds the values of a summation tree level by level, with one barrier after each level.
template <class Team>
SLIP_FN void add_levels(const Team& team, const SumTree& tree, const std::int32_t* plan, double* at) {
  const std::int32_t* const additions = plan + tree.levels + 1;
  for (int level = 0; level < tree.levels; ++level)
    team.each([&](int thread) {
      const int first = plan[level], count = plan[level + 1] - first;
      each_of(tree.sums, count, thread, team.threads(), [&](int sum, int n) {
        const std::int32_t* const addition = additions + 2 * (first + n);
        double* const mine = at + sum * tree.values;
        mine[addition[0]] += mine[addition[1]];
      });
    });
}

/// Calls f(index, value) for each result of a summation tree. Adding + 0.0 turns -0 into 0.
template <class F>
SLIP_FN void each_result(const SumTree& tree, const std::int32_t* plan, const double* at, int thread, int threads,
                         const F& f) {
  const std::int32_t* const sources = plan + tree.levels + 1 + 2 * tree.additions;
  each_of(tree.sums, tree.results, thread, threads, [&](int sum, int n) {
    const std::int32_t source = sources[n];
    f(sum * tree.results + n, source < 0 ? 0 : at[sum * tree.values + source] + 0.0);
  });
}

/// Sums values over grid blocks by a tree, in shared memory if they fit: in device memory a level costs three reads.
struct AddUp {
  static constexpr int threads = threads_of_gpu;
  SumTree tree;
  const double* from;
  double *work, *to;
  bool fits;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const AddUp& self = *this;
    if (fits) {
      double* const here = team.template shared<double>();
      auto* const plan = reinterpret_cast<std::int32_t*>(here + tree.values * tree.sums);
      team.each([&](int thread) { load_tree(self.tree, self.from, thread, team.threads(), here, plan); });
      add_up(team, plan, here);
    } else {
      team.each(
          [&](int thread) { load(self.from, self.tree.values * self.tree.sums, thread, team.threads(), self.work); });
      add_up(team, tree.plan, work);
    }
  }

  template <class Team>
  SLIP_FN void add_up(const Team& team, const std::int32_t* plan, double* at) const {
    add_levels(team, tree, plan, at);
    const AddUp& self = *this;
    team.each([&](int thread) {
      each_result(self.tree, plan, at, thread, team.threads(), [&](int n, double value) { self.to[n] = value; });
    });
  }
};

SLIP_FN std::uint64_t bits_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
SLIP_FN double double_of(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Sums over blocks and devices in one launch. Values stay in shared memory; device memory and the link cost one trip.
struct SumKernel {
  static constexpr int threads = threads_of_gpu;
  PeerReduce reduce;
  SumTree lower, upper;
  const double* parts;
  double* results;

  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const ReduceState state = *reduce.state;
    const SumKernel& self = *this;
    const Fold& fold = reduce.fold;
    std::uint64_t* const failed = team.template shared<std::uint64_t>();
    auto* const remote = reinterpret_cast<WordPair**>(failed + 1);
    auto* const table = reinterpret_cast<double*>(remote + fold.devices);  // values of all devices as [device][value]
    double* const here = table + fold.pairs();
    auto* const upper_plan = reinterpret_cast<std::int32_t*>(here + lower.values * lower.sums);
    std::int32_t* const lower_plan = upper_plan + upper.plan_words();
    PeerReduce near = reduce;
    near.remote = remote;
    team.each([&](int thread) {
      if (thread == 0) *failed = 0;
      const int others = team.threads() / 3, of_tree = team.threads() - others;
      if (thread < of_tree) {
        load_tree(self.lower, self.parts, thread, of_tree, here, lower_plan);
      } else {
        load(self.reduce.remote, fold.devices, thread - of_tree, others, remote);
      }
    });
    if (state.broken) return;
    const std::uint64_t number = state.done + 1;
    add_levels(team, lower, lower_plan, here);
    team.each([&](int thread) {
      each_result(self.lower, lower_plan, here, thread, team.threads(), [&](int v, double value) {
        table[near.me * fold.values + v] = value;
        for (std::int32_t to = 0; to < fold.devices; ++to)
          if (to != near.me) send_words(near, to, v, number, bits_of(value));
      });
      load(self.upper.plan, self.upper.plan_words(), thread, team.threads(), upper_plan);
    });
    team.each([&](int thread) {
      for (std::int32_t n = thread; n < fold.pairs(); n += team.threads()) {
        const std::int32_t from = n / fold.values, v = n % fold.values;
        if (from != near.me) table[n] = double_of(receive_words(near, from, v, number, failed));
      }
    });
    team.each([&](int thread) {
      const auto add = [](double a, double b) { return a + b; };
      for (std::int32_t v = thread; v < fold.values; v += team.threads())
        fold_column(fold.devices, table + v, fold.values, add);
    });
    add_levels(team, upper, upper_plan, table);
    team.each([&](int thread) {
      if (!*failed)
        each_result(self.upper, upper_plan, table, thread, team.threads(),
                    [&](int n, double value) { self.results[n] = value; });
      if (thread == 0) end_reduction(near, number, *failed);
    });
  }
};

/// Bytes of shared memory that the kernel of launch_sum() needs to add up the partial sums of all devices.
std::size_t shared_of_sum(const SumOnDevice& sum, int devices) {
  const SumTree &lower = sum.lower.tree(), &upper = sum.upper.tree();
  return sizeof(std::uint64_t) * static_cast<std::size_t>(1 + devices) +
         static_cast<std::size_t>(lower.shared_bytes() + upper.shared_bytes()) +
         sizeof(double) * static_cast<std::size_t>(devices - 1) * static_cast<std::size_t>(upper.values * upper.sums);
}

int team_on(Device device) { return device.backend == Backend::host ? 3 : threads_of_gpu; }

}  // namespace block_sums_kernels

TreeOnDevice::TreeOnDevice(Device device, int values, const Levels& levels, const std::vector<std::int32_t>& sources,
                           int sums)
    : tree_{values, static_cast<std::int32_t>(sources.size()), sums, static_cast<std::int32_t>(levels.size())} {
  std::vector<std::int32_t> plan{0}, additions;
  for (const auto& level : levels) {
    for (const Addition& addition : level) additions.insert(additions.end(), {addition.left, addition.right});
    plan.push_back(static_cast<std::int32_t>(additions.size() / 2));
  }
  plan.insert(plan.end(), additions.begin(), additions.end());
  plan.insert(plan.end(), sources.begin(), sources.end());
  plan_ = upload(device, plan);
  tree_.additions = static_cast<std::int32_t>(additions.size() / 2);
  tree_.plan = plan_.data();
  if (tree_.shared_bytes() > static_cast<std::int64_t>(most_shared_bytes))
    work_ = Buffer<double>(device, static_cast<std::size_t>(values * sums));
}

void TreeOnDevice::run(Stream& stream, const double* from, double* to) const {
  const bool fits = work_.size() == 0;
  launch_teams(stream, 1, team_on(stream.device()), fits ? static_cast<std::size_t>(tree_.shared_bytes()) : 0,
               AddUp{tree_, from, work_.data(), to, fits});
}

SumOnDevice::SumOnDevice(Device device, TreeOnDevice low, TreeOnDevice high, int devices)
    : lower(std::move(low)),
      upper(std::move(high)),
      gathered(device, static_cast<std::size_t>(std::max(1, upper.tree().values * upper.tree().sums))) {
  const std::size_t shared = shared_of_sum(*this, devices);
  if (shared <= most_shared_bytes) resident = std::max(1, resident_teams<SumKernel>(device, team_on(device), shared));
}

void launch_sum(Stream& stream, const PeerReduce& reduce, const SumOnDevice& sum, const double* parts,
                double* results) {
  Residency::of(stream.device()).launch(stream, 1, sum.resident, [&](int) {
    launch_teams(stream, 1, team_on(stream.device()), shared_of_sum(sum, reduce.fold.devices),
                 SumKernel{reduce, sum.lower.tree(), sum.upper.tree(), parts, results});
  });
}

}  // namespace slipstream
