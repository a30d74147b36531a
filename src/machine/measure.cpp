// measure_rates: copies between pairs of devices, timed by the host of the one that sends.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>

#include <slipstream/buffer.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int tag = 1;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Pair {
  int from, to;
};

/// What a rank holds for each of its devices.
struct Bench {
  Bench(Device device, std::size_t bytes)
      : from(device, bytes, Memory::shared),
        to(device, bytes, Memory::shared),
        pinned(device, bytes, Memory::pinned),
        stream(device) {
    fill(stream, from.data(), 1, bytes);
    fill(stream, to.data(), 0, bytes);
    stream.synchronize();
  }
  Buffer<std::byte> from, to, pinned;
  Stream stream;
};

class Measurement {
 public:
  Measurement(const Communicator& comm, const Machine& machine, const MeasureOptions& options)
      : comm_(comm), machine_(machine), options_(options), devices_(machine.devices()) {
    require(machine.discovered(), "rates cannot be measured on machine '" + machine.name() +
                                      "', which a file describes: discover the machine that is there");
    require(options.bytes > 0 && options.bytes <= std::size_t{1} << 30 && options.trials > 0,
            "rates are measured with 1 byte to 1 GiB and at least one trial");
  }

  std::vector<double> run() {
    mine_.assign(devices_ * devices_, 0.0);
    together([&] { set_up(); });
    share_handles();
    const auto start = Clock::now();
    for (const std::vector<Pair>& step : steps()) {
      // Also the barrier that keeps the steps apart.
      if (!comm_.all(seconds_since(start) < options_.seconds)) break;
      for (const Pair& pair : step) measure(pair);
    }
    // Nobody frees what a neighbour may still have mapped.
    imported_.clear();
    together([&] { require(failure_.empty(), failure_); });
    return gathered();
  }

 private:
  int rank_of(int device) const { return machine_.device(device).rank; }
  bool is_mine(int device) const { return rank_of(device) == comm_.rank(); }
  bool reaches(const Pair& pair) const { return pair.from == pair.to || machine_.link(pair.from, pair.to).peer; }

  /// Runs a local step; where it fails on a rank, all throw what the first of them says.
  template <class F>
  void together(F step) const {
    std::string message;
    try {
      step();
    } catch (const std::exception& error) {
      message = error.what();
    }
    for (const std::string& text : comm_.all_gather(message)) require(text.empty(), text);
  }

  void set_up() {
    for (int d = 0; d < machine_.devices(); ++d)
      if (is_mine(d)) benches_.emplace(d, Bench(machine_.device(d).local, options_.bytes));
  }

  /// Every device's target, by device, for the processes of its node.
  void share_handles() {
    std::string text;
    together([&] {
      for (auto& [device, bench] : benches_) {
        const MemoryHandle handle = export_memory(bench.to.device(), bench.to.data());
        text.append(reinterpret_cast<const char*>(&handle), sizeof handle);
      }
    });
    handles_.resize(devices_);
    const auto texts = comm_.all_gather(text);
    for (int rank = 0; rank < comm_.size(); ++rank) {
      std::size_t at = 0;
      for (const int device : machine_.devices_of_rank(rank)) {
        std::memcpy(&handles_[device], texts[rank].data() + at, sizeof(MemoryHandle));
        at += sizeof(MemoryHandle);
      }
    }
  }

  /// Pairs that may be measured at once: one a node, then one in all between nodes.
  std::vector<std::vector<Pair>> steps() const {
    std::vector<std::vector<Pair>> result;
    std::vector<int> leaders;
    for (int node = 0; node < machine_.nodes(); ++node) {
      const auto devices = machine_.devices_of_node(node);
      leaders.push_back(devices.front());
      std::size_t step = 0;
      for (const int from : devices)
        for (const int to : devices) {
          if (step == result.size()) result.emplace_back();
          result[step++].push_back({from, to});
        }
    }
    for (const int from : leaders)
      for (const int to : leaders)
        if (from < to) result.push_back({{from, to}});
    return result;
  }

  void measure(const Pair& pair) {
    double best = 0;
    if (reaches(pair)) {
      if (is_mine(pair.from)) best = by_peer(pair);
    } else {
      best = staged(pair);
    }
    if (is_mine(pair.from)) mine_[pair.from * devices_ + pair.to] = best;
  }

  /// A device that fails is told at the end: its neighbours must not wait for it in vain.
  template <class F>
  void guarded(F work) {
    if (!failure_.empty()) return;
    try {
      work();
    } catch (const std::exception& error) {
      failure_ = *error.what() ? error.what() : "a copy between devices failed";
    }
  }

  std::byte* target(const Pair& pair) {
    if (is_mine(pair.to)) {
      if (pair.from != pair.to) peer_access(machine_.device(pair.from).local, machine_.device(pair.to).local);
      return benches_.at(pair.to).to.data();
    }
    imported_.push_back(import_memory(machine_.device(pair.from).local, handles_[pair.to]));
    return static_cast<std::byte*>(imported_.back().get());
  }

  double by_peer(const Pair& pair) {
    double best = 0;
    guarded([&] {
      Bench& bench = benches_.at(pair.from);
      std::byte* const to = target(pair);
      for (int trial = 0; trial <= options_.trials; ++trial) {  // the first warms up
        Event begin(bench.stream.device(), true), end(bench.stream.device(), true);
        bench.stream.record(begin);
        copy(bench.stream, to, bench.from.data(), options_.bytes);
        bench.stream.record(end);
        bench.stream.synchronize();
        if (trial > 0) best = std::max(best, rate(milliseconds(begin, end) / 1e3));
      }
      // One mapping at a time: neighbours may be many.
      imported_.clear();
    });
    return best;
  }

  /// Device to pinned memory, through MPI where the ranks differ, to the other device; the receiver answers when it is
  /// there.
  double staged(const Pair& pair) {
    const bool sends = is_mine(pair.from), receives = is_mine(pair.to);
    if (!sends && !receives) return 0;
    const int bytes = static_cast<int>(options_.bytes);
    double best = 0;
    for (int trial = 0; trial <= options_.trials; ++trial) {
      const auto start = Clock::now();
      if (sends) guarded([&] { download(benches_.at(pair.from)); });
      if (sends && receives) {
        guarded([&] { upload(benches_.at(pair.to), benches_.at(pair.from).pinned.data()); });
      } else if (sends) {
        send(benches_.at(pair.from).pinned.data(), bytes, rank_of(pair.to));
        receive(nullptr, 0, rank_of(pair.to));
      } else {
        Bench& bench = benches_.at(pair.to);
        receive(bench.pinned.data(), bytes, rank_of(pair.from));
        guarded([&] { upload(bench, bench.pinned.data()); });
        send(nullptr, 0, rank_of(pair.from));
      }
      if (trial > 0) best = std::max(best, rate(seconds_since(start)));
    }
    return best;
  }

  void send(const std::byte* data, int bytes, int to) const {
    check_mpi(MPI_Send(data, bytes, MPI_BYTE, to, tag, comm_.mpi()), "send while rates are measured");
  }
  void receive(std::byte* data, int bytes, int from) const {
    check_mpi(MPI_Recv(data, bytes, MPI_BYTE, from, tag, comm_.mpi(), MPI_STATUS_IGNORE),
              "receive while rates are measured");
  }
  void download(Bench& bench) const {
    copy(bench.stream, bench.pinned.data(), bench.from.data(), options_.bytes);
    bench.stream.synchronize();
  }
  void upload(Bench& bench, const std::byte* from) const {
    copy(bench.stream, bench.to.data(), from, options_.bytes);
    bench.stream.synchronize();
  }

  double rate(double seconds) const { return static_cast<double>(options_.bytes) / std::max(seconds, 1e-9) / 1e9; }

  /// Everyone's rates; what was not measured is filled in.
  std::vector<double> gathered() const {
    std::ostringstream mine;
    mine.precision(std::numeric_limits<double>::max_digits10);
    for (std::size_t i = 0; i < mine_.size(); ++i)
      if (mine_[i] > 0) mine << i << ' ' << mine_[i] << '\n';
    std::vector<double> rates(mine_.size(), 0.0);
    for (const std::string& text : comm_.all_gather(mine.str())) {
      std::istringstream lines(text);
      std::size_t at = 0;
      for (double value = 0; lines >> at >> value;) rates[at] = value;
    }
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
  std::map<int, Bench> benches_;  ///< by device of the machine
  std::vector<MemoryHandle> handles_;
  std::vector<std::shared_ptr<void>> imported_;
  std::vector<double> mine_;
  std::string failure_;
};

}  // namespace

std::vector<double> measure_rates(const Communicator& comm, const Machine& machine, const MeasureOptions& options) {
  return Measurement(comm, machine, options).run();
}

}  // namespace slipstream
