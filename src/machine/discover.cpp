// Machine::discover: each rank inspects its host and devices and sends the result to all.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include <slipstream/error.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>

#include "device/host_memory.hpp"
#include "machine/affinity.hpp"
#include "machine/agree.hpp"
#include "machine/links.hpp"
#include "machine/network.hpp"
#include "machine/records.hpp"
#include "machine/share.hpp"

namespace slipstream {
namespace {

using detail::Affinity;
using detail::PhysicalDevice;

/// Rate that is assumed for a network card of unknown rate: 10 Gbit/s.
constexpr double unknown_network_gb_per_s = 1.25;

/// Number of the PID namespace. Processes of one namespace map each other's memory by process number.
std::int64_t pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::int64_t>(status.st_ino) : 0;
}

template <class T>
std::string joined(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) append_parts(text, value);
  return text;
}

std::vector<int> numbers(const std::string& text) { return records_of<int>({text}); }

/// Findings of one rank about its host and devices.
struct Record {
  Binding binding;
  double network_gb_per_s = 0;
  std::vector<PhysicalDevice> physical;
  std::vector<MachineDevice> devices;
};

std::string letter_of(const Record& record) {
  const Binding& b = record.binding;
  std::string letter;
  append_parts(letter, b.host, b.cores, b.numa_node, b.network_card, b.bound, record.network_gb_per_s);
  for (std::size_t i = 0; i < record.devices.size(); ++i) {
    const MachineDevice& d = record.devices[i];
    append_parts(letter, d.local, d.name, d.uuid, record.physical[i].bus_id, d.memory, d.memory_gb_per_s,
                 d.takes_turns);
  }
  return letter;
}

Record record_from(const std::string& letter, int rank) {
  Record record;
  PartsReader parts(letter);
  Binding& b = record.binding;
  b.rank = rank;
  parts.read(b.host, b.cores, b.numa_node, b.network_card, b.bound, record.network_gb_per_s);
  while (!parts.over()) {
    MachineDevice d;
    std::string bus_id;
    parts.read(d.local, d.name, d.uuid, bus_id, d.memory, d.memory_gb_per_s, d.takes_turns);
    d.rank = rank;
    record.physical.push_back({d.local, d.uuid, bus_id});
    record.devices.push_back(d);
  }
  return record;
}

class Discovery {
 public:
  Discovery(const Communicator& comm, const Machine::Options& options) : comm_(comm), options_(options) {}

  void run() {
    check_options();
    find_hosts();
    on_all_ranks(comm_, [&] { affinity_ = std::make_unique<Affinity>(options_.bind && owns_the_job()); });
    take_devices();
    bind();
    on_all_ranks(comm_, [&] { describe(); });
    exchange_records();
    join_devices();
  }

  std::string name() const {
    std::set<int> hosts(host_of_.begin(), host_of_.end());
    const std::string first = records_.front().binding.host;
    return hosts.size() == 1 ? first : first + " and " + std::to_string(hosts.size() - 1) + " more";
  }

  std::vector<MachineDevice> devices;
  Links links;
  std::vector<Binding> bindings;

 private:
  void check_options() const {
    const Machine::Options& o = options_;
    require(o.devices_per_rank >= 0, "devices_per_rank is negative: give a count, or 0 to distribute devices evenly",
            {{"option", "devices_per_rank"}, {"given", o.devices_per_rank}});
    require(o.ranks_per_node >= 0, "ranks_per_node is negative: give a count, or 0 to take nodes as found",
            {{"option", "ranks_per_node"}, {"given", o.ranks_per_node}});
    const auto all = comm_.all_gather(
        joined(std::vector<int>{static_cast<int>(o.backend), o.devices_per_rank, o.ranks_per_node, o.cyclic, o.bind}));
    for (int rank = 1; rank < comm_.size(); ++rank)
      require(all[rank] == all[0], ErrorCode::mismatch,
              "ranks 0 and " + std::to_string(rank) + " ask for different machines: give all ranks the same options",
              {{"rank", rank}});
  }

  /// Groups ranks into hosts by shared memory, and hosts into nodes of ranks_per_node ranks. Ranks of one host in
  /// different PID namespaces (containers) form separate nodes, because they cannot map each other's memory.
  void find_hosts() {
    MPI_Comm host = MPI_COMM_NULL;
    int leader = comm_.rank();
    const bool found =
        MPI_Comm_split_type(comm_.mpi(), MPI_COMM_TYPE_SHARED, comm_.rank(), MPI_INFO_NULL, &host) == MPI_SUCCESS &&
        MPI_Bcast(&leader, 1, MPI_INT, 0, host) == MPI_SUCCESS && MPI_Comm_free(&host) == MPI_SUCCESS;
    require(found, ErrorCode::unavailable, "MPI could not tell which ranks share a host (MPI_Comm_split_type)");
    const auto leaders = comm_.all_gather(static_cast<std::int64_t>(leader));
    host_of_.assign(leaders.begin(), leaders.end());
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (host_of_[rank] == leader) host_ranks_.push_back(rank);
    const std::vector<std::int64_t> spaces = comm_.all_gather(pid_namespace());
    std::map<std::pair<int, std::int64_t>, std::vector<int>> together;
    for (int rank = 0; rank < comm_.size(); ++rank) together[{host_of_[rank], spaces[rank]}].push_back(rank);
    on_all_ranks(comm_, [&] {
      const std::size_t most = together.at({leader, spaces[comm_.rank()]}).size();
      require(
          options_.ranks_per_node <= static_cast<int>(most),
          "ranks_per_node is " + std::to_string(options_.ranks_per_node) + ", but host " + host_name() + " runs " +
              std::to_string(most) + " of the ranks: ask for at most that many",
          {{"option", "ranks_per_node"}, {"given", options_.ranks_per_node}, {"limit", most}, {"host", host_name()}});
    });

    node_of_.resize(comm_.size());
    int nodes = 0;
    for (const auto& [space, ranks] : together) {
      const auto split = detail::split_host(static_cast<int>(ranks.size()), options_.ranks_per_node, options_.cyclic);
      for (std::size_t i = 0; i < ranks.size(); ++i) node_of_[ranks[i]] = nodes + split[i];
      nodes += *std::max_element(split.begin(), split.end()) + 1;
    }
  }

  static int place_in(const std::vector<int>& ranks, int rank) {
    return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }

  /// Whether these are all ranks of the job. A subset does not know the cores of the others, so it binds none.
  bool owns_the_job() const {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size == comm_.size();
  }

  void take_devices() {
    if (options_.backend == Backend::host) {
      set_host_devices(std::max(1, options_.devices_per_rank));
      mine_.physical = detail::links_of(Backend::host).devices();
      for (PhysicalDevice& device : mine_.physical)
        device.uuid = host_name() + "-" + std::to_string(comm_.rank()) + "-" + std::to_string(device.local.index);
      return;
    }
    std::vector<PhysicalDevice> seen;
    on_all_ranks(comm_, [&] {
      seen = detail::links_of(options_.backend).devices();
      check_seen(static_cast<int>(seen.size()));
    });
    for (const int index : my_share(seen)) mine_.physical.push_back(seen[index]);
  }

  void check_seen(int seen) const {
    const std::string backend = to_string(options_.backend), host = host_name();
    require(seen > 0, ErrorCode::unavailable,
            "host " + host + " shows no " + backend + " device to this process: check the driver and " +
                "which devices are made visible, or choose the host backend",
            {{"backend", backend}, {"host", host}});
    require(options_.devices_per_rank <= seen,
            "devices_per_rank is " + std::to_string(options_.devices_per_rank) + ", but host " + host + " shows " +
                std::to_string(seen) + " " + backend + " device" + (seen == 1 ? "" : "s") +
                ": ask for at most that many",
            {{"option", "devices_per_rank"}, {"given", options_.devices_per_rank}, {"limit", seen}, {"host", host}});
  }

  /// Devices of this rank, among those that several ranks see. A launcher may have given each rank its own.
  std::vector<int> my_share(const std::vector<PhysicalDevice>& seen) const {
    std::vector<std::string> uuids;
    std::vector<int> distances;
    for (const PhysicalDevice& device : seen) {
      uuids.push_back(device.uuid);
      distances.push_back(affinity_->distance(device.bus_id));
    }
    const auto lists = comm_.all_gather(joined(uuids));
    const auto distance_lists = comm_.all_gather(joined(distances));
    std::vector<int> sharers;
    std::vector<std::vector<int>> distance;
    for (const int rank : host_ranks_) {
      if (lists[rank] != lists[comm_.rank()]) continue;
      sharers.push_back(rank);
      distance.push_back(numbers(distance_lists[rank]));
    }
    const int place = place_in(sharers, comm_.rank()), count = options_.devices_per_rank;
    if (count == 0) return detail::share_devices(distance)[place];
    return detail::devices_in_turn(place, count, static_cast<int>(seen.size()));
  }

  std::vector<std::string> my_bus_ids() const {
    std::vector<std::string> result;
    for (const PhysicalDevice& device : mine_.physical) result.push_back(device.bus_id);
    return result;
  }

  void bind() {
    const auto near = comm_.all_gather(joined(affinity_->cores_near(my_bus_ids())));
    const auto restricted = comm_.all_gather(static_cast<std::int64_t>(affinity_->restricted()));
    std::vector<std::vector<int>> near_ranks;
    bool free = options_.bind && owns_the_job();
    for (const int rank : host_ranks_) {
      near_ranks.push_back(numbers(near[rank]));
      free = free && !restricted[rank];
    }
    if (!free) return;
    const auto all = affinity_->cores();
    const auto cores = detail::share_cores(all, near_ranks, place_in(host_ranks_, comm_.rank()));
    if (cores.empty() || cores == all) return;
    mine_.binding.bound = affinity_->bind(cores);
    // Thread pools created before the binding have a thread for each core of the host.
    if (mine_.binding.bound && host_threads() > affinity_->allowed_count()) set_host_threads(0);
  }

  void describe() {
    const int index = place_in(host_ranks_, comm_.rank());
    Binding& b = mine_.binding;
    b.host = host_name();
    b.cores = affinity_->allowed();
    b.numa_node = affinity_->numa_node(my_bus_ids());
    const detail::NetworkCards network;
    b.network_card = network.of_gpus(my_bus_ids());
    if (b.network_card.empty()) b.network_card = network.of_numa_node(b.numa_node, index);
    mine_.network_gb_per_s = network.gb_per_s(b.network_card);
    const detail::LinkProbe& probe = detail::links_of(options_.backend);
    for (const PhysicalDevice& physical : mine_.physical) {
      // Creating an event opens the device. An error here reaches all ranks, such as a device that is full or in
      // exclusive use.
      const Event opened(physical.local);
      const DeviceInfo found = info(physical.local);
      const std::size_t sharers = host_ranks_.size() * mine_.physical.size();
      const std::size_t memory = options_.backend == Backend::host ? found.memory_free / sharers : found.memory_total;
      mine_.devices.push_back({0, comm_.rank(), physical.local, found.name, physical.uuid,
                               static_cast<std::int64_t>(memory), probe.memory_gb_per_s(physical.local),
                               probe.takes_turns(physical.local)});
    }
  }

  void exchange_records() {
    const auto texts = comm_.all_gather(letter_of(mine_));
    for (int rank = 0; rank < comm_.size(); ++rank) {
      records_.push_back(record_from(texts[rank], rank));
      bindings.push_back(records_.back().binding);
    }
    std::vector<int> order(comm_.size());
    for (int rank = 0; rank < comm_.size(); ++rank) order[rank] = rank;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return node_of_[a] < node_of_[b]; });
    for (const int rank : order) {
      for (std::size_t i = 0; i < records_[rank].devices.size(); ++i) {
        devices.push_back(records_[rank].devices[i]);
        devices.back().node = node_of_[rank];
        physical_.push_back(records_[rank].physical[i]);
      }
    }
    share_memory();
  }

  /// Divides the memory of a physical device among the ranks that use it.
  void share_memory() {
    std::map<std::string, std::int64_t> users;
    for (const MachineDevice& device : devices) ++users[device.uuid];
    for (MachineDevice& device : devices) device.memory /= users.at(device.uuid);
  }

  /// The link between two devices of a node.
  struct Joined {
    std::int32_t from, to;
    Link link;
  };

  /// Sends the links from this rank's devices to later ones of the node to all ranks. Links are symmetric.
  void join_devices() {
    const int n = static_cast<int>(devices.size());
    std::string mine;
    on_all_ranks(comm_, [&] {
      const detail::LinkProbe& probe = detail::links_of(options_.backend);
      for (int from = 0; from < n; ++from)
        for (int to = from; devices[from].rank == comm_.rank() && to < n && devices[to].node == devices[from].node;
             ++to)
          append_record(mine, Joined{from, to, probe.link(physical_[from], physical_[to])});
    });
    std::map<std::pair<int, int>, Link> within;
    for (const Joined& joined : records_of<Joined>(comm_.all_gather(mine)))
      within[{joined.from, joined.to}] = within[{joined.to, joined.from}] = joined.link;
    for (int first = 0, last = 0; first < n; first = last) {
      while (last < n && devices[last].node == devices[first].node) ++last;
      LinkTable table{last - first, {}};
      for (int from = first; from < last; ++from)
        for (int to = first; to < last; ++to) table.links.push_back(within.at({from, to}));
      links.kind.push_back(detail::place_among(links.within, table));
    }
    join_nodes();
  }

  /// Links the nodes. Devices with equally fast network cards form a group; the slower of two cards sets the rate.
  void join_nodes() {
    std::vector<double> rates;
    for (const MachineDevice& device : devices) {
      const double rate = records_[device.rank].network_gb_per_s;
      links.group.push_back(detail::place_among(rates, rate));
    }
    links.between.size = static_cast<int>(rates.size());
    for (const double a : rates)
      for (const double b : rates) {
        const double slower = std::min(a, b);
        links.between.links.push_back({LinkKind::network, slower > 0 ? slower : unknown_network_gb_per_s, false});
      }
  }

  const Communicator& comm_;
  const Machine::Options& options_;
  std::unique_ptr<Affinity> affinity_;
  std::vector<int> host_of_;     ///< first rank of the host, for each rank
  std::vector<int> host_ranks_;  ///< ranks on the host of this rank
  std::vector<int> node_of_;     ///< node number, for each rank of the job
  Record mine_;
  std::vector<Record> records_;
  std::vector<PhysicalDevice> physical_;  ///< the physical device behind each device of the machine
};

}  // namespace

Machine Machine::discover(const Communicator& comm, const Options& options) {
  Discovery discovery(comm, options);
  discovery.run();
  Machine machine(discovery.name(), std::move(discovery.devices), std::move(discovery.links));
  machine.found_->bindings = std::move(discovery.bindings);
  machine.discovered_ = true;
  return machine;
}

std::string Machine::network_cards(const Options& options, int place, int ranks) {
  require(place >= 0 && place < ranks, "a place among the ranks of a host counts from 0 to their number",
          {{"option", "place"}, {"given", place}, {"limit", ranks}});
  if (options.backend == Backend::host) return "";
  const auto seen = detail::links_of(options.backend).devices();
  const int devices = static_cast<int>(seen.size());
  if (devices == 0) return "";
  const Affinity affinity(false);
  std::vector<int> mine, distances;
  for (const PhysicalDevice& device : seen) distances.push_back(affinity.distance(device.bus_id));
  if (options.devices_per_rank > 0) {
    mine = detail::devices_in_turn(place, options.devices_per_rank, devices);
  } else if (!affinity.restricted()) {
    mine = detail::share_devices({static_cast<std::size_t>(ranks), distances})[place];
  } else {
    const int nearest = *std::min_element(distances.begin(), distances.end());
    for (int d = 0; d < devices; ++d)
      if (distances[d] == nearest) mine.push_back(d);
  }
  std::vector<std::string> bus_ids;
  for (const int d : mine) bus_ids.push_back(seen[d].bus_id);
  return detail::NetworkCards().of_gpus(bus_ids);
}

}  // namespace slipstream
