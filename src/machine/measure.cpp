// measure_rates: times copies between two devices in both directions at once, as in an exchange. Sizes grow until the
// rate settles.
#include "machine/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include <slipstream/buffer.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>

#include "machine/agree.hpp"
#include "machine/records.hpp"

namespace slipstream {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int tag = 1;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Time limit per pair, in seconds. Slow links settle, or nearly, much faster than the large copies of fast links.
constexpr double pair_seconds = 0.05;
/// Size limit in bytes of copies through the host, because pinned memory is expensive.
constexpr std::size_t most_staged = std::size_t{64} << 20;

/// A pair of devices, with a <= b; equal for copies within a device.
struct Pair {
  int a, b;
};

struct Way {
  int from, to;
};

/// Buffers and stream with which a rank measures one of its devices.
struct Bench {
  Bench(Device device, std::size_t bytes)
      : from(device, bytes, Memory::shared), to(device, bytes, Memory::shared), stream(device) {
    fill(stream, from.data(), 1, bytes);
    fill(stream, to.data(), 0, bytes);
    stream.synchronize();
  }
  /// Allocates pinned send and receive buffers; needed only for copies through the host.
  void pin(std::size_t bytes) {
    if (in.size() >= bytes) return;
    out = Buffer<std::byte>(from.device(), bytes, Memory::pinned);
    in = Buffer<std::byte>(from.device(), bytes, Memory::pinned);
  }
  Buffer<std::byte> from, to, out, in;
  Stream stream;
};

class Measurement {
 public:
  Measurement(const Communicator& comm, const Machine& machine, const MeasureOptions& options)
      : comm_(comm), machine_(machine), options_(options), devices_(machine.devices()) {
    require(machine.discovered(), ErrorCode::unsupported,
            "rates cannot be measured on machine '" + machine.name() +
                "', which a file describes: discover the machine that is there");
    require(options.bytes > 0 && options.bytes <= std::size_t{1} << 30 && options.trials > 0,
            "rates are measured with 1 byte to 1 GiB and at least one trial");
    require(options.most_bytes <= std::size_t{1} << 30, "copies that measure rates grow to 1 GiB at most");
  }

  std::vector<double> run() {
    mine_.assign(devices_ * devices_, 0.0);
    on_all_ranks(comm_, [&] { most_ = affordable(); });
    most_ = static_cast<std::size_t>(-comm_.max(-static_cast<double>(most_)));
    on_all_ranks(comm_, [&] { set_up(); });
    share_handles();
    const auto start = Clock::now();
    for (const std::vector<Pair>& step : steps()) {
      // This collective call is also the barrier between groups of pairs that are measured concurrently.
      if (!comm_.all(seconds_since(start) < options_.seconds)) break;
      for (const Pair& pair : step) measure(pair);
    }
    // Imported memory is unmapped on all ranks before its owner may free it.
    imported_.clear();
    agree(comm_, failure_);
    return gathered();
  }

 private:
  int rank_of(int device) const { return machine_.device(device).rank; }
  bool is_mine(int device) const { return rank_of(device) == comm_.rank(); }
  bool reaches(const Pair& pair) const {
    return pair.a == pair.b || (machine_.link(pair.a, pair.b).peer && machine_.link(pair.b, pair.a).peer);
  }

  /// Size limit of copies in bytes: a small fraction of free memory. Emulated copies have no start-up cost, so they
  /// need not grow.
  std::size_t affordable() const {
    std::size_t most = options_.most_bytes;
    for (const int d : machine_.devices_of_rank(comm_.rank())) {
      const Device device = machine_.device(d).local;
      if (options_.most_bytes == 0) most = device.backend == Backend::host ? options_.bytes : std::size_t{256} << 20;
      most = std::min(most, info(device).memory_free / 16);
    }
    return std::max(most, options_.bytes);
  }

  void set_up() {
    for (const int d : machine_.devices_of_rank(comm_.rank()))
      benches_.emplace(d, Bench(machine_.device(d).local, most_));
  }

  /// Shares the target buffers of all devices with the processes of the node.
  void share_handles() {
    std::vector<MemoryHandle> mine;
    on_all_ranks(comm_, [&] {
      for (auto& [device, bench] : benches_) mine.push_back(export_memory(bench.to.device(), bench.to.data()));
    });
    handles_ = by_device(comm_, machine_, mine);
  }

  /// Groups pairs of devices whose links can be measured at the same time: one pair per node, or one between nodes.
  std::vector<std::vector<Pair>> steps() const {
    std::vector<std::vector<Pair>> result;
    std::vector<int> leaders;
    for (int node = 0; node < machine_.nodes(); ++node) {
      const auto devices = machine_.devices_of_node(node);
      leaders.push_back(devices.front());
      std::size_t step = 0;
      for (std::size_t a = 0; a < devices.size(); ++a)
        for (std::size_t b = a; b < devices.size(); ++b) {
          if (step == result.size()) result.emplace_back();
          result[step++].push_back({devices[a], devices[b]});
        }
    }
    for (const int a : leaders)
      for (const int b : leaders)
        if (a < b) result.push_back({{a, b}});
    return result;
  }

  void measure(const Pair& pair) {
    const std::vector<Way> ways = my_ways(pair);
    if (ways.empty()) return;
    const bool peers = reaches(pair);
    const std::size_t most = peers ? most_ : std::max(options_.bytes, std::min(most_, most_staged));
    // Maps or pins memory first: this slow set-up does not count in the pair's time.
    guarded([&] {
      for (const Way& way : ways) peers ? void(target(way)) : benches_.at(way.from).pin(most);
    });
    const auto start = Clock::now();
    const BothWays found = settled_rates(options_.bytes, most, [&](std::size_t bytes) {
      BothWays rates = peers ? by_peer(pair, ways, bytes) : staged(pair, ways, bytes);
      rates.last = failure_ || seconds_since(start) > pair_seconds;
      return agreed(pair, rates);
    });
    for (const Way& way : ways) mine_[way.from * devices_ + way.to] = way.from == pair.a ? found.there : found.back;
    // Imported memory is unmapped after each pair: there may be many neighbours, so only one mapping exists at a time.
    imported_.clear();
  }

  /// The directions of copies between a pair of devices whose source device belongs to this rank.
  std::vector<Way> my_ways(const Pair& pair) const {
    std::vector<Way> ways;
    if (is_mine(pair.a)) ways.push_back({pair.a, pair.b});
    if (is_mine(pair.b) && pair.a != pair.b) ways.push_back({pair.b, pair.a});
    return ways;
  }

  /// Runs `work` and stores its error for later, because neighbours still wait for this rank.
  template <class F>
  void guarded(F work) {
    if (!failure_) failure_ = failure_of(work);
  }

  /// Combines the rates that both ranks of a pair measured. One rank that holds both devices returns its own rates.
  BothWays agreed(const Pair& pair, const BothWays& mine) const {
    BothWays theirs = mine;
    swap(pair, &mine, &theirs, sizeof mine);
    return {is_mine(pair.a) ? mine.there : theirs.there, is_mine(pair.b) ? mine.back : theirs.back,
            mine.last || theirs.last};
  }

  /// Swaps bytes with the other rank of a pair, which also synchronises both. Does nothing if one rank holds both
  /// devices.
  void swap(const Pair& pair, const void* mine, void* theirs, std::size_t bytes) const {
    const int other = rank_of(is_mine(pair.a) ? pair.b : pair.a), count = static_cast<int>(bytes);
    if (other == comm_.rank()) return;
    check_mpi(MPI_Sendrecv(mine, count, MPI_BYTE, other, tag, theirs, count, MPI_BYTE, other, tag, comm_.mpi(),
                           MPI_STATUS_IGNORE),
              "swap messages while rates are measured");
  }
  void meet(const Pair& pair) const { swap(pair, nullptr, nullptr, 0); }

  std::byte* target(const Way& way) {
    if (is_mine(way.to)) {
      if (way.from != way.to) peer_access(machine_.device(way.from).local, machine_.device(way.to).local);
      return benches_.at(way.to).to.data();
    }
    if (imported_.empty()) imported_.push_back(import_memory(machine_.device(way.from).local, handles_[way.to]));
    return static_cast<std::byte*>(imported_.front().get());
  }

  /// Times direct copies in each direction by device events. Both start together, as exactly as two hosts can.
  BothWays by_peer(const Pair& pair, const std::vector<Way>& ways, std::size_t bytes) {
    BothWays best;
    for (int trial = 0; trial <= options_.trials; ++trial) {  // the first trial copy warms up
      std::vector<Event> begun, done;
      std::vector<std::byte*> targets;
      guarded([&] {
        for (const Way& way : ways) {
          const Device device = machine_.device(way.from).local;
          begun.emplace_back(device, true);
          done.emplace_back(device, true);
          targets.push_back(target(way));
        }
      });
      meet(pair);
      guarded([&] {
        for (std::size_t w = 0; w < ways.size(); ++w) {
          Bench& bench = benches_.at(ways[w].from);
          bench.stream.record(begun[w]);
          copy(bench.stream, targets[w], bench.from.data(), bytes);
          bench.stream.record(done[w]);
        }
        wait(ways);
        for (std::size_t w = 0; w < ways.size(); ++w) {
          double& rate = ways[w].from == pair.a ? best.there : best.back;
          if (trial > 0) rate = std::max(rate, gb_per_s(bytes, milliseconds(begun[w], done[w]) / 1e3));
        }
      });
    }
    return best;
  }

  /// Times copies through the host: from the device to pinned memory, by MPI to the other rank, and to the other
  /// device. The one time covers both directions, until both have arrived.
  BothWays staged(const Pair& pair, const std::vector<Way>& ways, std::size_t bytes) {
    double best = 0;
    for (int trial = 0; trial <= options_.trials; ++trial) {
      meet(pair);
      const auto start = Clock::now();
      guarded([&] { download(ways, bytes); });
      if (ways.size() == 1) swap_pinned(pair, benches_.at(ways.front().from), bytes);
      guarded([&] { upload(ways, bytes); });
      meet(pair);
      if (trial > 0) best = std::max(best, gb_per_s(bytes, seconds_since(start)));
    }
    return {best, best};
  }

  void download(const std::vector<Way>& ways, std::size_t bytes) {
    for (const Way& way : ways) {
      Bench& bench = benches_.at(way.from);
      copy(bench.stream, bench.out.data(), bench.from.data(), bytes);
    }
    wait(ways);
  }

  /// Uploads the data that arrived. If this rank holds both devices, that is what the other device has downloaded.
  void upload(const std::vector<Way>& ways, std::size_t bytes) {
    for (const Way& way : ways) {
      Bench& bench = benches_.at(way.from);
      copy(bench.stream, bench.to.data(), is_mine(way.to) ? benches_.at(way.to).out.data() : bench.in.data(), bytes);
    }
    wait(ways);
  }

  void wait(const std::vector<Way>& ways) {
    for (const Way& way : ways) benches_.at(way.from).stream.synchronize();
  }

  /// Swaps pinned buffers with the pair's other rank. If none are pinned it swaps pageable ones: that rank still waits.
  void swap_pinned(const Pair& pair, Bench& bench, std::size_t bytes) {
    if (bench.in.size() >= bytes) return swap(pair, bench.out.data(), bench.in.data(), bytes);
    std::vector<std::byte> out(bytes), in(bytes);
    swap(pair, out.data(), in.data(), bytes);
  }

  static double gb_per_s(std::size_t bytes, double seconds) {
    return static_cast<double>(bytes) / std::max(seconds, 1e-9) / 1e9;
  }

  /// Gathers the transfer rates that all ranks measured between devices, in GB/s, and estimates those of other pairs.
  std::vector<double> gathered() const {
    struct Rate {
      std::size_t pair;
      double gb_per_s;
    };
    std::string mine;
    for (std::size_t i = 0; i < mine_.size(); ++i)
      if (mine_[i] > 0) append_record(mine, Rate{i, mine_[i]});
    std::vector<double> rates(mine_.size(), 0.0);
    for (const Rate& rate : records_of<Rate>(comm_.all_gather(mine))) rates[rate.pair] = rate.gb_per_s;
    spread_over_nodes(rates);
    fill_in(rates);
    return rates;
  }

  void spread_over_nodes(std::vector<double>& rates) const {
    for (int a = 0; a < machine_.nodes(); ++a)
      for (int b = a + 1; b < machine_.nodes(); ++b) {
        const auto here = machine_.devices_of_node(a), there = machine_.devices_of_node(b);
        const double found = rates[here.front() * devices_ + there.front()];
        for (const int from : here)
          for (const int to : there) rates[from * devices_ + to] = rates[to * devices_ + from] = found;
      }
  }

  void fill_in(std::vector<double>& rates) const {
    std::map<LinkKind, std::pair<double, int>> sums;
    const auto link = [&](std::size_t i) {
      return machine_.link(static_cast<int>(i / devices_), static_cast<int>(i % devices_));
    };
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] <= 0) continue;
      sums[link(i).kind].first += rates[i];
      ++sums[link(i).kind].second;
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] > 0) continue;
      const auto found = sums.find(link(i).kind);
      rates[i] = found != sums.end() ? found->second.first / found->second.second : link(i).gb_per_s;
    }
  }

  const Communicator& comm_;
  const Machine& machine_;
  const MeasureOptions& options_;
  const std::size_t devices_;
  std::map<int, Bench> benches_;  ///< buffers and stream by number of the device in the machine
  std::vector<MemoryHandle> handles_;
  std::vector<std::shared_ptr<void>> imported_;
  std::vector<double> mine_;
  Problem failure_;
  std::size_t most_ = 0;  ///< bytes of the largest copy, the same on all ranks
};

}  // namespace

BothWays settled_rates(std::size_t first, std::size_t most, const std::function<BothWays(std::size_t bytes)>& measure) {
  const auto near = [](double before, double now) { return std::abs(now - before) <= 0.02 * before; };
  BothWays now = measure(first);
  for (std::size_t bytes = 2 * first; bytes <= most && !now.last; bytes *= 2) {
    const BothWays before = now;
    now = measure(bytes);
    if (near(before.there, now.there) && near(before.back, now.back)) break;
  }
  return now;
}

std::vector<double> measure_rates(const Communicator& comm, const Machine& machine, const MeasureOptions& options) {
  return Measurement(comm, machine, options).run();
}

}  // namespace slipstream
