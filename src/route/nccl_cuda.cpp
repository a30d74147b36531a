// The functions of NCCL, loaded at run time, and its communicators.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include <slipstream/error.hpp>

#include "device/cuda/common.hpp"
#include "device/faults.hpp"
#include "device/library.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "machine/records.hpp"
#include "machine/timeout.hpp"
#include "route/nccl.hpp"

namespace slipstream {
namespace {

class Nccl {
  Library library_{library_files("SLIPSTREAM_NCCL_FILE", "libnccl.so.2", SLIPSTREAM_NCCL_LIBRARY)};

 public:
  static Nccl& get() {
    static Nccl library;
    return library;
  }
  const std::string& missing() const { return library_.missing(); }
  void check(ncclResult_t result, const std::string& what) const {
    if (result != ncclSuccess)
      throw Error(ErrorCode::unavailable,
                  "NCCL could not " + what + ": " + error_string(result) + "; NCCL_DEBUG=WARN tells more");
  }

  decltype(&ncclGetUniqueId) unique_id = library_["ncclGetUniqueId"];
  decltype(&ncclCommInitRank) init_rank = library_["ncclCommInitRank"];
  decltype(&ncclCommDestroy) destroy = library_["ncclCommDestroy"];
  decltype(&ncclCommAbort) abort = library_["ncclCommAbort"];
  decltype(&ncclSend) send = library_["ncclSend"];
  decltype(&ncclRecv) receive = library_["ncclRecv"];
  decltype(&ncclGroupStart) group_start = library_["ncclGroupStart"];
  decltype(&ncclGroupEnd) group_end = library_["ncclGroupEnd"];
  decltype(&ncclGetErrorString) error_string = library_["ncclGetErrorString"];
};

/// NCCL group. The destructor closes it after an error: an open group would swallow all later calls of this thread.
class Group final : public RouteGroup {
 public:
  Group() { Nccl::get().check(Nccl::get().group_start(), "start a group of calls"); }
  ~Group() override {
    if (!closed_) Nccl::get().group_end();
  }
  void close(const std::string& what) {
    closed_ = true;
    Nccl::get().check(Nccl::get().group_end(), what);
  }
  void close(Device here) override {
    const cuda::DeviceScope scope(here);
    close("start its sends and receives");
  }

 private:
  bool closed_ = false;
};

/// Devices of all ranks that send or receive by NCCL. Collective: each rank tells one byte for each of its devices.
std::vector<int> devices_of(const RouteSetup& setup) {
  const std::vector<int> mine = setup.machine.devices_of_rank(setup.comm.rank());
  std::vector<char> used;
  for (const int device : mine)
    used.push_back(std::any_of(setup.letters.begin(), setup.letters.end(), [&](const RouteSetup::Letter& letter) {
      return letter.source == device || letter.target == device;
    }));
  const std::vector<char> used_by_all = by_device(setup.comm, setup.machine, used);
  std::vector<int> devices;
  for (std::size_t device = 0; device < used_by_all.size(); ++device)
    if (used_by_all[device]) devices.push_back(static_cast<int>(device));
  return devices;
}

/// Clique: one NCCL communicator for each device of this rank that uses the route.
class Clique final : public NcclClique {
 public:
  Clique(const RouteSetup& setup, const std::vector<int>& devices, std::int64_t serial)
      : serial(serial), ranks(unshared(setup.comm)), own_(ranks, "a clique of NCCL") {
    const Nccl& nccl = Nccl::get();
    for (std::size_t place = 0; place < devices.size(); ++place) place_of_[devices[place]] = static_cast<int>(place);
    // All ranks wait for an id, from which NCCL makes communicators. The rank that makes it must answer if it fails.
    const int root = setup.machine.device(devices.front()).rank;
    std::string name;
    ncclResult_t result = ncclSuccess;
    if (setup.comm.rank() == root) {
      ncclUniqueId id{};
      result = nccl.missing().empty() ? nccl.unique_id(&id) : ncclSystemError;
      if (result == ncclSuccess) name.assign(id.internal, sizeof id.internal);
    }
    name = setup.comm.broadcast(name, root);
    ncclUniqueId id{};
    require(name.size() == sizeof id.internal, ErrorCode::unavailable,
            "NCCL could not be started on rank " + std::to_string(root) + ": NCCL_DEBUG=WARN tells more");
    name.copy(id.internal, name.size());
    auto joining = std::make_shared<Joining>();
    joining->id = id;
    joining->ranks = static_cast<int>(devices.size());
    joining->end = "join the devices of rank " + std::to_string(setup.comm.rank()) + " to those of the others";
    for (const int device : devices)
      if (setup.machine.device(device).rank == setup.comm.rank())
        joining->seats.push_back({device, place_of_.at(device), setup.machine.device(device).local, nullptr});
    bool joined = false;
    const Problem failure = failure_of([&] { joined = join_in_time(joining, setup.timeout); });
    if (joined)
      for (const Seat& seat : joining->seats) {
        members_[seat.device].local = seat.local;
        members_[seat.device].comm = seat.comm;
      }
    const Problem first = first_failure(setup.comm, failure);
    if (!first) return;
    abandon();
    throw Error(*first);
  }

  /// Destroys the communicators. NCCL blocks here until all ranks of the node have come and released graphs are gone.
  ~Clique() override {
    for (const auto& [comm, local] : taken()) end(comm, local, Nccl::get().destroy);
  }

  /// Aborts the communicators. NCCL aborts its kernels at once. Then it waits for live graphs and for ranks that may
  /// never come, so the call is made in a separate thread.
  bool abandon() override {
    std::packaged_task<void()> task([ended = taken()] {
      for (const auto& [comm, local] : ended) end(comm, local, Nccl::get().abort);
    });
    const std::future<void> over = task.get_future();
    try {
      std::thread(std::move(task)).detach();
    } catch (const std::system_error&) {
      return false;
    }
    over.wait_for(std::chrono::seconds(1));
    return true;
  }

  /// Whether a live graph of this rank holds work of this clique (set of NCCL communicators).
  bool in_graphs() const { return graphs_.use_count() > 1; }

  /// How the NCCL communicators of this object end, on all ranks alike. They are kept while recorded graphs use them.
  /// They are abandoned if one rank has done so, or does not answer in time. Collective. A graph that was just released
  /// may count as in use for a moment.
  enum class Ending : int { destroyed, kept, abandoned };
  Ending ending() {
    const bool over = std::any_of(members_.begin(), members_.end(),
                                  [](const auto& entry) { return entry.second.comm.load() == nullptr; });
    Ending mine = Ending::abandoned;
    if (!over) mine = asked_until([this] { return !in_graphs(); }, 1) ? Ending::destroyed : Ending::kept;
    constexpr double longest = 30;  // limit in seconds on the delay between the ends of exchanges on two ranks
    const auto all = own_.greatest(static_cast<int>(mine), over ? 0 : PrivateCommunicator::timeout(longest, false));
    const Ending found = all ? static_cast<Ending>(*all) : Ending::abandoned;
    if (found == Ending::abandoned) own_.leave_alone();
    return found;
  }

  void send(Stream& stream, const std::byte* from, std::size_t bytes, int source, int target) override {
    const Member& member = captured(members_.at(source), stream);
    const cuda::DeviceScope scope(member.local);
    Nccl::get().check(Nccl::get().send(from, bytes, ncclUint8, place_of_.at(target), comm_of(member),
                                       static_cast<cudaStream_t>(stream.native())),
                      "send from device " + std::to_string(source) + " to device " + std::to_string(target));
  }

  void receive(Stream& stream, std::byte* to, std::size_t bytes, int source, int target) override {
    const Member& member = captured(members_.at(target), stream);
    const cuda::DeviceScope scope(member.local);
    Nccl::get().check(Nccl::get().receive(to, bytes, ncclUint8, place_of_.at(source), comm_of(member),
                                          static_cast<cudaStream_t>(stream.native())),
                      "receive from device " + std::to_string(source) + " on device " + std::to_string(target));
  }

  const std::int64_t serial;
  const Communicator ranks;  // duplicate of the MPI communicator; its handle is unique while NCCL's communicators live

 private:
  struct Member {
    Device local;
    std::atomic<ncclComm_t> comm = nullptr;  // NCCL communicator; null after abandon(), which a watchdog may call
    unsigned long long capture = 0;          // number of the last CUDA graph that recorded work with this communicator
  };

  struct Seat {
    int device, place;
    Device local;
    ncclComm_t comm;  // communicator that NCCL sets when the group closes
  };
  /// State of a thread that lets devices join an NCCL communicator; its call may never return.
  struct Joining {
    ncclUniqueId id{};
    int ranks = 0;
    std::vector<Seat> seats;
    std::string end;
  };

  /// Lets all devices of a rank join NCCL in one group of calls. A single call would block until all members joined.
  static void join(Joining& joining) {
    if (joining.seats.empty()) return;
    const Nccl& nccl = Nccl::get();
    const cuda::DeviceScope outer(joining.seats.front().local);
    faults::pass(faults::Step::nccl_start);
    Group group;
    for (Seat& seat : joining.seats) {
      const cuda::DeviceScope scope(seat.local);
      nccl.check(nccl.init_rank(&seat.comm, joining.ranks, joining.id, seat.place),
                 "let device " + std::to_string(seat.device) + " join");
    }
    group.close(joining.end);
  }

  /// Joins the devices with a timeout. NCCL has none for ranks that never join, so the call is made in a separate
  /// thread. Returns false if another rank failed; that rank reports the error.
  bool join_in_time(const std::shared_ptr<Joining>& joining, double seconds) const {
    std::packaged_task<void()> task([joining] { join(*joining); });
    std::future<void> joined = task.get_future();
    std::thread(std::move(task)).detach();
    const auto over = [&] { return joined.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
    const bool in_time = asked_until([&] { return over() || another_failed(); }, seconds);
    if (!over()) {
      require(
          in_time, ErrorCode::timeout,
          "NCCL could not " + joining->end + " within " + std::to_string(seconds) + " s: NCCL_DEBUG=WARN tells more");
      return false;
    }
    try {
      joined.get();
      return true;
    } catch (const std::exception&) {
      tell_of_failure();
      throw;
    }
  }

  /// Tells the other ranks of a failed join at once, so that they need not wait for their timeouts.
  void tell_of_failure() const {
    int size = 0;
    check_mpi(MPI_Comm_size(own_.mpi(), &size), "count the ranks of a clique");
    for (int rank = 0; rank < size; ++rank)
      check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, rank, failed_tag, own_.mpi()), "tell of a failure");
  }
  bool another_failed() const {
    int told = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, failed_tag, own_.mpi(), &told, MPI_STATUS_IGNORE), "ask for a failure");
    return told != 0;
  }
  static constexpr int failed_tag = 1;

  const Member& captured(Member& member, Stream& stream) const {
    cuda::keep_with_graph(member.local, static_cast<cudaStream_t>(stream.native()), member.capture, graphs_);
    return member;
  }

  std::vector<std::pair<ncclComm_t, Device>> taken() {
    std::vector<std::pair<ncclComm_t, Device>> all;
    for (auto& [device, member] : members_) all.push_back({member.comm.exchange(nullptr), member.local});
    return all;
  }

  static ncclComm_t comm_of(const Member& member) {
    const ncclComm_t comm = member.comm;
    require(comm != nullptr, ErrorCode::wrong_state, "NCCL was abandoned after a time-out: the job must end");
    return comm;
  }

  static void end(ncclComm_t comm, Device local, ncclResult_t (*how)(ncclComm_t)) {
    if (comm) cuda::unless_ended(local, [&] { how(comm); });
  }

  std::map<int, int> place_of_;
  std::map<int, Member> members_;
  // MPI communicator on which ranks agree how their NCCL communicators end
  PrivateCommunicator own_;
  // each graph with work of these NCCL communicators holds a copy of this pointer; the use count shows if one lives
  const std::shared_ptr<int> graphs_ = std::make_shared<int>();
};

/// The cliques (NCCL communicators) of this process. Exchanges may end in any thread. Never destroyed, because graphs
/// may outlive all static objects.
struct Cliques {
  std::mutex mutex;
  std::vector<std::unique_ptr<Clique>> retired;  // unused sets of NCCL communicators that live graphs still need
  // sets of NCCL communicators that exchanges use; these hold the MPI communicator, so its handle stays unique
  std::map<std::pair<MPI_Comm, std::vector<int>>, std::weak_ptr<Clique>> in_use;
};

Cliques& cliques() {
  static auto* const all = new Cliques;
  return *all;
}

void retire(Clique* clique) {
  std::unique_ptr<Clique> ended(clique);
  const Clique::Ending ending = ended->ending();
  if (ending == Clique::Ending::kept || ended->in_graphs()) {
    const std::lock_guard lock(cliques().mutex);
    cliques().retired.push_back(std::move(ended));
  } else if (ending == Clique::Ending::abandoned) {
    ended->abandon();  // abort NCCL, because a regular end would wait for ranks that did not come
  }
}

/// Destroys unused cliques (NCCL communicators) of these ranks if no graph on any rank still holds them. Collective:
/// NCCL synchronises ranks.
void destroy_retired(const Communicator& comm) {
  std::string mine;
  {
    const std::lock_guard lock(cliques().mutex);
    for (const auto& clique : cliques().retired)
      if (clique->ranks.mpi() == comm.mpi() && !clique->in_graphs()) append_record(mine, clique->serial);
  }
  std::map<std::int64_t, int> ready;  // by set of NCCL communicators: number of ranks without a CUDA graph that uses it
  for (const std::int64_t serial : records_of<std::int64_t>(comm.all_gather(mine))) ++ready[serial];
  std::vector<std::unique_ptr<Clique>> over;
  for (const auto& [serial, count] : ready) {
    if (count != comm.size()) continue;
    const std::lock_guard lock(cliques().mutex);
    const auto found = std::find_if(cliques().retired.begin(), cliques().retired.end(), [&](const auto& clique) {
      return clique->ranks.mpi() == comm.mpi() && clique->serial == serial;
    });
    if (found == cliques().retired.end()) continue;
    over.push_back(std::move(*found));
    cliques().retired.erase(found);
  }
}

}  // namespace

std::string nccl_missing() { return Nccl::get().missing(); }

std::shared_ptr<NcclClique> nccl_clique(const RouteSetup& setup) {
  static std::atomic<std::int64_t> made = 0;
  const std::vector<int> devices = devices_of(setup);
  destroy_retired(setup.comm);
  const std::pair key{setup.comm.mpi(), devices};
  std::shared_ptr<Clique> clique;
  {
    const std::lock_guard lock(cliques().mutex);
    std::erase_if(cliques().in_use, [](const auto& entry) { return entry.second.expired(); });
    if (const auto known = cliques().in_use.find(key); known != cliques().in_use.end()) clique = known->second.lock();
  }
  // An exchange may end earlier on some ranks. Cached NCCL communicators serve only if all ranks still have the same.
  bool same = clique != nullptr;
  for (const std::int64_t serial : setup.comm.all_gather(clique ? clique->serial : 0))
    same &= clique && serial == clique->serial;
  if (!setup.comm.all(same)) {
    std::int64_t serial = ++made;
    for (const std::int64_t other : setup.comm.all_gather(serial)) serial = std::max(serial, other);
    made = serial;
    clique = std::shared_ptr<Clique>(new Clique(setup, devices, serial), retire);
    const std::lock_guard lock(cliques().mutex);
    cliques().in_use[key] = clique;
  }
  return clique;
}

std::unique_ptr<RouteGroup> nccl_group() { return std::make_unique<Group>(); }

}  // namespace slipstream
