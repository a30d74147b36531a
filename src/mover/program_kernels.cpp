#include <algorithm>
#include <type_traits>

#include <slipstream/launch.hpp>
#include <slipstream/own_coding.hpp>

#include "device/residency.hpp"
#include "device/upload.hpp"
#include "mover/program.hpp"
#include "mover/program_kernel.hpp"

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

ProgramKernels kernels_of(const std::vector<Scheduled>& batches) {
  if (const int number = own_coding_of(batches)) {
    const OwnCoding& own = own_coding(number);
    return {own.resident, own.start};
  }
  const Coded most = coded(batches);
  return most == Coded::in_blocks  ? kernels_in_blocks()
         : most == Coded::by_value ? kernels_by_value()
                                   : program_kernels_of<Coded::none>();
}

}  // namespace program_kernels

Program::Program(Device device, const std::vector<Scheduled>& batches, const Arrays* arrays, int teams, int users)
    : arrays_(arrays) {
  if (batches.empty()) return;
  const bool host = device.backend == Backend::host;
  combines_ = combines(batches);
  kernels_ = kernels_of(batches);
  if (host) {
    teams_ = teams > 0 ? teams : host_threads();
  } else {
    // All thread blocks must be resident. Others would start only after some block ends, and running blocks may wait
    // for their messages.
    resident_ = kernels_.resident(device, combines_);
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
    const ProgramParts parts{tiles_.data(), smalls_.data(), waits_.data(),        posts_.data(), counters_.data(),
                             tile_count_,   teams,          bytes_moved_ / teams, transposes_};
    kernels_.start(stream, parts, combines_, pulse, advance);
  });
}

void post(Stream& stream, Signal* signal, const Pulse& pulse) {
  launch_teams(stream, 1, 1, 0, PostKernel{signal, pulse.sequence, pulse.broken});
}

}  // namespace slipstream
