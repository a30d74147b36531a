#include <algorithm>
#include <type_traits>

#include <slipstream/launch.hpp>
#include <slipstream/own_coding.hpp>

#include "device/residency.hpp"
#include "device/upload.hpp"
#include "route/program.hpp"
#include "route/program_kernel.hpp"

namespace slipstream {
inline namespace program_kernels {

struct PostKernel {
  Signal* signal;
  const Signal *sequence, *broken;
  template <class Team>
  SLIP_FN void operator()(const Team& team) const {
    const PostKernel& self = *this;
    team.each([&self](int thread) {
      if (thread == 0 && !load_acquire(self.broken)) store_release(self.signal, *self.sequence);
    });
  }
};

template <class T>
Buffer<std::byte> upload_bytes(Device device, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  return upload(device, std::vector<std::byte>(first, first + values.size() * sizeof(T)));
}

}  // namespace program_kernels

Program::Program(Device device, const std::vector<Scheduled>& batches, const Arrays* arrays, int teams, int users)
    : arrays_(arrays) {
  if (batches.empty()) return;
  const bool host = device.backend == Backend::host;
  combines_ = combines(batches);
  coded_ = coded(batches);
  own_ = own_coding_of(batches);
  if (host) {
    teams_ = teams > 0 ? teams : host_threads();
  } else {
    // Launches no more teams than are resident. A team beyond these would start only after another ends, which may wait
    // for messages that this team sends.
    resident_ = own_                         ? own_coding(own_).resident(device, combines_)
                : coded_ == Coded::in_blocks ? resident_in_blocks(device, combines_)
                : coded_ == Coded::by_value  ? resident_coded(device, combines_)
                : combines_                  ? resident_of_form<true, true, Coded::none>(device)
                                             : resident_of_form<false, true, Coded::none>(device);
    const int most = std::max(1, info(device).processors * resident_ / users);
    teams_ = teams > 0 ? std::min(teams, most) : most;
  }
  const Table table = cut(batches, arrays, teams_);
  transposes_ = transposes(table);
  tile_count_ = static_cast<std::uint32_t>(table.tiles.size());
  teams_ = std::min<int>(teams_, static_cast<int>(tile_count_));
  bytes_moved_ = table.bytes;
  if (!table.smalls.empty()) smalls_ = upload_bytes(device, table.smalls);
  tiles_ = upload_bytes(device, table.tiles);
  if (!table.waits.empty()) waits_ = upload(device, table.waits);
  if (!table.posts.empty()) posts_ = upload(device, table.posts);
  counters_ = upload(device, std::vector<std::uint32_t>(1 + batches.size(), 0));
}

std::int64_t Program::bytes() const {
  return static_cast<std::int64_t>(smalls_.bytes() + tiles_.bytes() + waits_.bytes() + posts_.bytes() +
                                   counters_.bytes());
}

void Program::run(Stream& stream, const Pulse& given, bool advance) const {
  if (empty()) return;
  Pulse pulse = given;
  pulse.arrays = arrays_ ? arrays_->on_device() : nullptr;
  Residency::of(stream.device()).launch(stream, teams_, resident_, [&](int teams) {
    const ProgramParts parts{tiles_.data(),    smalls_.data(), waits_.data(), posts_.data(),
                             counters_.data(), tile_count_,    teams,         bytes_moved_ / teams};
    if (own_) return own_coding(own_).start(stream, parts, combines_, pulse, advance);
    if (coded_ == Coded::in_blocks) return start_in_blocks(stream, parts, combines_, pulse, advance);
    if (coded_ == Coded::by_value) return start_coded(stream, parts, combines_, pulse, advance);
    if (transposes_) {
      combines_ ? start_program<true, true, Coded::none>(stream, parts, pulse, advance)
                : start_program<false, true, Coded::none>(stream, parts, pulse, advance);
    } else {
      combines_ ? start_program<true, false, Coded::none>(stream, parts, pulse, advance)
                : start_program<false, false, Coded::none>(stream, parts, pulse, advance);
    }
  });
}

void post(Stream& stream, Signal* signal, const Pulse& pulse) {
  launch_teams(stream, 1, 1, 0, PostKernel{signal, pulse.sequence, pulse.broken});
}

}  // namespace slipstream
