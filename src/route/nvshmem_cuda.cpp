// NVSHMEM's host library, loaded at run time and initialised once per process. It is never finalised: that is
// collective, and no rank knows when the others have finished.
#include <nvshmem_host.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>

#include "device/cuda/common.hpp"
#include "device/faults.hpp"
#include "device/library.hpp"
#include "machine/agree.hpp"
#include "machine/deadline.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"
#include "route/nvshmem.hpp"

namespace slipstream {
namespace {

class Nvshmem {
  Library library_{library_files("SLIPSTREAM_NVSHMEM_FILE", "libnvshmem_host.so.3", SLIPSTREAM_NVSHMEM_LIBRARY)};

 public:
  static Nvshmem& get() {
    static Nvshmem library;
    return library;
  }
  const std::string& missing() const { return library_.missing(); }

  /// Starts NVSHMEM. All exchanges of a process must use the same ranks. NVSHMEM waits for all of them without a
  /// timeout and cannot be cancelled, so the job ends if `seconds` pass. Collective.
  void start(const Communicator& comm, Device device, double seconds);

  decltype(&nvshmemx_get_uniqueid) unique_id = library_["nvshmemx_get_uniqueid"];
  decltype(&nvshmemx_set_attr_uniqueid_args) set_unique_id = library_["nvshmemx_set_attr_uniqueid_args"];
  decltype(&nvshmemx_hostlib_init_attr) init = library_["nvshmemx_hostlib_init_attr"];
  decltype(&nvshmem_my_pe) my_pe = library_["nvshmem_my_pe"];
  decltype(&nvshmem_n_pes) n_pes = library_["nvshmem_n_pes"];
  decltype(&nvshmem_malloc) allocate = library_["nvshmem_malloc"];
  decltype(&nvshmem_ptr) pointer = library_["nvshmem_ptr"];
  decltype(&nvshmem_barrier_all) barrier = library_["nvshmem_barrier_all"];
  decltype(&nvshmemx_putmem_signal_on_stream) put = library_["nvshmemx_putmem_signal_on_stream"];
  decltype(&nvshmemx_signal_op_on_stream) signal = library_["nvshmemx_signal_op_on_stream"];
  decltype(&nvshmemx_signal_wait_until_on_stream) wait = library_["nvshmemx_signal_wait_until_on_stream"];

 private:
  MPI_Comm started_ = MPI_COMM_NULL;
};

void Nvshmem::start(const Communicator& comm, Device device, double seconds) {
  int relation = MPI_UNEQUAL;
  if (started_ != MPI_COMM_NULL) check_mpi(MPI_Comm_compare(started_, comm.mpi(), &relation), "compare communicators");
  const bool fits = started_ != MPI_COMM_NULL && (relation == MPI_IDENT || relation == MPI_CONGRUENT);
  if (comm.all(fits)) return;
  require(comm.all(started_ == MPI_COMM_NULL), ErrorCode::mismatch,
          "NVSHMEM was started for other ranks than those of this exchange: leave the route nvshmem out of it");
  require(comm.all(missing().empty()), ErrorCode::unavailable,
          missing().empty() ? "NVSHMEM is missing on another rank" : missing());
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  std::string name;
  if (comm.rank() == 0 && unique_id(&id) == 0) name.assign(reinterpret_cast<const char*>(&id), sizeof id);
  name = comm.broadcast(name, 0);
  require(name.size() == sizeof id, ErrorCode::unavailable,
          "NVSHMEM could not be started on rank 0: NVSHMEM_DEBUG=WARN tells more");
  name.copy(reinterpret_cast<char*>(&id), sizeof id);
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  faults::pass(faults::Step::nvshmem_start);
  const cuda::DeviceScope scope(device);
  const Deadline deadline(comm, seconds, "the start of NVSHMEM");
  const bool started = set_unique_id(comm.rank(), comm.size(), &id, &attributes) == 0 &&
                       init(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0 && my_pe() == comm.rank() &&
                       n_pes() == comm.size();
  require(comm.all(started), ErrorCode::unavailable,
          started ? "NVSHMEM could not be started on another rank: NVSHMEM_DEBUG=WARN tells more"
                  : "NVSHMEM could not be started on rank " + std::to_string(comm.rank()) +
                        ", or was started by another library before: NVSHMEM_DEBUG=WARN tells more");
  check_mpi(MPI_Comm_dup(comm.mpi(), &started_), "keep the ranks of NVSHMEM");
}

/// Part of symmetric memory, allocated by all ranks together and kept until the process ends. All number parts alike.
struct HeapChunk {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  bool used = false;  ///< whether an exchange of this rank uses this part of symmetric memory
};
/// The parts of symmetric memory of this process. Exchanges that use them may end in any thread, hence the mutex.
struct Heap {
  std::mutex mutex;
  std::vector<HeapChunk> chunks;
};

Heap& heap() {
  static Heap heap;
  return heap;
}

void set_free(std::size_t chunk) {
  const std::lock_guard lock(heap().mutex);
  heap().chunks[chunk].used = false;
}

std::byte* base_of(std::size_t chunk) {
  const std::lock_guard lock(heap().mutex);
  return heap().chunks[chunk].base;
}

/// Lock while an exchange calls NVSHMEM, which all ranks must call in the same order. Two threads could deadlock.
class OneAtATime {
 public:
  explicit OneAtATime(const Communicator& comm) : lock_(mutex(), std::try_to_lock) {
    on_all_ranks(comm, [&] {
      require(lock_.owns_lock(), ErrorCode::locked,
              "two threads of a process make exchanges by NVSHMEM at once: make them one after the other");
    });
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::unique_lock<std::mutex> lock_;
};

/// Index of the smallest part of symmetric memory that is free on all ranks and large enough, or a new one. Collective.
std::size_t take_chunk(const Communicator& comm, Device device, std::size_t bytes, double seconds) {
  const Nvshmem& library = Nvshmem::get();
  const Deadline deadline(comm, seconds, "an allocation of NVSHMEM, which all ranks make together,");
  const cuda::DeviceScope scope(device);
  std::unique_lock lock(heap().mutex);
  std::vector<bool> fits;
  for (const HeapChunk& chunk : heap().chunks) fits.push_back(!chunk.used && chunk.bytes >= bytes);
  lock.unlock();
  constexpr std::size_t bits = 64;
  for (std::size_t first = 0; first < fits.size(); first += bits) {
    const std::size_t count = std::min(bits, fits.size() - first);
    std::uint64_t used = 0;
    for (std::size_t c = 0; c < count; ++c) used |= std::uint64_t{!fits[first + c]} << c;
    used = comm.any(used);
    for (std::size_t c = 0; c < count; ++c) fits[first + c] = !(used >> c & 1);
  }
  std::size_t best = fits.size();
  for (std::size_t c = 0; c < fits.size(); ++c)
    if (fits[c] && (best == fits.size() || heap().chunks[c].bytes < heap().chunks[best].bytes)) best = c;
  if (best < heap().chunks.size()) {
    synchronize(device);  // puts to the counters of the last exchange may still be in flight
    library.barrier();
  } else {
    auto* base = static_cast<std::byte*>(library.allocate(bytes));
    if (!comm.all(base != nullptr))
      throw OutOfMemory("NVSHMEM has no " + std::to_string(bytes) +
                        " bytes left in its symmetric heap: set NVSHMEM_SYMMETRIC_SIZE higher");
    lock.lock();
    heap().chunks.push_back({base, bytes, false});
    lock.unlock();
  }
  lock.lock();
  heap().chunks[best].used = true;
  return best;
}

class HeapBlock final : public NvshmemBlock {
 public:
  explicit HeapBlock(const RouteSetup& setup)
      : device_(setup.machine.device(setup.machine.devices_of_rank(setup.comm.rank()).front()).local) {
    layout = agreed_layout(setup);
    const OneAtATime alone(setup.comm);
    library_.start(setup.comm, device_, setup.timeout);
    chunk_ = take_chunk(setup.comm, device_, layout.bytes, setup.timeout);
    base_ = base_of(chunk_);
    if (const Problem first = first_failure(setup.comm, failure_of([&] { map(setup); }))) {
      set_free(chunk_);
      throw Error(*first);
    }
    tell_unmapped(setup);
  }
  ~HeapBlock() override {
    if (!abandoned_) set_free(chunk_);
  }
  bool capturable(int source, int target) const override { return !unmapped_.contains({source, target}); }
  /// If the source's memory is not mapped, NVSHMEM itself waits for messages, without a timeout. Kernels have one.
  bool waits_for_ever() const override { return waits_; }
  bool waits_in_deliver() const override { return waits_; }
  /// NVSHMEM waits cannot be cancelled, so the memory they poll must never be reused.
  bool abandon() override {
    abandoned_ = true;
    return !waits_;
  }
  void keep_memory() override { abandoned_ = true; }

  std::byte* at(std::size_t offset) const override { return base_ + offset; }
  std::byte* mapped(std::size_t offset, int rank) const override {
    std::byte* const base = mapped_.at(rank);
    return base ? base + offset : nullptr;
  }

  void put(Stream& stream, std::size_t to, const std::byte* from, std::size_t bytes, std::size_t counter,
           int rank) override {
    const cuda::DeviceScope scope(device_);
    library_.put(base_ + to, from, bytes, signal(counter), 1, NVSHMEM_SIGNAL_ADD, rank, native(stream));
  }
  void set(Stream& stream, std::size_t counter, std::uint64_t value, int rank) override {
    const cuda::DeviceScope scope(device_);
    library_.signal(signal(counter), value, NVSHMEM_SIGNAL_SET, rank, native(stream));
  }
  void wait(Stream& stream, std::size_t counter, std::uint64_t value) override {
    const cuda::DeviceScope scope(device_);
    library_.wait(signal(counter), NVSHMEM_CMP_GE, value, native(stream));
  }

 private:
  /// Sets this rank's message counters to 0, and maps the NVSHMEM memory of all ranks with which it has messages.
  void map(const RouteSetup& setup) {
    Stream stream(device_);
    fill(stream, base_, 0, layout.counter_bytes);
    stream.synchronize();
    const cuda::DeviceScope scope(device_);
    for (const RouteSetup::Letter& letter : setup.letters)
      for (const int device : {letter.source, letter.target})
        if (const int rank = setup.machine.device(device).rank; !mapped_.contains(rank))
          mapped_[rank] = rank == setup.comm.rank() ? base_ : static_cast<std::byte*>(library_.pointer(base_, rank));
  }

  /// Tells the source of a message if the target's kernels cannot access its memory, as only the target knows this.
  void tell_unmapped(const RouteSetup& setup) {
    std::map<int, std::string> told;
    for (const RouteSetup::Letter& letter : setup.letters) {
      const int from = setup.machine.device(letter.source).rank, to = setup.machine.device(letter.target).rank;
      if (to != setup.comm.rank() || mapped_.at(from)) continue;
      waits_ = true;
      unmapped_.insert({letter.source, letter.target});
      append_record(told[from], std::array{letter.source, letter.target});
    }
    for (const auto& [rank, text] : rendezvous(*setup.own, std::move(told), setup.timeout))
      for (const auto& [source, target] : records_of<std::array<int, 2>>({text})) unmapped_.insert({source, target});
  }

  std::uint64_t* signal(std::size_t counter) const { return reinterpret_cast<std::uint64_t*>(base_ + counter); }
  static cudaStream_t native(Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

  Nvshmem& library_ = Nvshmem::get();
  Device device_;
  std::size_t chunk_ = 0;
  std::byte* base_ = nullptr;
  std::map<int, std::byte*> mapped_;        // addresses of NVSHMEM memory by rank (own, neighbours); null: not mapped
  std::set<std::pair<int, int>> unmapped_;  // messages whose target's kernels cannot access the source's memory
  bool waits_ = false;                      // whether this rank receives a message whose source's memory is not mapped
  std::atomic<bool> abandoned_ = false;     // whether a watchdog has ended the waits
};

}  // namespace

std::string nvshmem_missing() { return Nvshmem::get().missing(); }

std::shared_ptr<NvshmemBlock> nvshmem_block(const RouteSetup& setup) { return std::make_shared<HeapBlock>(setup); }

}  // namespace slipstream
