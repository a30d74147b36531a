// All-reduce by NCCL. Each device sends its values to all others and reduces all values.

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>

#include "collective/reduction.hpp"
#include "device/wait_quietly.hpp"
#include "exchange/watchdog.hpp"
#include "machine/agree.hpp"
#include "machine/timeout.hpp"
#include "route/nccl.hpp"

namespace slipstream {
namespace {

/// Set-up of NCCL in which all devices send and receive. Only those of this rank are named here, as in every set-up.
RouteSetup all_devices(const Communicator& comm, const Machine& machine, std::size_t bytes) {
  RouteSetup setup{comm, machine, {}};
  for (const int device : machine.devices_of_rank(comm.rank())) setup.letters.push_back({device, device, bytes});
  return setup;
}

class NcclReduction final : public Reduction {
 public:
  NcclReduction(const Communicator& comm, const ReduceTeam& team)
      : team_(team),
        bytes_(team.fold.values * size_of(team.fold.type)),
        clique_(team.machine.devices() > 1 ? nccl_clique(all_devices(comm, team.machine, bytes_)) : nullptr) {
    on_all_ranks(comm, [&] {
      for (const int device : team_.devices)
        gathered_.push_back(
            comm.arena(team_.local(device)).take<std::byte>(static_cast<std::size_t>(team_.fold.devices) * bytes_));
    });
    if (!clique_) return;
    watchdog_ = std::make_unique<Watchdog>(
        team_.wait_limit, [this](Watchdog& watchdog, std::uint64_t number, std::size_t late, double seconds) {
          const int me = team_.devices[late];
          std::string others;  // NCCL does not report which device is late
          for (int other = 0; other < team_.fold.devices; ++other)
            if (other != me) others += (others.empty() ? "" : " or ") + team_.name(other);
          watchdog.complain(team_.missed(number, team_.name(me), others, seconds));
          clique_->abandon();
        });
  }

  /// NCCL's kernels wait for a dead rank forever, so the watchdog aborts them after the timeout.
  ~NcclReduction() override {
    watchdog_.reset();
    if (!asked_until([this] { return team_.calls.over(); }, team_.wait_limit) && clique_) clique_->abandon();
    // Waits for all work of the devices: CUDA graphs that the caller replays may still use the NCCL communicator.
    for (const int device : team_.devices) wait_quietly(team_.local(device));
  }

  void run(std::vector<Stream>& streams, const std::vector<void*>& values) override {
    for (std::size_t i = 0; i < streams.size(); ++i) copy(streams[i], row(i, team_.devices[i]), values[i], bytes_);
    const auto send = [&] { send_to_all(streams, values); };
    if (watchdog_) {
      std::vector<Stream*> watched;
      for (Stream& stream : streams) watched.push_back(&stream);
      number_ += watchdog_->watch(number_ + 1, watched, send);
    } else {
      send();
    }
    for (std::size_t i = 0; i < streams.size(); ++i)
      launch_fold(streams[i], team_.fold, gathered_[i].data(), values[i]);
  }

  void check() const override {
    if (watchdog_) watchdog_->check();
  }

 private:
  std::byte* row(std::size_t i, int device) const {
    return gathered_[i].data() + static_cast<std::size_t>(device) * bytes_;
  }

  void send_to_all(std::vector<Stream>& streams, const std::vector<void*>& values) {
    const std::unique_ptr<RouteGroup> group = nccl_group();
    for (std::size_t i = 0; i < streams.size(); ++i)
      for (int other = 0; other < team_.fold.devices; ++other) {
        const int me = team_.devices[i];
        if (other == me) continue;
        clique_->send(streams[i], static_cast<const std::byte*>(values[i]), bytes_, me, other);
        clique_->receive(streams[i], row(i, other), bytes_, other, me);
      }
    group->close(team_.local(team_.devices.front()));
  }

  ReduceTeam team_;
  std::size_t bytes_;                      // bytes of the values of one device
  std::shared_ptr<NcclClique> clique_;     // the devices' communicators; empty if the machine has one device
  std::vector<Span<std::byte>> gathered_;  // on each device of this rank: the values to reduce of all devices
  std::uint64_t number_ = 0;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace

std::string nccl_reduction_refusal(const Machine& machine) {
  for (int a = 0; a < machine.devices(); ++a) {
    if (machine.device(a).local.backend == Backend::host)
      return "NCCL joins GPUs, and these are devices of the host backend";
    for (int b = 0; b < a; ++b)
      if (machine.device(a).uuid == machine.device(b).uuid)
        return "devices " + std::to_string(b) + " and " + std::to_string(a) + " are one GPU, which NCCL refuses";
  }
  return nccl_missing();
}

std::unique_ptr<Reduction> nccl_reduction(const Communicator& comm, const ReduceTeam& team) {
  return std::make_unique<NcclReduction>(comm, team);
}

}  // namespace slipstream
