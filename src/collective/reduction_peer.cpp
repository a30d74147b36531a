// All-reduce by kernels that store into each other's memory.
#include <algorithm>

#include <slipstream/arena.hpp>
#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>

#include "collective/reduction.hpp"
#include "device/kept_memory.hpp"
#include "device/upload.hpp"
#include "device/wait_quietly.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "machine/records.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

class PeerReduction final : public Reduction {
 public:
  PeerReduction(const Communicator& comm, const ReduceTeam& team)
      : team_(team), sides_(team.devices.size()), own_(comm, "an all-reduce") {
    std::vector<Address> mine;
    on_all_ranks(comm, [&] { make_receive_buffers(comm, mine); });
    addresses_ = by_device(comm, team_.machine, mine);
    on_all_ranks(comm, [&] { reach_all(); });
  }

  ~PeerReduction() override {
    for (const int device : team_.devices) wait_quietly(team_.local(device));
    // Unmaps imported memory before the collective teardown; exported memory is freed after it.
    imported_.clear();
    if (own_.leave(PrivateCommunicator::timeout(team_.wait_limit, late()))) return;
    // Other devices may still store into the receive buffers, so they are never freed.
    for (Side& side : sides_) keep_for_ever(std::move(side.receive_buffer));
  }

  void run(std::vector<Stream>& streams, const std::vector<void*>& values) override {
    for (std::size_t i = 0; i < sides_.size(); ++i) launch_reduce(streams[i], sides_[i].reduce, values[i]);
  }

  void run_sums(std::vector<Stream>& streams, const std::vector<SumOnDevice>& sums,
                const std::vector<const double*>& parts, const std::vector<double*>& results) override {
    if (std::any_of(sums.begin(), sums.end(), [](const SumOnDevice& sum) { return sum.resident == 0; }))
      return Reduction::run_sums(streams, sums, parts, results);
    for (std::size_t i = 0; i < sides_.size(); ++i)
      launch_sum(streams[i], sides_[i].reduce, sums[i], parts[i], results[i]);
  }

  void check() const override {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const MissedWords& missed = *sides_[i].missed.data();
      if (load_acquire(&missed.set))
        throw team_.missed(missed.sequence, team_.name(team_.devices[i]), team_.name(static_cast<int>(missed.from)),
                           team_.wait_limit);
    }
  }

 private:
  bool late() const {
    try {
      check();
    } catch (const Timeout&) {
      return true;
    }
    return false;
  }

  struct Side {
    Span<WordPair> receive_buffer;
    Span<ReduceState> state;
    Span<MissedWords> missed;
    Buffer<WordPair*> remote;
    PeerReduce reduce;
  };

  /// Address of a device's receive buffer, for its own process and for others.
  struct Address {
    std::uint64_t here = 0;
    MemoryHandle handle;
  };

  void make_receive_buffers(const Communicator& comm, std::vector<Address>& addresses) {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const Device device = team_.local(team_.devices[i]);
      const Arena arena = comm.arena(device);
      Side& side = sides_[i];
      side.receive_buffer = arena.take<WordPair>(2 * team_.fold.pairs(), Memory::shared);
      side.state = arena.take<ReduceState>(1);
      side.missed = arena.take<MissedWords>(1, Memory::pinned);
      *side.missed.data() = MissedWords{};
      Stream stream(device);
      fill(stream, side.receive_buffer.data(), 0, side.receive_buffer.bytes());
      fill(stream, side.state.data(), 0, side.state.bytes());
      stream.synchronize();
      Address& mine = addresses.emplace_back();
      mine.here = reinterpret_cast<std::uint64_t>(side.receive_buffer.data());
      if (team_.machine.ranks() > 1) mine.handle = export_memory(device, side.receive_buffer.data());
    }
  }

  /// Address of `target`'s receive buffer for kernels of `user`, a device of this rank.
  WordPair* reach(int target, Device user) {
    const MachineDevice& there = team_.machine.device(target);
    if (there.rank != team_.rank) {
      imported_.push_back(import_memory(user, addresses_[target].handle));
      return static_cast<WordPair*>(imported_.back().get());
    }
    require(there.local == user || peer_access(user, there.local), ErrorCode::unavailable,
            "kernels on " + to_string(user) + " cannot store to " + to_string(there.local),
            {{"device", to_string(user)}, {"peer", to_string(there.local)}});
    return reinterpret_cast<WordPair*>(addresses_[target].here);
  }

  void reach_all() {
    const auto limit_ns = wait_limit_ns(team_.wait_limit, "an all-reduce");
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const int me = team_.devices[i];
      Side& side = sides_[i];
      std::vector<WordPair*> remote;
      for (int target = 0; target < team_.machine.devices(); ++target)
        remote.push_back(reach(target, team_.local(me)) + std::int64_t{me} * team_.fold.values);
      side.remote = upload(team_.local(me), remote);
      side.reduce = {team_.fold,         me,
                     side.state.data(),  side.receive_buffer.data(),
                     side.remote.data(), side.missed.data(),
                     limit_ns,           resident_reduce(team_.local(me), team_.fold)};
    }
  }

  ReduceTeam team_;
  std::vector<Side> sides_;
  std::vector<Address> addresses_;  // receive buffers of all devices of the machine
  PrivateCommunicator own_;
  std::vector<std::shared_ptr<void>> imported_;
};

}  // namespace

std::unique_ptr<Reduction> peer_reduction(const Communicator& comm, const ReduceTeam& team) {
  return std::make_unique<PeerReduction>(comm, team);
}

}  // namespace slipstream
